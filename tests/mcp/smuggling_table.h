// SPDX-License-Identifier: Apache-2.0 OR MIT
// The differentials between JSON readers, one row each: ways to word a call of the tool `evil` so
// that one reader sees it and another does not. Under a policy that denies `evil` not one may reach
// a server. Beside them, wordings that look alike and are certain: under the same policy they must
// pass.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace aegis::mcp::testing {

/// `frame` is what the client sends before a last '\n'. Where it holds a '\n' itself it is several
/// frames, and none of them may pass unless it is blank.
struct SmugglingForm {
  std::string_view name;
  std::string_view frame;
  std::string_view taken_by = {};  // the readers that run the tool, where some were seen to
};

using namespace std::string_view_literals;

// clang-format off
inline constexpr SmugglingForm kSmugglingForms[] = {
    // Nothing hidden: the forms that the rules themselves must catch.
    {"plain call",
     R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil"}})"sv, "all"sv},
    {"plain call without an id",
     R"({"jsonrpc":"2.0","method":"tools/call","params":{"name":"evil"}})"sv, "most"sv},
    {"plain call with a trailing carriage return",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"evil\"}}\r"sv, "all"sv},
    {"call without jsonrpc",
     R"({"id":1,"method":"tools/call","params":{"name":"evil"}})"sv, "lenient servers"sv},
    {"call with white space wherever it may stand",
     "\t { \"jsonrpc\" :\t\"2.0\" , \"id\" : 1 , \"method\" : \"tools/call\" , \"params\" : { \"name\" : \"evil\" } } "sv, "all"sv},
    {"members in an unusual order",
     R"({"params":{"arguments":{},"name":"evil"},"method":"tools/call","id":1,"jsonrpc":"2.0"})"sv, "all"sv},
    {"method with an escape in its name",
     R"({"jsonrpc":"2.0","id":1,"m\u0065thod":"tools/call","params":{"name":"evil"}})"sv, "all"sv},
    {"method with every character escaped",
     R"({"jsonrpc":"2.0","id":1,"\u006d\u0065\u0074\u0068\u006f\u0064":"tools/call","params":{"name":"evil"}})"sv, "all"sv},
    {"params and name with escapes in their names",
     R"({"jsonrpc":"2.0","id":1,"method":"tools/call","p\u0061rams":{"n\u0061me":"evil"}})"sv, "all"sv},
    {"tools/call with an escaped slash",
     R"({"jsonrpc":"2.0","id":1,"method":"tools\/call","params":{"name":"evil"}})"sv, "all"sv},
    {"tools/call with escaped letters",
     R"({"jsonrpc":"2.0","id":1,"method":"\u0074ools\u002Fc\u0061ll","params":{"name":"evil"}})"sv, "all"sv},
    {"tool name with escaped letters",
     R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\u0065vi\u006C"}})"sv, "all"sv},

    // No tool name that a policy could judge.
    {"call without params",
     R"({"jsonrpc":"2.0","id":1,"method":"tools/call"})"sv},
    {"params is an array",
     R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":["evil"]})"sv, "readers that bind by position"sv},
    {"params is null",
     R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":null})"sv},
    {"params is a string with the call in it",
     R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":"{\"name\":\"evil\"}"})"sv},
    {"params.name is an array",
     R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":["evil"]}})"sv, "PHP, JavaScript (joins it)"sv},
    {"params.name is an object",
     R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":{"name":"evil"}}})"sv},
    {"params.name is null",
     R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":null}})"sv},

    // One member twice.
    {"method twice, the call last",
     R"({"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"evil"}})"sv, "JavaScript, Python, Go, C#"sv},
    {"method twice, the call first",
     R"({"jsonrpc":"2.0","id":1,"method":"tools/call","method":"ping","params":{"name":"evil"}})"sv, "readers that keep the first"sv},
    {"params twice, evil last",
     R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok"},"params":{"name":"evil"}})"sv, "JavaScript, Python"sv},
    {"params twice, evil first",
     R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil"},"params":{"name":"ok"}})"sv, "readers that keep the first"sv},
    {"params twice, merged by name",
     R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil"},"params":{"arguments":{}}})"sv, "Go (decodes into one struct)"sv},
    {"name twice, evil last",
     R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","name":"evil"}})"sv, "JavaScript, Python, Go, C#"sv},
    {"name twice, evil first",
     R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil","name":"ok"}})"sv, "readers that keep the first"sv},
    {"name twice, once with an escape",
     R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","n\u0061me":"evil"}})"sv, "JavaScript, Python, Go, C#"sv},
    {"name twice, far apart",
     R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":10,"k":11,"l":12,"m":13,"n":14,"o":15,"p":16,"q":17,"name":"evil"}})"sv, "JavaScript, Python"sv},
    {"id twice",
     R"({"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"ok"}})"sv},
    {"jsonrpc twice",
     R"({"jsonrpc":"2.0","jsonrpc":"1.0","id":1,"method":"tools/call","params":{"name":"ok"}})"sv},
    {"arguments twice",
     R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","arguments":{"path":"/a"},"arguments":{"path":"/b"}}})"sv},
    {"an argument twice",
     R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","arguments":{"path":"/a","path":"/b"}}})"sv},
    {"an argument twice, deep inside",
     R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","arguments":{"x":[{"y":[[{"p":1,"q":2,"p":3}]]}]}}})"sv},
    {"an argument twice, as an emoji and as its escapes",
     R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","arguments":{"😀":1,"\ud83d\ude00":2}}})"sv},
    {"a member with the empty name twice",
     R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","arguments":{"":1,"":2}}})"sv},
    {"a member of _meta twice",
     R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","_meta":{"progressToken":1,"progressToken":2}}})"sv},

    // Names that differ in case only.
    {"Method", R"({"jsonrpc":"2.0","id":1,"Method":"tools/call","params":{"name":"evil"}})"sv, "Go"sv},
    {"METHOD", R"({"jsonrpc":"2.0","id":1,"METHOD":"tools/call","params":{"name":"evil"}})"sv, "Go"sv},
    {"Method with an escape", R"({"jsonrpc":"2.0","id":1,"\u004dethod":"tools/call","params":{"name":"evil"}})"sv, "Go"sv},
    {"method and Method", R"({"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call","params":{"name":"evil"}})"sv, "Go"sv},
    {"Method and method", R"({"jsonrpc":"2.0","id":1,"Method":"tools/call","method":"ping","params":{"name":"evil"}})"sv, "readers that keep the first"sv},
    {"METHOD and Method", R"({"jsonrpc":"2.0","id":1,"METHOD":"tools/call","Method":"tools/call","params":{"name":"evil"}})"sv, "Go"sv},
    {"Params", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","Params":{"name":"evil"}})"sv, "Go"sv},
    {"params and Params", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok"},"Params":{"name":"evil"}})"sv, "Go"sv},
    {"params with a long s", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","paramſ":{"name":"evil"}})"sv, "Go"sv},
    {"params with an escaped long s", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","param\u017f":{"name":"evil"}})"sv, "Go"sv},
    {"params and params with an escaped long s",
     R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok"},"param\u017F":{"name":"evil"}})"sv, "Go"sv},
    {"PARAMS with a long s", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","PARAMſ":{"name":"evil"}})"sv, "Go"sv},
    {"params.Name", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"Name":"evil"}})"sv, "Go, C#"sv},
    {"params.name and params.Name", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","Name":"evil"}})"sv, "Go, C#"sv},
    {"params.NAME and params.name", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"NAME":"evil","name":"ok"}})"sv, "Go, C#"sv},
    {"params.Name with an escape", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","\u004Eame":"evil"}})"sv, "Go, C#"sv},
    {"params.Arguments", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","Arguments":{"path":"/b"}}})"sv, "Go, C#"sv},
    {"params.arguments with a long s", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","argumentſ":{"path":"/b"}}})"sv, "Go"sv},
    {"params._Meta", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","_Meta":{}}})"sv, "Go, C#"sv},
    {"params.task with a Kelvin sign", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","tas\u212a":{}}})"sv, "Go"sv},
    {"params.task with a raw Kelvin sign and a long s", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","taſK":{}}})"sv, "Go"sv},
    {"ID", R"({"jsonrpc":"2.0","ID":1,"method":"tools/call","params":{"name":"ok"}})"sv, "Go"sv},
    {"JSONRPC", R"({"JSONRPC":"2.0","id":1,"method":"tools/call","params":{"name":"ok"}})"sv, "Go"sv},
    {"jsonrpc with a long s", R"({"jſonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok"}})"sv, "Go"sv},
    {"a method at the top and a Method in params",
     R"({"jsonrpc":"2.0","id":1,"method":"ping","params":{"name":"ok","Method":"tools/call"}})"sv},
    {"two unknown names at the top that differ in case", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok"},"extra":1,"Extra":2})"sv},
    {"two unknown names in params that differ in case", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","cursor":1,"CURSOR":2}})"sv},
    {"Method in a batch", R"([{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"Method":"tools/call","params":{"name":"evil"}}])"sv, "Go"sv},

    // Encodings.
    {"byte-order mark", "\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"evil\"}}"sv, "C#, nlohmann, Python utf-8-sig"sv},
    {"invalid byte in the tool name", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"evil\xFF\"}}"sv, "readers that drop it"sv},
    {"invalid byte in the method", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/\xFF" "call\",\"params\":{\"name\":\"evil\"}}"sv, "readers that drop it"sv},
    {"invalid byte in a member's name", "{\"jsonrpc\":\"2.0\",\"id\":1,\"meth\xFFod\":\"tools/call\",\"params\":{\"name\":\"evil\"}}"sv, "readers that drop it"sv},
    {"invalid byte deep in the arguments", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"ok\",\"arguments\":{\"a\":[\"\x80\"]}}}"sv},
    {"overlong letter in the method", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xC1\xB4ools/call\",\"params\":{\"name\":\"evil\"}}"sv, "old UTF-8 decoders"sv},
    {"overlong letter of three bytes in the tool name", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"\xE0\x81\xA5vil\"}}"sv, "old UTF-8 decoders"sv},
    {"overlong slash", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools\xC0\xAF" "call\",\"params\":{\"name\":\"evil\"}}"sv, "old UTF-8 decoders"sv},
    {"overlong quote that ends a string", "{\"jsonrpc\":\"2.0\",\"id\":1,\"a\":\"\xC0\xA2,\",\"method\":\"tools/call\",\"params\":{\"name\":\"evil\"}}"sv},
    {"truncated UTF-8 that swallows a quote", "{\"jsonrpc\":\"2.0\",\"id\":1,\"a\":\"\xE2\",\"method\":\"tools/call\",\"params\":{\"name\":\"evil\"},\"b\":\"\"}"sv, "decoders that skip by lead byte"sv},
    {"surrogates in UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"evil\xED\xA0\xBD\xED\xB8\x80\"}}"sv, "CESU-8 readers"sv},
    {"code point above U+10FFFF", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"evil\xF4\x90\x80\x80\"}}"sv},
    {"Latin-1", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"\xE9vil\"}}"sv},
    {"UTF-16", "{\0\"\0m\0e\0t\0h\0o\0d\0\"\0:\0\"\0t\0o\0o\0l\0s\0/\0c\0a\0l\0l\0\"\0}\0"sv, "readers that detect the encoding"sv},
    {"UTF-16 with a byte-order mark", "\xFF\xFE{\0\"\0m\0e\0t\0h\0o\0d\0\"\0:\0\"\0t\0o\0o\0l\0s\0/\0c\0a\0l\0l\0\"\0}\0"sv, "readers that detect the encoding"sv},
    {"escaped lone surrogate in the tool name", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil\ud800"}})"sv, "readers that drop or replace it"sv},
    {"escaped lone surrogate in a member's name", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","name\udc00":"evil"}})"sv},
    {"escaped surrogates the wrong way round", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","arguments":{"a":"\ude00\ud83d"}}})"sv},
    {"half a surrogate escaped, half raw", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"ok\",\"arguments\":{\"a\":\"\\ud83d\xED\xB8\x80\"}}}"sv},

    // NUL and control characters.
    {"NUL in the tool name", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"evil\0x\"}}"sv, "C strings"sv},
    {"NUL between two messages", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\0{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"evil\"}}"sv, "nlohmann sees only the first"sv},
    {"NUL before the message", "\0{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"evil\"}}"sv},
    {"NUL behind the message", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"evil\"}}\0"sv},
    {"NULs for white space", "{\"jsonrpc\":\"2.0\",\"id\":1,\0\"method\":\"tools/call\",\"params\":{\"name\":\"evil\"}}"sv},
    {"escaped NUL in the tool name", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil\u0000"}})"sv, "C strings"sv},
    {"escaped NUL in the method", R"({"jsonrpc":"2.0","id":1,"method":"tools/call\u0000x","params":{"name":"evil"}})"sv, "C strings"sv},
    {"escaped NUL in a member's name", R"({"jsonrpc":"2.0","id":1,"method":"ping","method\u0000":"tools/call","params":{"name":"evil"}})"sv, "C strings"sv},
    {"escaped NUL in a member's name in params", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","name\u0000":"evil"}})"sv, "C strings"sv},
    {"a call between carriage returns inside another message",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":[\r{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"evil\"}}\r]}}"sv, "Python text mode, Node readline"sv},
    {"two messages with a carriage return between", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"evil\"}}"sv, "Python text mode, Node readline"sv},
    {"carriage return before the message", "\r{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"evil\"}}"sv, "Python text mode, Node readline"sv},
    {"two trailing carriage returns", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"ok\"}}\r\r"sv},
    {"raw carriage return in a string", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"ok\",\"arguments\":{\"a\":\"x\ry\"}}}"sv},
    {"raw tab in a string", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"ok\",\"arguments\":{\"a\":\"x\ty\"}}}"sv},
    {"raw tab in the tool name", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"evil\t\"}}"sv, "readers that trim"sv},
    {"raw escape character in a string", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"ok\",\"arguments\":{\"a\":\"\x1B[2J\"}}}"sv},
    {"record separator before the message", "\x1E{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"evil\"}}"sv, "RFC 7464 readers"sv},
    {"form feed for white space", "{\"jsonrpc\":\"2.0\",\"id\":1,\f\"method\":\"tools/call\",\"params\":{\"name\":\"evil\"}}"sv, "readers that use isspace"sv},
    {"vertical tab for white space", "{\"jsonrpc\":\"2.0\",\"id\":1,\v\"method\":\"tools/call\",\"params\":{\"name\":\"evil\"}}"sv, "readers that use isspace"sv},
    {"no-break space for white space", "{\"jsonrpc\":\"2.0\",\"id\":1,\xC2\xA0\"method\":\"tools/call\",\"params\":{\"name\":\"evil\"}}"sv, "readers that use Unicode space"sv},
    {"line separator for white space", "{\"jsonrpc\":\"2.0\",\"id\":1,\xE2\x80\xA8\"method\":\"tools/call\",\"params\":{\"name\":\"evil\"}}"sv, "JSON5 readers"sv},

    // More, less or other than one JSON value.
    {"two messages on one line", R"({"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"evil"}})"sv, "streaming readers (Go)"sv},
    {"two messages with a space between", R"({"jsonrpc":"2.0","id":1,"method":"ping"} {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"evil"}})"sv, "streaming readers (Go)"sv},
    {"a call and trailing garbage", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil"}}garbage)"sv, "readers that stop at the value's end"sv},
    {"garbage and a call", R"(garbage{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil"}})"sv},
    {"a closing brace too many", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil"}}})"sv, "readers that stop at the value's end"sv},
    {"a call split over two lines", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\n\"params\":{\"name\":\"evil\"}}"sv, "streaming readers (Go)"sv},
    {"a call split over three lines", "{\n\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"\n,\"params\":{\"name\":\"evil\"}}"sv, "streaming readers (Go)"sv},
    {"Content-Length framing", "Content-Length: 71\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"evil\"}}"sv, "LSP readers"sv},
    {"Content-Length and a call on one line", "content-length: 71 {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"evil\"}}"sv},
    {"a call in a string", R"("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"evil\"}}")"sv, "readers that decode twice"sv},
    {"trailing comma", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil"},})"sv, "JSON5 readers"sv},
    {"single quotes", R"({'jsonrpc':'2.0','id':1,'method':'tools/call','params':{'name':'evil'}})"sv, "JSON5 and YAML readers, Gson"sv},
    {"names without quotes", R"({jsonrpc:"2.0",id:1,method:"tools/call",params:{name:"evil"}})"sv, "JSON5 and YAML readers, Gson"sv},
    {"a comment that hides a member", R"({"jsonrpc":"2.0","id":1,/*"method":"ping",*/"method":"tools/call","params":{"name":"evil"}})"sv, "readers that allow comments"sv},
    {"a line comment", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil"}}//)"sv, "readers that allow comments"sv},
    {"semicolons and equals signs", R"({"jsonrpc"="2.0";"id"=1;"method"="tools/call";"params"={"name"="evil"}})"sv, "Gson, org.json"sv},
    {"an unknown escape in the method", R"({"jsonrpc":"2.0","id":1,"method":"tools/c\all","params":{"name":"evil"}})"sv, "readers that drop the backslash"sv},
    {"an escape of two digits in the method", R"({"jsonrpc":"2.0","id":1,"method":"\x74ools/call","params":{"name":"evil"}})"sv, "JSON5 and YAML readers"sv},
    {"NaN", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","arguments":{"a":NaN}}})"sv, "Python"sv},
    {"-Infinity", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","arguments":{"a":-Infinity}}})"sv, "Python"sv},
    {"a number with a leading zero", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","arguments":{"a":010}}})"sv, "readers that take it as octal"sv},
    {"a hexadecimal number", R"({"jsonrpc":"2.0","id":0x1,"method":"tools/call","params":{"name":"evil"}})"sv, "JSON5 readers"sv},
    {"an anti-hijacking prefix", R"()]}',{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil"}})"sv, "Gson"sv},

    // JSON, but no message, or one of two kinds at once.
    {"a call with a result", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil"},"result":{}})"sv, "readers that look for method first"sv},
    {"a call with an error", R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""},"method":"tools/call","params":{"name":"evil"}})"sv, "readers that look for method first"sv},
    {"id is null", R"({"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"evil"}})"sv, "readers that take it as a notification"sv},
    {"id is an object", R"({"jsonrpc":"2.0","id":{},"method":"tools/call","params":{"name":"evil"}})"sv},
    {"id is an array", R"({"jsonrpc":"2.0","id":[1],"method":"tools/call","params":{"name":"evil"}})"sv},
    {"id is a boolean", R"({"jsonrpc":"2.0","id":true,"method":"tools/call","params":{"name":"evil"}})"sv, "Python (True equals 1)"sv},
    {"method is an array", R"({"jsonrpc":"2.0","id":1,"method":["tools/call"],"params":{"name":"evil"}})"sv, "readers that make a string of it"sv},
    {"method is an object", R"({"jsonrpc":"2.0","id":1,"method":{"method":"tools/call"},"params":{"name":"evil"}})"sv},
    {"the call one level down", R"({"message":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil"}}})"sv},

    // Batches.
    {"a batch of one", R"([{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil"}}])"sv, "revision 2025-03-26"sv},
    {"the second of a batch", R"([{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"evil"}}])"sv, "revision 2025-03-26"sv},
    {"behind a response in a batch", R"([{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"evil"}}])"sv, "revision 2025-03-26"sv},
    {"a batch in a batch", R"([[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil"}}]])"sv, "readers that recurse"sv},
    {"a batch in a batch, beside a message", R"([{"jsonrpc":"2.0","id":1,"method":"ping"},[{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"evil"}}]])"sv, "readers that recurse"sv},
    {"a batch with a string in it", R"([{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok"}},"tools/call"])"sv},
    {"a repeated member in a batch", R"([{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"evil"}}])"sv, "JavaScript, Python"sv},
    {"a batch left open", R"([{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil"}})"sv, "streaming readers"sv},
};

inline constexpr SmugglingForm kHarmlessForms[] = {
    {"a plain call of another tool", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok"}})"sv},
    {"a request that is no call", R"({"jsonrpc":"2.0","id":1,"method":"ping"})"sv},
    {"evil as an argument", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","arguments":{"name":"evil"}}})"sv},
    {"a call as an argument", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","arguments":{"method":"tools/call","params":{"name":"evil"}}}})"sv},
    {"a call in a string", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","arguments":{"text":"{\"method\":\"tools/call\",\"params\":{\"name\":\"evil\"}}"}}})"sv},
    {"arguments that differ in case only", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","arguments":{"path":1,"Path":2,"PATH":3,"Method":4,"Name":5}}})"sv},
    {"the same name at many levels", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","arguments":{"id":1,"params":{"id":1,"params":{"id":1}}}}})"sv},
    {"a tool that differs in case only", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Evil"}})"sv},
    {"an escaped NUL in an argument", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","arguments":{"a":"x\u0000y"}}})"sv},
    {"every escape in an argument", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","arguments":{"a":"\"\\\/\b\f\n\r\t\u0001\ud83d\ude00"}}})"sv},
    {"text of many scripts in an argument", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","arguments":{"ключ":"значение","鍵":"値","😀":"😀"}}})"sv},
    {"a big integer as id", R"({"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"tools/call","params":{"name":"ok"}})"sv},
    {"a string as id", R"({"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"ok"}})"sv},
    {"a trailing carriage return", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"ok\"}}\r"sv},
    {"tabs between tokens", "{\t\"jsonrpc\":\t\"2.0\",\t\"id\":1,\"method\":\"ping\"\t}"sv},
    {"a notification", R"({"jsonrpc":"2.0","method":"notifications/initialized"})"sv},
    {"a cancellation", R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"evil"}})"sv},
    {"progress and other unknown members", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","_meta":{"progressToken":"x"},"task":{"ttl":1},"other":1},"extra":2})"sv},
    {"a batch of calls", R"([{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok"}},{"jsonrpc":"2.0","id":2,"method":"ping"}])"sv},
    {"a batch whose messages share their names and ids", R"([{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":1,"method":"ping"}])"sv},
    {"a response", R"({"jsonrpc":"2.0","id":1,"result":{"name":"evil","Name":"evil"}})"sv},
    {"an error response with a null id", R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"evil"}})"sv},
};
// clang-format on

/// All forms, and those that are too long to write out.
inline std::vector<SmugglingForm> all_smuggling_forms() {
  static const std::string deep =
      R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil","arguments":)" +
      std::string(511, '[') + std::string(511, ']') + "}}";
  std::vector<SmugglingForm> forms{std::begin(kSmugglingForms), std::end(kSmugglingForms)};
  forms.push_back({"513 levels deep", deep, "all"sv});
  return forms;
}

}  // namespace aegis::mcp::testing
