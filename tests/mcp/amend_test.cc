// SPDX-License-Identifier: Apache-2.0 OR MIT
// Answers with the broker's tools in them, byte for byte.
#include "mcp/amend.h"

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

using namespace aegis::mcp;

constexpr std::string_view kHead = R"({"jsonrpc":"2.0","id":1,"result":)";

std::string frame_of(std::string_view result) {
  return std::string{kHead} + std::string{result} + "}\n";
}

struct Row {
  std::string_view result;
  std::string_view expected;  // the result; empty: nothing
  std::string_view hidden = {};
};

constexpr std::string_view kHiddenNames[] = {"x", "y"};

std::string join(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names)
    all += (all.empty() ? "" : " ") + name;
  return all;
}

void check(const Row& row, std::string_view added) {
  CAPTURE(row.result);
  const std::string frame = frame_of(row.result);
  const auto amended = amend_tools_list(frame, {kHiddenNames, added});
  if (row.expected.empty()) {
    CHECK_FALSE(amended);
    return;
  }
  REQUIRE(amended);
  CHECK(amended->frame == frame_of(row.expected));
  CHECK(join(amended->hidden) == row.hidden);
  CHECK(nlohmann::json::accept(amended->frame));
}

std::string capabilities(std::string_view result) {
  const auto amended = amend_capabilities(frame_of(result));
  return amended ? amended->frame : "nothing";
}

}  // namespace

TEST_CASE("tools are added behind the last page's") {
  const Row rows[] = {
      {R"({"tools":[]})", R"({"tools":[{"name":"new"}]})"},
      {R"({"tools":[ ]})", R"({"tools":[{"name":"new"} ]})"},
      {R"({"tools":[{"name":"a"}]})", R"({"tools":[{"name":"a"},{"name":"new"}]})"},
      {R"({ "tools" : [ {"name":"a"} , {"name":"b"} ] })",
       R"({ "tools" : [ {"name":"a"} , {"name":"b"},{"name":"new"} ] })"},
      {R"({"tools":[{"name":"a"}],"nextCursor":null})",
       R"({"tools":[{"name":"a"},{"name":"new"}],"nextCursor":null})"},
      {R"({"nextCursor":"","tools":[]})", R"({"nextCursor":"","tools":[{"name":"new"}]})"},
      {R"({"nextCursor":7,"tools":[]})", R"({"nextCursor":7,"tools":[{"name":"new"}]})"},
      {R"({"nextCursor":"c","tools":[{"name":"a"}]})",
       R"({"nextCursor":"c","tools":[{"name":"a"}]})"},
      {R"({"tools":[],"nextCurso\u0072":"c"})", R"({"tools":[],"nextCurso\u0072":"c"})"},
      {R"({"tools":[1,"x",null,[{"name":"x"}]]})",
       R"({"tools":[1,"x",null,[{"name":"x"}],{"name":"new"}]})"},
      {R"({"tools":[{"title":"x"},{"name":1}]})",
       R"({"tools":[{"title":"x"},{"name":1},{"name":"new"}]})"},
  };
  for (const Row& row : rows)
    check(row, R"({"name":"new"})");
}

TEST_CASE("hidden tools go with one comma, wherever they stand") {
  const Row rows[] = {
      {R"({"tools":[{"name":"x"}]})", R"({"tools":[]})", "x"},
      {R"({"tools":[ {"name":"x"} ]})", R"({"tools":[  ]})", "x"},
      {R"({"tools":[{"name":"x"}, {"name":"a"}]})", R"({"tools":[{"name":"a"}]})", "x"},
      {R"({"tools":[{"name":"a"}, {"name":"x"}]})", R"({"tools":[{"name":"a"}]})", "x"},
      {R"({"tools":[{"name":"a"}, {"name":"x"},{"name":"b"}]})",
       R"({"tools":[{"name":"a"},{"name":"b"}]})",
       "x"},
      {R"({"tools":[{"name":"x"},{"name":"y"}]})", R"({"tools":[]})", "x y"},
      {R"({"tools":[{"name":"x"},{"name":"a"},{"name":"y"},{"name":"x"},{"name":"b"},{"name":"y"}]})",
       R"({"tools":[{"name":"a"},{"name":"b"}]})",
       "x y x y"},
      {R"({"tools":[{"name":"a","description":"x"}]})",
       R"({"tools":[{"name":"a","description":"x"}]})"},
      {R"({"tools":[{"inputSchema":{"name":"x"},"name":"a"}]})",
       R"({"tools":[{"inputSchema":{"name":"x"},"name":"a"}]})"},
      {R"({"tools":[{"a":[1,{}],"name":"x","z":"\""},{"name":"a"}]})",
       R"({"tools":[{"name":"a"}]})",
       "x"},
      {R"({"tools":[{"n\u0061me":"\u0078"}],"nextCursor":"c"})",
       R"({"tools":[],"nextCursor":"c"})",
       "x"},
      {R"({"tools":[{"name":"X"},{"name":"x "},{"name":""}]})",
       R"({"tools":[{"name":"X"},{"name":"x "},{"name":""}]})"},
  };
  for (const Row& row : rows)
    check(row, "");
}

TEST_CASE("what hides and what is added go together") {
  const Row rows[] = {
      {R"({"tools":[{"name":"x"}]})", R"({"tools":[{"name":"new"}]})", "x"},
      {R"({"tools":[{"name":"a"},{"name":"x"}]})",
       R"({"tools":[{"name":"a"},{"name":"new"}]})",
       "x"},
      {R"({"tools":[{"name":"x"},{"name":"a"}],"nextCursor":"c"})",
       R"({"tools":[{"name":"a"}],"nextCursor":"c"})",
       "x"},
  };
  for (const Row& row : rows)
    check(row, R"({"name":"new"})");
}

TEST_CASE("a list without one certain reading is not amended") {
  const Row rows[] = {
      {"{}", ""},
      {"[]", ""},
      {"null", ""},
      {R"({"tools":{}})", ""},
      {R"({"tools":null})", ""},
      {R"({"tools":[],"tools":[]})", ""},
      {R"({"tools":[],"t\u006fols":1})", ""},
      {R"({"tools":[],"Tools":[]})", ""},
      {R"({"Tools":[]})", ""},
      {R"({"tools":[],"NextCursor":"c"})", ""},
      {R"({"tools":[],"nextCursor":"c","nextCursor":null})", ""},
      {R"({"tools":[{"name":"a","name":"x"}]})", ""},
      {R"({"tools":[{"name":"a","NAME":"x"}]})", ""},
      {R"({"tools":[{"Name":"x"}]})", ""},
      {R"({"tools":[{"name":"\ud800"}]})", ""},
      {R"({"tools":[)", ""},
  };
  for (const Row& row : rows)
    check(row, R"({"name":"new"})");

  const std::string_view frames[] = {
      "",
      "\n",
      "no JSON",
      R"([{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}])",
      R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}})",
      R"({"jsonrpc":"2.0","id":1,"result":{"tools":[]},"error":{}})",
      R"({"jsonrpc":"2.0","id":1,"result":{"tools":[]},"method":"m"})",
      R"({"jsonrpc":"2.0","id":1,"result":{"tools":[]},"result":{"tools":[]}})",
      R"({"jsonrpc":"2.0","id":1,"result":{"tools":[]},"Result":{"tools":[]}})",
      R"({"jsonrpc":"2.0","id":1,"result":{"tools":[]}} x)",
      R"({"jsonrpc":"2.0","id":1,"Result":{"tools":[]}})",
  };
  for (const std::string_view frame : frames) {
    CHECK_FALSE(amend_tools_list(frame, {{}, "{}"}));
    CHECK_FALSE(amend_capabilities(frame));
  }
}

TEST_CASE("the line's end stays as it was") {
  for (const std::string_view end : {"", "\n", "\r\n", "\r"}) {
    std::string frame = R"({"id":1,"result":{"tools":[]}})";
    frame += end;
    const auto amended = amend_tools_list(frame, {{}, "{}"});
    REQUIRE(amended);
    CHECK(amended->frame == frame.insert(frame.find(']'), "{}"));
  }
}

TEST_CASE("capabilities get tools when they have none") {
  CHECK(capabilities(R"({"protocolVersion":"2025-06-18","capabilities":{}})") ==
        frame_of(R"({"protocolVersion":"2025-06-18","capabilities":{"tools":{}}})"));
  CHECK(capabilities(R"({"capabilities": { "logging": {} }, "x": 1})") ==
        frame_of(R"({"capabilities": {"tools":{}, "logging": {} }, "x": 1})"));
  CHECK(capabilities(R"({"capabilities":{ }})") == frame_of(R"({"capabilities":{"tools":{} }})"));
  CHECK(capabilities(R"({"serverInfo":{"tools":1},"capabilities":{"a":{"tools":{}}}})") ==
        frame_of(R"({"serverInfo":{"tools":1},"capabilities":{"tools":{},"a":{"tools":{}}}})"));
  for (const std::string_view result : {R"({"capabilities":{"tools":{}}})",
                                        R"({"capabilities":{"a":1,"t\u006fols":{"x":1}}})",
                                        R"({"capabilities":{"tools":null}})",
                                        R"({"capabilities":{"Tools":{}}})",
                                        R"({"capabilities":{},"Capabilities":{}})",
                                        R"({"capabilities":{},"capabilities":{}})",
                                        R"({"capabilities":[]})",
                                        "{}",
                                        "[]"}) {
    CHECK(capabilities(result) == "nothing");
  }
}

TEST_CASE("a list of our own") {
  CHECK(encode_tools_list({Id::Type::string, "\"i\""}, R"({"name":"a"},{"name":"b"})") ==
        R"({"jsonrpc":"2.0","id":"i","result":{"tools":[{"name":"a"},{"name":"b"}],)"
        R"("resultType":"complete","ttlMs":0,"cacheScope":"private"}})"
        "\n");
  CHECK(amend_tools_list(encode_tools_list({Id::Type::number, "1"}, ""), {{}, "{}"}));
}
