// SPDX-License-Identifier: Apache-2.0 OR MIT
// The scanner against RFC 8259, case by case: what it takes, what it refuses, under which name and
// where.
#include "mcp/json/scan.h"

#include <optional>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

namespace {

using namespace std::string_view_literals;
using aegis::mcp::json::Defect;
using aegis::mcp::json::kMaxDepth;
using aegis::mcp::json::Rules;
using aegis::mcp::json::Scanner;
using aegis::mcp::json::Type;
using aegis::mcp::json::Value;
using Kind = Defect::Kind;

std::optional<Defect> scan(std::string_view text, Rules rules = Rules::strict) {
  Scanner scanner;
  Value value;
  scanner.start(text, rules);
  scanner.take(value);
  scanner.finish();
  return scanner.defect();
}

std::string repeat(std::string_view part, std::size_t times) {
  std::string text;
  for (std::size_t index = 0; index < times; ++index)
    text += part;
  return text;
}

constexpr std::string_view kGood[] = {
    "0"sv,
    "-0"sv,
    "1"sv,
    "-1"sv,
    "10"sv,
    "1.0"sv,
    "-1.5e10"sv,
    "1E+2"sv,
    "1e-2"sv,
    "0e0"sv,
    "0.0"sv,
    "123456789012345678901234567890"sv,
    "1e999999999"sv,
    "true"sv,
    "false"sv,
    "null"sv,
    "\"\""sv,
    "[]"sv,
    "{}"sv,
    "[[]]"sv,
    "[{}]"sv,
    "{\"a\":[]}"sv,
    " [ 1 , 2 ] "sv,
    "\t[\t1\t,\t2\t]\t"sv,
    "{ \"a\" : 1 , \"b\" : 2 }"sv,
    "[1,true,null,\"x\",{},[]]"sv,
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""sv,
    "\"\\u0000\""sv,
    "\"\\u0041\\u00e9\\uFFFF\""sv,
    "\"\\ud83d\\ude00\""sv,
    "\"\\uD83D\\uDE00\\uD83D\\uDE01\""sv,
    "\"\\\\ud800\""sv,
    "\"\x7F\""sv,
    "\"\xC2\x80\""sv,
    "\"\xDF\xBF\""sv,
    "\"\xE0\xA0\x80\""sv,
    "\"\xED\x9F\xBF\""sv,
    "\"\xEE\x80\x80\""sv,
    "\"\xEF\xBF\xBF\""sv,
    "\"\xEF\xBB\xBF\""sv,
    "\"\xF0\x90\x80\x80\""sv,
    "\"\xF4\x8F\xBF\xBF\""sv,
    "\"\xE2\x80\xA8\""sv,
    "{\"\":1}"sv,
    "{\"a\":1,\"A\":2}"sv,
    "{\"a\":{\"a\":{\"a\":1}}}"sv,
    "[{\"a\":1},{\"a\":1}]"sv,
    "{\"a\":{\"b\":1},\"b\":{\"a\":1}}"sv,
    "{\"\xC3\xA9\":1,\"e\xCC\x81\":2}"sv,
};

struct Bad {
  std::string_view text;
  Kind kind;
  std::size_t offset;
};
constexpr Bad kBad[] = {
    // Structure.
    {""sv, Kind::syntax, 0},
    {" "sv, Kind::syntax, 1},
    {"["sv, Kind::syntax, 1},
    {"[1"sv, Kind::syntax, 2},
    {"[1,"sv, Kind::syntax, 3},
    {"[1,]"sv, Kind::syntax, 3},
    {"[,1]"sv, Kind::syntax, 1},
    {"[1,,2]"sv, Kind::syntax, 3},
    {"[1 2]"sv, Kind::syntax, 3},
    {"[1:2]"sv, Kind::syntax, 2},
    {"[1}"sv, Kind::syntax, 2},
    {"]"sv, Kind::syntax, 0},
    {"}"sv, Kind::syntax, 0},
    {"{"sv, Kind::syntax, 1},
    {"{\"a\""sv, Kind::syntax, 4},
    {"{\"a\":"sv, Kind::syntax, 5},
    {"{\"a\":1"sv, Kind::syntax, 6},
    {"{\"a\":1,"sv, Kind::syntax, 7},
    {"{\"a\":1,}"sv, Kind::syntax, 7},
    {"{,}"sv, Kind::syntax, 1},
    {"{\"a\" 1}"sv, Kind::syntax, 5},
    {"{\"a\":1]"sv, Kind::syntax, 6},
    {"{\"a\",1}"sv, Kind::syntax, 4},
    {"{a:1}"sv, Kind::syntax, 1},
    {"{1:1}"sv, Kind::syntax, 1},
    {"{'a':1}"sv, Kind::syntax, 1},
    {"{\"a\":1 \"b\":2}"sv, Kind::syntax, 7},
    {"{null:1}"sv, Kind::syntax, 1},
    {"{[]:1}"sv, Kind::syntax, 1},
    {"['a']"sv, Kind::syntax, 1},
    {"[1]/*c*/"sv, Kind::trailing, 3},
    {"/*c*/[1]"sv, Kind::syntax, 0},
    {"//c"sv, Kind::syntax, 0},
    {"#c"sv, Kind::syntax, 0},
    {"[\xC2\xA0]"sv, Kind::syntax, 1},
    {"[\xE2\x80\xA8]"sv, Kind::syntax, 1},
    {"(1)"sv, Kind::syntax, 0},
    {",1"sv, Kind::syntax, 0},
    // Words and numbers.
    {"tru"sv, Kind::syntax, 3},
    {"True"sv, Kind::syntax, 0},
    {"TRUE"sv, Kind::syntax, 0},
    {"truth"sv, Kind::syntax, 3},
    {"nul"sv, Kind::syntax, 3},
    {"fals0"sv, Kind::syntax, 4},
    {"NaN"sv, Kind::syntax, 0},
    {"nan"sv, Kind::syntax, 1},
    {"Infinity"sv, Kind::syntax, 0},
    {"-Infinity"sv, Kind::syntax, 1},
    {"undefined"sv, Kind::syntax, 0},
    {"-"sv, Kind::syntax, 1},
    {"+1"sv, Kind::syntax, 0},
    {".5"sv, Kind::syntax, 0},
    {"1."sv, Kind::syntax, 2},
    {"[1.]"sv, Kind::syntax, 3},
    {"1.e1"sv, Kind::syntax, 2},
    {"1e"sv, Kind::syntax, 2},
    {"1e+"sv, Kind::syntax, 3},
    {"1e+-1"sv, Kind::syntax, 3},
    {"--1"sv, Kind::syntax, 1},
    {"-a"sv, Kind::syntax, 1},
    {"0x10"sv, Kind::trailing, 1},
    {"01"sv, Kind::trailing, 1},
    {"-01"sv, Kind::trailing, 2},
    {"[01]"sv, Kind::syntax, 2},
    {"1_000"sv, Kind::trailing, 1},
    {"1 000"sv, Kind::trailing, 2},
    {"1,000"sv, Kind::trailing, 1},
    {"1a"sv, Kind::trailing, 1},
    {"[1a]"sv, Kind::syntax, 2},
    {"\xEF\xBC\x91"sv, Kind::syntax, 0},
    {"truefalse"sv, Kind::trailing, 4},
    // More than one value.
    {"{}{}"sv, Kind::trailing, 2},
    {"[] []"sv, Kind::trailing, 3},
    {"1 2"sv, Kind::trailing, 2},
    {"{}}"sv, Kind::trailing, 2},
    {"[]]"sv, Kind::trailing, 2},
    {"\"a\"\"b\""sv, Kind::trailing, 3},
    {"{},"sv, Kind::trailing, 2},
    {"{};"sv, Kind::trailing, 2},
    {"{}\xEF\xBB\xBF"sv, Kind::trailing, 2},
    {"{}\0"sv, Kind::trailing, 2},
    {"{}\x1F"sv, Kind::trailing, 2},
    // Strings.
    {"\""sv, Kind::syntax, 1},
    {"\"a"sv, Kind::syntax, 2},
    {"\"\\"sv, Kind::syntax, 1},
    {"\"\\\""sv, Kind::syntax, 3},
    {"\"\\a\""sv, Kind::syntax, 1},
    {"\"\\'\""sv, Kind::syntax, 1},
    {"\"\\0\""sv, Kind::syntax, 1},
    {"\"\\x41\""sv, Kind::syntax, 1},
    {"\"\\U0041\""sv, Kind::syntax, 1},
    {"\"\\u\""sv, Kind::syntax, 1},
    {"\"\\u00\""sv, Kind::syntax, 1},
    {"\"\\u004\""sv, Kind::syntax, 1},
    {"\"\\u004G\""sv, Kind::syntax, 1},
    {"\"\\u{41}\""sv, Kind::syntax, 1},
    {"\"\\u+041\""sv, Kind::syntax, 1},
    {"\"\\u 041\""sv, Kind::syntax, 1},
    {"\"\\\n\""sv, Kind::syntax, 1},
    {"\"\\ud83d\\u\""sv, Kind::lone_surrogate, 1},
    {"\"\\u12"sv, Kind::syntax, 1},
    // Control characters, NUL, line ends.
    {"\"\t\""sv, Kind::control_character, 1},
    {"\"\n\""sv, Kind::control_character, 1},
    {"\"\r\""sv, Kind::control_character, 1},
    {"\"\x01\""sv, Kind::control_character, 1},
    {"\"\x1F\""sv, Kind::control_character, 1},
    {"\"a long run of plain text \x1B[0m\""sv, Kind::control_character, 26},
    {"[1,\r2]"sv, Kind::control_character, 3},
    {"[1,\n2]"sv, Kind::control_character, 3},
    {"\r[1]"sv, Kind::control_character, 0},
    {"[1]\r"sv, Kind::control_character, 3},
    {"[\v1]"sv, Kind::control_character, 1},
    {"[\f1]"sv, Kind::control_character, 1},
    {"\x1E[1]"sv, Kind::control_character, 0},
    {"t\x01ue"sv, Kind::control_character, 1},
    {"\"\0\""sv, Kind::nul, 1},
    {"[\0]"sv, Kind::nul, 1},
    {"\0{}"sv, Kind::nul, 0},
    {"{\"a\0b\":1}"sv, Kind::nul, 3},
    {"t\0rue"sv, Kind::nul, 1},
    {"[\0001\0]\0"sv, Kind::nul, 1},
    // Encoding.
    {"\xEF\xBB\xBF{}"sv, Kind::byte_order_mark, 0},
    {"\xEF\xBB\xBF"sv, Kind::byte_order_mark, 0},
    {"\xFF\xFE{\0}\0"sv, Kind::not_utf8, 0},
    {"\xFE\xFF\0{\0}"sv, Kind::not_utf8, 0},
    {"{\0}\0"sv, Kind::nul, 1},
    {"\xEF\xBB{}"sv, Kind::not_utf8, 0},
    {"\"\x80\""sv, Kind::not_utf8, 1},
    {"\"\xBF\""sv, Kind::not_utf8, 1},
    {"\"\xC0\x80\""sv, Kind::not_utf8, 1},
    {"\"\xC1\xBF\""sv, Kind::not_utf8, 1},
    {"\"\xC2\""sv, Kind::not_utf8, 1},
    {"\"\xC2\x7F\""sv, Kind::not_utf8, 1},
    {"\"\xC2\xC0\""sv, Kind::not_utf8, 1},
    {"\"\xE0\x80\x80\""sv, Kind::not_utf8, 1},
    {"\"\xE0\x9F\xBF\""sv, Kind::not_utf8, 1},
    {"\"\xE1\x80\""sv, Kind::not_utf8, 1},
    {"\"\xE1\x80\x7F\""sv, Kind::not_utf8, 1},
    {"\"\xED\xA0\x80\""sv, Kind::not_utf8, 1},
    {"\"\xED\xBF\xBF\""sv, Kind::not_utf8, 1},
    {"\"\xED\xA0\xBD\xED\xB8\x80\""sv, Kind::not_utf8, 1},
    {"\"\xF0\x80\x80\x80\""sv, Kind::not_utf8, 1},
    {"\"\xF0\x8F\xBF\xBF\""sv, Kind::not_utf8, 1},
    {"\"\xF0\x90\x80\""sv, Kind::not_utf8, 1},
    {"\"\xF1\x80\x80\xC0\""sv, Kind::not_utf8, 1},
    {"\"\xF4\x90\x80\x80\""sv, Kind::not_utf8, 1},
    {"\"\xF5\x80\x80\x80\""sv, Kind::not_utf8, 1},
    {"\"\xF8\x88\x80\x80\x80\""sv, Kind::not_utf8, 1},
    {"\"\xFE\""sv, Kind::not_utf8, 1},
    {"\"\xFF\""sv, Kind::not_utf8, 1},
    {"\"\xC3\xA9\xC3\""sv, Kind::not_utf8, 3},
    {"\"a\xC3"sv, Kind::not_utf8, 2},
    {"{\"\xFF\":1}"sv, Kind::not_utf8, 2},
    // Surrogates.
    {"\"\\ud800\""sv, Kind::lone_surrogate, 1},
    {"\"\\udc00\""sv, Kind::lone_surrogate, 1},
    {"\"\\uDFFF\""sv, Kind::lone_surrogate, 1},
    {"\"\\udc00\\udc00\""sv, Kind::lone_surrogate, 1},
    {"\"\\ud800\\ud800\""sv, Kind::lone_surrogate, 1},
    {"\"\\ude00\\ud83d\""sv, Kind::lone_surrogate, 1},
    {"\"\\ud83dx\""sv, Kind::lone_surrogate, 1},
    {"\"\\ud83d\\n\""sv, Kind::lone_surrogate, 1},
    {"\"\\ud83d\\u0041\""sv, Kind::lone_surrogate, 1},
    {"\"\\ud83d\xED\xB8\x80\""sv, Kind::lone_surrogate, 1},
    {"\"\xED\xA0\xBD\\ude00\""sv, Kind::not_utf8, 1},
    {"\"\\ud83d\\ude00\\ude00\""sv, Kind::lone_surrogate, 13},
    {"{\"\\ud800\":1}"sv, Kind::lone_surrogate, 2},
    {"\"\\ud83d"sv, Kind::lone_surrogate, 1},
    {"\"\\ud83d\\\\ude00\""sv, Kind::lone_surrogate, 1},
    // Repeated members: the offset is that of the second name.
    {"{\"a\":1,\"a\":2}"sv, Kind::repeated_member, 8},
    {"{\"\":1,\"\":2}"sv, Kind::repeated_member, 7},
    {"{\"a\":1,\"b\":2,\"a\":3}"sv, Kind::repeated_member, 14},
    {"{\"a\":1,\"\\u0061\":2}"sv, Kind::repeated_member, 8},
    {"{\"\\u0061\":1,\"a\":2}"sv, Kind::repeated_member, 13},
    {"{\"\\/\":1,\"/\":2}"sv, Kind::repeated_member, 9},
    {"{\"\\u000A\":1,\"\\n\":2}"sv, Kind::repeated_member, 13},
    {"{\"\xF0\x9F\x98\x80\":1,\"\\ud83d\\ude00\":2}"sv, Kind::repeated_member, 11},
    {"[[{\"x\":[{\"a\":1,\"a\":2}]}]]"sv, Kind::repeated_member, 16},
    {"{\"a\":{\"b\":1,\"b\":2},\"a\":3}"sv, Kind::repeated_member, 13},
    {"{\"a\":{\"b\":1},\"c\":2,\"a\":3}"sv, Kind::repeated_member, 20},
};

}  // namespace

TEST_CASE("what RFC 8259 allows is taken, by either manner") {
  for (const std::string_view text : kGood) {
    CAPTURE(text);
    CHECK_FALSE(scan(text).has_value());
    CHECK_FALSE(scan(text, Rules::lenient).has_value());
  }
}

TEST_CASE("every defect is found, named and placed") {
  for (const Bad& bad : kBad) {
    CAPTURE(bad.text);
    const std::optional<Defect> defect = scan(bad.text);
    REQUIRE(defect.has_value());
    CHECK(static_cast<int>(defect->kind) == static_cast<int>(bad.kind));
    CHECK(defect->offset == bad.offset);
  }
}

TEST_CASE("a defect is found wherever in a long string it stands") {
  // All distances to the ends of 16- and 64-byte blocks.
  for (std::size_t before = 0; before < 150; ++before) {
    for (const std::size_t after : {std::size_t{0}, std::size_t{5}, std::size_t{100}}) {
      const auto text = [&](std::string_view middle) {
        return '"' + std::string(before, 'a') + std::string{middle} + std::string(after, 'b') + '"';
      };
      CAPTURE(before);
      CAPTURE(after);
      CHECK_FALSE(scan(text("")).has_value());
      CHECK_FALSE(scan(text("\\n")).has_value());
      CHECK_FALSE(scan(text("\\ud83d\\ude00")).has_value());
      CHECK_FALSE(scan(text("\xF0\x9F\x98\x80")).has_value());
      CHECK(scan(text("\x1F")).value().offset == before + 1);
      CHECK(scan(text("\xFF")).value().offset == before + 1);
      CHECK(scan(text("\\ud83d")).value().offset == before + 1);
      CHECK(scan(text("\\q")).value().offset == before + 1);
      CHECK(scan(text("\"")).has_value());
    }
  }
}

TEST_CASE("every cut of a text is a defect") {
  constexpr std::string_view kText =
      R"({"jsonrpc":"2.0","id":-1.5e3,"x":[true,false,null,{"\u00e9\ud83d\ude00":"ab\\"}],"y":"\/"})";
  REQUIRE_FALSE(scan(kText).has_value());
  for (std::size_t size = 0; size < kText.size(); ++size) {
    CAPTURE(size);
    CHECK(scan(kText.substr(0, size)).has_value());
    CHECK(scan(kText.substr(0, size), Rules::lenient).has_value());
  }
}

TEST_CASE("512 levels pass and 513 do not, whatever they are made of") {
  const std::string arrays = repeat("[", kMaxDepth) + repeat("]", kMaxDepth);
  const std::string objects = repeat("{\"a\":", kMaxDepth) + "1" + repeat("}", kMaxDepth);
  const std::string mixed = repeat("[{\"a\":", kMaxDepth / 2) + "1" + repeat("}]", kMaxDepth / 2);
  for (const std::string& text : {arrays, objects, mixed}) {
    CHECK_FALSE(scan(text).has_value());
    const std::string deeper = '[' + text + ']';
    REQUIRE(scan(deeper).has_value());
    CHECK(scan(deeper)->kind == Kind::too_deep);
    CHECK_FALSE(scan(deeper, Rules::lenient).has_value());
  }
}

TEST_CASE("the lenient manner goes any depth and still tells brackets apart") {
  constexpr std::size_t kDeep = 1'000'000;
  const std::string good = repeat("[{\"a\":", kDeep) + "1" + repeat("}]", kDeep);
  CHECK_FALSE(scan(good, Rules::lenient).has_value());
  std::string bad = good;
  bad[bad.size() - kDeep] = bad[bad.size() - kDeep] == ']' ? '}' : ']';
  CHECK(scan(bad, Rules::lenient).has_value());
}

TEST_CASE("the lenient manner takes what careless readers take, and no more") {
  constexpr std::string_view kTaken[] = {
      "\xEF\xBB\xBF{}"sv,
      "\"\t\""sv,
      "\"\xFF\""sv,
      "\"\\ud800\""sv,
      "\"\\q\""sv,
      "\"\0\""sv,
      "[1,\r\n2]"sv,
      "\r{}\n"sv,
      "{\"a\":1,\"a\":2}"sv,
      "\"\xED\xA0\x80\""sv,
      "\"\\u00\""sv,
  };
  for (const std::string_view text : kTaken) {
    CAPTURE(text);
    CHECK(scan(text).has_value());
    CHECK_FALSE(scan(text, Rules::lenient).has_value());
  }
  for (const Bad& bad : kBad) {
    if (bad.kind != Kind::syntax && bad.kind != Kind::trailing) continue;
    if (bad.text.substr(0, 2) == "\"\\") continue;  // unknown escapes: see above
    CAPTURE(bad.text);
    CHECK(scan(bad.text, Rules::lenient).has_value());
  }
}

TEST_CASE("a walk sees members, elements and values as written") {
  constexpr std::string_view kText =
      R"( { "a" : "x\ty" , "b" : [ 1.50 , {} ] , "\u0063" : { "d" : null } } )";
  Scanner scanner;
  Value value;
  scanner.start(kText, Rules::strict);
  REQUIRE(scanner.peek() == Type::object);
  REQUIRE(scanner.enter_object());

  REQUIRE(scanner.next_member());
  CHECK(scanner.name().raw == "a");
  REQUIRE(scanner.take(value));
  CHECK(value.type == Type::string);
  CHECK(value.lexeme == R"("x\ty")");
  CHECK(value.text().raw == R"(x\ty)");
  CHECK(value.text().has_escapes);

  REQUIRE(scanner.next_member());
  CHECK(scanner.name().raw == "b");
  REQUIRE(scanner.peek() == Type::array);
  REQUIRE(scanner.enter_array());
  REQUIRE(scanner.next_element());
  REQUIRE(scanner.take(value));
  CHECK(value.lexeme == "1.50");
  REQUIRE(scanner.next_element());
  REQUIRE(scanner.take(value));
  CHECK(value.type == Type::object);
  CHECK_FALSE(scanner.next_element());

  REQUIRE(scanner.next_member());
  CHECK(scanner.name().raw == R"(\u0063)");
  CHECK(scanner.name().has_escapes);
  REQUIRE(scanner.take(value));
  CHECK(value.lexeme == R"({ "d" : null })");
  CHECK_FALSE(scanner.next_member());
  CHECK(scanner.finish());
  CHECK_FALSE(scanner.defect().has_value());
}

TEST_CASE("after a defect every step answers false and the first defect stays") {
  Scanner scanner;
  Value value;
  scanner.start("{\"a\":\"\x01\",\"a\":1", Rules::strict);
  REQUIRE(scanner.enter_object());
  REQUIRE(scanner.next_member());
  CHECK_FALSE(scanner.take(value));
  CHECK_FALSE(scanner.take(value));
  CHECK_FALSE(scanner.peek().has_value());
  CHECK_FALSE(scanner.next_member());
  CHECK_FALSE(scanner.next_element());
  CHECK_FALSE(scanner.enter_object());
  CHECK_FALSE(scanner.enter_array());
  CHECK_FALSE(scanner.finish());
  CHECK(scanner.defect().value().kind == Kind::control_character);
  CHECK(scanner.defect().value().offset == 6);
}

TEST_CASE("finishing says whether the text was the one value") {
  const auto finishes = [](std::string_view text) {
    Scanner scanner;
    Value value;
    scanner.start(text, Rules::strict);
    scanner.take(value);
    const bool is_good = scanner.finish();
    CHECK(is_good == !scanner.defect().has_value());
    return is_good;
  };
  CHECK(finishes("{} \t"));
  CHECK_FALSE(finishes("{} \r"));
  CHECK_FALSE(finishes("{} x"));
  CHECK_FALSE(finishes("{"));
}

TEST_CASE("a string has escapes when a backslash stands anywhere in it") {
  for (const Rules rules : {Rules::strict, Rules::lenient}) {
    for (const std::string_view text : {"\"\\n\""sv,
                                        "\"\\n\xC3\xA9\""sv,
                                        "\"\xC3\xA9\\n\""sv,
                                        "\"\\\\\xC3\xA9 and more than sixteen bytes\""sv}) {
      Scanner scanner;
      Value value;
      scanner.start(text, rules);
      REQUIRE(scanner.take(value));
      CHECK(value.has_escapes);
      const std::string member = "{" + std::string{text} + ":\"\xC3\xA9\"}";
      scanner.start(member, rules);
      REQUIRE(scanner.enter_object());
      REQUIRE(scanner.next_member());
      CHECK(scanner.name().has_escapes);
      REQUIRE(scanner.take(value));
      CHECK_FALSE(value.has_escapes);
    }
  }
}

TEST_CASE("one scanner reads text after text, whatever the one before was") {
  Scanner scanner;
  Value value;
  const std::string deep = repeat("[", 5000);
  for (const std::string_view text :
       {std::string_view{deep}, "{\"a\":1,\"a\":2}"sv, "{\"a\":1}"sv, "{\"a\":\""sv, "[1,2]"sv}) {
    for (const Rules rules : {Rules::strict, Rules::lenient}) {
      scanner.start(text, rules);
      scanner.take(value);
      scanner.finish();
      const std::optional<Defect> fresh = scan(text, rules);
      REQUIRE(scanner.defect().has_value() == fresh.has_value());
      if (fresh) CHECK(scanner.defect()->offset == fresh->offset);
    }
  }
}

TEST_CASE("where names decide, folding counts: for their object and no other") {
  constexpr std::string_view kDeciding[] = {"method", "params", "task"};
  struct Row {
    std::string_view text;
    std::optional<Kind> kind;
  };
  const Row rows[] = {
      {R"({"method":1,"params":2,"task":3,"other":4})"sv, std::nullopt},
      {R"({"m\u0065thod":1})"sv, std::nullopt},
      {R"({"Method":1})"sv, Kind::folded_member},
      {R"({"METHOD":1})"sv, Kind::folded_member},
      {R"({"\u004dethod":1})"sv, Kind::folded_member},
      {"{\"param\xC5\xBF\":1}"sv, Kind::folded_member},
      {R"({"param\u017f":1})"sv, Kind::folded_member},
      {"{\"tas\xE2\x84\xAA\":1}"sv, Kind::folded_member},
      {R"({"TA\u017F\u212A":1})"sv, Kind::folded_member},
      {R"({"other":1,"Other":2})"sv, Kind::folded_member},
      {R"({"other":1,"other":2})"sv, Kind::repeated_member},
      {R"({"Other":1,"Other":2})"sv, Kind::repeated_member},
      {R"({"\u004fther":1,"Other":2})"sv, Kind::repeated_member},
      {"{\"stra\xC3\x9F\x65\":1,\"stra\xE1\xBA\x9E\x65\":2}"sv,
       Kind::folded_member},                                       // ß, capital ẞ
      {"{\"\xCE\xA3\":1,\"\xCF\x82\":2}"sv, Kind::folded_member},  // capital sigma, final sigma
      {"{\"stra\xC3\x9F\x65\":1,\"strasse\":2}"sv, std::nullopt},  // full folding only
      {R"({"method\u0000":1})"sv, Kind::nul},
      {R"({"x\u0000":1})"sv, Kind::nul},
      {R"({"x":{"Method":1,"METHOD":2,"a\u0000":3}})"sv, std::nullopt},
      {R"({"x":{"a":1,"a":2}})"sv, Kind::repeated_member},
      {R"({"methods":1,"metho":2,"Methods":3})"sv, Kind::folded_member},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    Scanner scanner;
    Value value;
    scanner.start(row.text, Rules::strict);
    REQUIRE(scanner.peek() == Type::object);
    scanner.enter_object(kDeciding);
    while (scanner.next_member())
      scanner.take(value);
    scanner.finish();
    REQUIRE(scanner.defect().has_value() == row.kind.has_value());
    if (row.kind) CHECK(static_cast<int>(scanner.defect()->kind) == static_cast<int>(*row.kind));
  }
}

TEST_CASE(
    "each defect is described in words of its own that name the place and keep the frame's text "
    "out") {
  std::string all;
  for (int kind = 0; kind <= static_cast<int>(Kind::batch_too_long); ++kind) {
    const std::string words = describe(Defect{static_cast<Kind>(kind), 4711});
    CAPTURE(words);
    CHECK(words.find("4711") != std::string::npos);
    CHECK(words.back() != '.');
    CHECK(all.find(words) == std::string::npos);
    all += words + '\n';
  }
}
