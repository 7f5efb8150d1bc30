// SPDX-License-Identifier: Apache-2.0 OR MIT
// Requests as documents and as a tool's arguments: what they say, and which member is wrong.
#include "mcp/broker_request.h"

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace std::string_literals;
using namespace aegis::mcp;

std::string show(const std::optional<std::uint64_t>& number) {
  return number ? std::to_string(*number) : "-";
}
std::string show(const std::vector<std::string>& texts) {
  std::string text = "[";
  for (const std::string& each : texts)
    text += (text.size() > 1 ? "|" : "") + each;
  return text + "]";
}

struct Show {
  std::string operator()(const ReadText& read) const {
    return read.path + " " + show(read.max_bytes);
  }
  std::string operator()(const ListDir& list) const {
    return list.path + " " + show(list.max_depth) + (list.includes_hidden ? " hidden" : "");
  }
  std::string operator()(const RunPython& run) const {
    return (run.code ? "code " + *run.code : "script " + *run.script_path) + " " +
           show(run.arguments) + " " + show(run.timeout_seconds);
  }
  std::string operator()(const RunCommand& run) const {
    return show(run.argv) + " " + show(run.timeout_seconds) + " " + show(run.writable);
  }
  std::string operator()(const ShellCommand& shell) const { return "shell " + shell.command; }
};

/// One line, so that tables can say what they expect.
std::string show(const ParsedRequest& parsed) {
  if (const auto* fault = std::get_if<RequestFault>(&parsed)) {
    return "fault " + fault->member + ": " + fault->message;
  }
  const auto& request = std::get<BrokerRequest>(parsed);
  return std::string{to_string(request.operation)} + " " + std::visit(Show{}, request.parameters);
}

/// The member that a fault names.
std::string member_of(const ParsedRequest& parsed) {
  const auto* fault = std::get_if<RequestFault>(&parsed);
  return fault == nullptr ? "no fault" : fault->member;
}

std::string document(std::string_view operation, std::string_view parameters) {
  std::string text = R"({"schema_version":"1.0","request_id":"r1","operation":")";
  text += operation;
  text += R"(","parameters":)";
  text += parameters;
  return text + "}";
}

std::string repeat(std::string_view item, std::size_t times) {
  std::string list = "[";
  for (std::size_t count = 0; count < times; ++count) {
    if (count != 0) list += ',';
    list += item;
  }
  return list + "]";
}

constexpr std::size_t kLongestWord = 131'071;  // bytes that execve(2) takes in one argument

struct Row {
  std::string_view operation;
  std::string parameters;
  std::string expected;
};

}  // namespace

TEST_CASE("each operation's parameters, both ways") {
  const Row rows[] = {
      {"read_text", R"({"path":"a/b"})", "read_text a/b -"},
      {"read_text", R"({"max_bytes":1,"path":"\u0061"})", "read_text a 1"},
      {"read_text", R"({"path":"ż","max_bytes":52428800})", "read_text ż 52428800"},
      {"list_dir", R"({"path":"."})", "list_dir . -"},
      {"list_dir", R"({"path":".","max_depth":0,"include_hidden":true})", "list_dir . 0 hidden"},
      {"list_dir", R"({"path":".","max_depth":20,"include_hidden":false})", "list_dir . 20"},
      {"run_python", R"({"code":"a = 1"})", "run_python code a = 1 [] -"},
      {"run_python", R"({"code":""})", "run_python code  [] -"},
      {"run_python",
       R"({"script_path":"s.py","args":["a",""," b"],"timeout_seconds":300})",
       "run_python script s.py [a|| b] 300"},
      {"run_command", R"({"argv":["ls"]})", "run_command [ls] - []"},
      {"run_command",
       R"({"writable":["out","o2"],"argv":["git","-C","x",""],"timeout_seconds":1})",
       "run_command [git|-C|x|] 1 [out|o2]"},
  };
  for (const Row& row : rows) {
    CHECK(show(parse_broker_request(document(row.operation, row.parameters))) == row.expected);
    const auto operation = parse_operation(row.operation);
    REQUIRE(operation);
    CHECK(show(parse_tool_arguments(*operation, row.parameters)) == row.expected);
  }
}

TEST_CASE("a request keeps its id, whatever stands around its members") {
  const ParsedRequest parsed = parse_broker_request(
      "\r\n{ \"approval\": {\"token\": \"yes\"},\n\t\"parameters\": {\n \"path\": \"a\"\r\n},"
      "\"context\": {\"deep\": [[{\"x\": 1.5e300}]]},\n\"operation\": \"read_text\","
      "\"request_id\": \"\\u0041-1\", \"schema_version\": \"1.0\"}\n\n");
  REQUIRE(std::holds_alternative<BrokerRequest>(parsed));
  CHECK(std::get<BrokerRequest>(parsed).request_id == "A-1");
  CHECK(show(parsed) == "read_text a -");
  CHECK(std::get<BrokerRequest>(parse_tool_arguments(Operation::read_text, R"({"path":"a"})"))
            .request_id.empty());
}

TEST_CASE("a shell string comes only in a document, alone, for run_command") {
  CHECK(show(parse_broker_request(document("run_command", R"({"command":"ls | wc"})"))) ==
        "run_command shell ls | wc");
  for (const std::string_view more :
       {R"("argv":["ls"])", R"("timeout_seconds":1)", R"("writable":[])"}) {
    const std::string parameters = R"({"command":"ls",)" + std::string{more} + "}";
    CHECK(member_of(parse_broker_request(document("run_command", parameters))) ==
          "parameters.command");
  }
  CHECK(member_of(parse_broker_request(document("run_command", R"({"command":""})"))) ==
        "parameters.command");
  CHECK(member_of(parse_tool_arguments(Operation::run_command, R"({"command":"ls"})")) ==
        "command");
  CHECK(member_of(parse_broker_request(document("run_python", R"({"command":"ls"})"))) ==
        "parameters.command");
}

TEST_CASE("a parameter that is wrong is named, both ways") {
  const std::string long_path(kMaxPath + 1, 'p');
  const std::string word(kLongestWord + 1, 'w');
  const Row rows[] = {
      {"read_text", "{}", "path"},
      {"read_text", R"({"max_bytes":5})", "path"},
      {"read_text", R"({"path":""})", "path"},
      {"read_text", R"({"path":null})", "path"},
      {"read_text", R"({"path":7})", "path"},
      {"read_text", R"({"path":["a"]})", "path"},
      {"read_text", R"({"path":"a\u0000b"})", "path"},
      {"read_text", R"({"path":")" + long_path + "\"}", "path"},
      {"read_text", R"({"path":"a","path":"a"})", "path"},
      {"read_text", R"({"path":"a","p\u0061th":"b"})", "path"},
      {"read_text", R"({"path":"a","Path":"b"})", "Path"},
      {"read_text", R"({"path":"a","":1})", ""},
      {"read_text", R"({"path":"a","x\ny":1})", "x\\u000ay"},
      {"read_text", R"({"path":"a","max_bytes":0})", "max_bytes"},
      {"read_text", R"({"path":"a","max_bytes":52428801})", "max_bytes"},
      {"read_text", R"({"path":"a","max_bytes":18446744073709551617})", "max_bytes"},
      {"read_text", R"({"path":"a","max_bytes":-1})", "max_bytes"},
      {"read_text", R"({"path":"a","max_bytes":-0})", "max_bytes"},
      {"read_text", R"({"path":"a","max_bytes":1.0})", "max_bytes"},
      {"read_text", R"({"path":"a","max_bytes":1e3})", "max_bytes"},
      {"read_text", R"({"path":"a","max_bytes":true})", "max_bytes"},
      {"read_text", R"({"path":"a","max_bytes":"1"})", "max_bytes"},
      {"read_text", R"({"path":"a","max_bytes":null})", "max_bytes"},
      {"read_text", R"({"path":"a","max_bytes":[1]})", "max_bytes"},
      {"list_dir", R"({"path":".","max_depth":21})", "max_depth"},
      {"list_dir", R"({"path":".","max_depth":false})", "max_depth"},
      {"list_dir", R"({"path":".","include_hidden":1})", "include_hidden"},
      {"list_dir", R"({"path":".","include_hidden":"true"})", "include_hidden"},
      {"list_dir", R"({"path":".","include_hidden":null})", "include_hidden"},
      {"list_dir", R"({"path":".","max_bytes":1})", "max_bytes"},
      {"run_python", "{}", "code"},
      {"run_python", R"({"args":[]})", "code"},
      {"run_python", R"({"code":"1","script_path":"a.py"})", "script_path"},
      {"run_python", R"({"code":"\u0000"})", "code"},
      {"run_python", R"({"code":1})", "code"},
      {"run_python", R"({"script_path":""})", "script_path"},
      {"run_python", R"({"code":"","args":"a"})", "args"},
      {"run_python", R"({"code":"","args":{}})", "args"},
      {"run_python", R"({"code":"","args":["a",1]})", "args[1]"},
      {"run_python", R"({"code":"","args":["a","b",["c"]]})", "args[2]"},
      {"run_python", R"({"code":"","args":["\u0000"]})", "args[0]"},
      {"run_python", R"({"code":"","args":[")" + word + "\"]}", "args[0]"},
      {"run_python", R"({"code":"","args":)" + repeat("\"\"", kMaxArguments + 1) + "}", "args"},
      {"run_python", R"({"code":"","timeout_seconds":0})", "timeout_seconds"},
      {"run_python", R"({"code":"","timeout_seconds":301})", "timeout_seconds"},
      {"run_command", "{}", "argv"},
      {"run_command", R"({"argv":[]})", "argv"},
      {"run_command", R"({"argv":"ls"})", "argv"},
      {"run_command", R"({"argv":[""]})", "argv[0]"},
      {"run_command", R"({"argv":["ls",null]})", "argv[1]"},
      {"run_command", R"({"argv":)" + repeat("\"a\"", kMaxWords + 1) + "}", "argv"},
      {"run_command", R"({"argv":["ls"],"writable":[""]})", "writable[0]"},
      {"run_command", R"({"argv":["ls"],"writable":[true]})", "writable[0]"},
      {"run_command",
       R"({"argv":["ls"],"writable":)" + repeat("\"a\"", kMaxWritable + 1) + "}",
       "writable"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.parameters.substr(0, 200));
    CHECK(member_of(parse_broker_request(document(row.operation, row.parameters))) ==
          "parameters." + row.expected);
    const auto operation = parse_operation(row.operation);
    REQUIRE(operation);
    CHECK(member_of(parse_tool_arguments(*operation, row.parameters)) == row.expected);
  }
}

TEST_CASE("bounds are reached before they are passed") {
  const Row rows[] = {
      {"read_text", R"({"path":")" + std::string(kMaxPath, 'p') + "\"}", ""},
      {"run_python", R"({"code":"","args":)" + repeat("\"\"", kMaxArguments) + "}", ""},
      {"run_python", R"({"code":"","args":[")" + std::string(kLongestWord, 'w') + "\"]}", ""},
      {"run_command", R"({"argv":)" + repeat("\"a\"", kMaxWords) + "}", ""},
      {"run_command", R"({"argv":["a"],"writable":)" + repeat("\"a\"", kMaxWritable) + "}", ""},
  };
  for (const Row& row : rows)
    CHECK(member_of(parse_broker_request(document(row.operation, row.parameters))) == "no fault");
}

TEST_CASE("a member of the request that is wrong is named") {
  struct Document {
    std::string text;
    std::string_view member;
  };
  const std::string rest = R"("operation":"read_text","parameters":{"path":"a"})";
  const std::string head = R"({"schema_version":"1.0","request_id":"r",)";
  const Document rows[] = {
      {"", ""},
      {" \n ", ""},
      {"{", ""},
      {"[]", ""},
      {"null", ""},
      {"\xEF\xBB\xBF{}", ""},
      {"{}", "schema_version"},
      {R"({"schema_version":"1.0"})", "request_id"},
      {R"({"schema_version":"1.0","request_id":"r"})", "operation"},
      {head + R"("operation":"read_text"})", "parameters"},
      {R"({"schema_version":1.0,"request_id":"r",)" + rest + "}", "schema_version"},
      {R"({"schema_version":"1","request_id":"r",)" + rest + "}", "schema_version"},
      {R"({"schema_version":"1.0","request_id":1,)" + rest + "}", "request_id"},
      {R"({"schema_version":"1.0","request_id":"",)" + rest + "}", "request_id"},
      {head + R"("operation":"read","parameters":{}})", "operation"},
      {head + R"("operation":true,"parameters":{}})", "operation"},
      {head + R"("operation":"read_text","parameters":[]})", "parameters"},
      {head + R"("operation":"read_text","parameters":null})", "parameters"},
      {head + rest + R"(,"context":1})", "context"},
      {head + rest + R"(,"context":{"a":{"b":[{"c":1,"c":2}]}}})", "context.a.b[0].c"},
      {head + rest + R"(,"approval":"token"})", "approval"},
      {head + rest + R"(,"extra":1})", "extra"},
      {head + rest + R"(,"operation":"list_dir"})", "operation"},
      {head + rest + R"(,"parameters":{"path":"b"}})", "parameters"},
      {head + rest + "} {}", ""},
      {head + rest + ",}", ""},
      {head + rest + R"(,"context":{"a":"\ud800"}})", "context.a"},
      {head + rest + ",\"context\":{\"a\":\"line\nline\"}}", "context.a"},
      {head + rest + ",\"context\":{\"a\":\"quote\\\"\nline\"}}", "context.a"},
      {head + rest + ",\"context\":{\"a\":\"\\\\\"\n}}", "no fault"},
      {head + rest + ",\"context\":{\"a\":\"\xFF\"}}", "context.a"},
      {head + rest + ",\"context\":{\"a\":NaN}}", "context.a"},
      {head + rest + ",\"context\":{\"a\":[1,Infinity]}}", "context.a[1]"},
      {head + rest + ",\"context\":{\"a\":01}}", "context"},
      {head + rest + ",\"context\":" + std::string(600, '[') + std::string(600, ']') + "}",
       "context"},
      {head + rest + "}" + std::string(kMaxRequest, ' '), ""},
  };
  for (const Document& row : rows) {
    CAPTURE(row.text.substr(0, 200));
    const std::string member = member_of(parse_broker_request(row.text));
    if (row.text.size() > 600 && !row.member.empty()) {
      CHECK(member.starts_with(row.member));
      CHECK(member.size() < 300);
    } else {
      CHECK(member == row.member);
    }
  }
}

TEST_CASE("faults say what is expected, and repeat no value") {
  struct Words {
    std::string_view parameters;
    std::string_view shown;
  };
  const Words rows[] = {
      {R"({"path":"a","max_bytes":99999999999})",
       "fault max_bytes: a whole number from 1 to 52428800, in digits alone, is expected"},
      {R"({"path":["secret"]})",
       "fault path: a path is expected: a string of 1 to 4096 bytes, without NUL"},
      {R"({"path":"a","file":"secret"})",
       "fault file: there is no such member; those that there are: path, max_bytes"},
      {R"([1])", "fault : an object is expected"},
      {"{}", "fault path: it is missing"},
      {"", "fault path: it is missing"},
  };
  for (const Words& row : rows)
    CHECK(show(parse_tool_arguments(Operation::read_text, row.parameters)) == row.shown);
  const std::string name(1000, 'n');
  const auto parsed = parse_tool_arguments(Operation::read_text, "{\"" + name + "\":1}");
  CHECK(member_of(parsed) == std::string(64, 'n') + "...");
}

TEST_CASE("a text cut anywhere is refused, and never read past its end") {
  const std::string whole = document("run_python", R"({"code":"1","args":["a","\u0041"]})");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<char> exact(whole.begin(), whole.begin() + static_cast<long>(size));
    CHECK(std::holds_alternative<RequestFault>(parse_broker_request({exact.data(), exact.size()})));
  }
}
