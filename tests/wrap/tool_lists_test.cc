// SPDX-License-Identifier: Apache-2.0 OR MIT
// What becomes of the answers into which the broker's tools belong, good and bad ones.
#include "wrap/tool_lists.h"

#include <array>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "wrap/limits.h"

using aegis::mcp::Id;
using aegis::wrap::Relayed;
using aegis::wrap::ToolLists;
using nlohmann::json;
using Wanted = ToolLists::Wanted;

namespace {

constexpr std::array<std::string_view, 1> kHidden{"run_python"};

struct Bench {
  Relayed relay(std::string frame) {
    frame += '\n';
    return lists.relay(frame, reader.read_server(frame), {kHidden, R"({"name":"run_python"})"});
  }
  bool expect(std::string_view id, Wanted wanted = Wanted::tools) {
    return lists.expect({Id::Type::number, id}, wanted);
  }
  ToolLists lists;
  aegis::mcp::MessageReader reader;
};

std::string result(std::string_view id, std::string_view value) {
  return R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"result":)" + std::string(value) + "}";
}

}  // namespace

TEST_CASE("the requests whose answers are amended are these") {
  CHECK(ToolLists::wanted_by("tools/list") == Wanted::tools);
  CHECK(ToolLists::wanted_by("initialize") == Wanted::capabilities);
  CHECK(ToolLists::wanted_by("server/discover") == Wanted::capabilities);
  CHECK_FALSE(ToolLists::wanted_by("tools/call"));
  CHECK_FALSE(ToolLists::wanted_by("resources/list"));
}

TEST_CASE("a server that knows no tools/list has the broker's tools") {
  Bench bench;
  REQUIRE(bench.expect("1"));
  const Relayed relayed = bench.relay(
      R"({"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}})");
  REQUIRE(relayed.how == Relayed::How::replaced);
  const json answer = json::parse(relayed.frame);
  CHECK(answer["id"] == 1);
  CHECK(answer["result"]["tools"] == json::array({{{"name", "run_python"}}}));
}

TEST_CASE("another error crosses as it is") {
  Bench bench;
  REQUIRE(bench.expect("1"));
  CHECK(bench.relay(R"({"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"cursor"}})").how ==
        Relayed::How::as_it_is);
  CHECK(bench.lists.empty());
}

TEST_CASE("a list that cannot be amended is not relayed") {
  for (const std::string& frame :
       {result("1", R"({"tools":{}})"),
        result("1", "[]"),
        result("1", R"({"tools":[{"name":"a","name":"run_python"}]})"),
        std::string(R"({"id":1,"result":{"tools":[]},"error":{"code":1}})"),
        "[" + result("1", R"({"tools":[{"name":"run_python"}]})") + "]"}) {
    CAPTURE(frame);
    Bench bench;
    REQUIRE(bench.expect("1"));
    const Relayed relayed = bench.relay(frame);
    REQUIRE(relayed.how == Relayed::How::replaced);
    CHECK(relayed.is_unclear_list);
    const json answer = json::parse(relayed.frame);
    CHECK(answer["id"] == 1);
    CHECK(answer["error"]["code"] == -32042);
    CHECK(bench.lists.empty());
  }
}

TEST_CASE("while a list is awaited, what some reader may take for it goes to stderr") {
  Bench bench;
  for (const char* line : {R"({"jsonrpc":"2.0","id":1,"result":{"tools":[],"x":NaN}})",
                           "hello",
                           R"({"ID":1,"RESULT":{}})"}) {
    CAPTURE(line);
    CHECK(bench.relay(line).how == Relayed::How::as_it_is);
  }
  REQUIRE(bench.expect("1"));
  CHECK(bench.relay("").how == Relayed::How::as_it_is);
  for (const char* line : {R"({"jsonrpc":"2.0","id":1,"result":{"tools":[],"x":NaN}})",
                           "hello",
                           R"({"ID":1,"RESULT":{}})"}) {
    CAPTURE(line);
    CHECK(bench.relay(line).how == Relayed::How::to_errors);
  }
  CHECK_FALSE(bench.lists.empty());
}

TEST_CASE("capabilities gain tools, and are otherwise left alone") {
  Bench bench;
  REQUIRE(bench.expect("1", Wanted::capabilities));
  const Relayed relayed = bench.relay(result("1", R"({"capabilities":{"logging":{}}})"));
  REQUIRE(relayed.how == Relayed::How::replaced);
  CHECK(json::parse(relayed.frame)["result"]["capabilities"].contains("tools"));
  REQUIRE(bench.expect("1", Wanted::capabilities));
  CHECK(bench.relay(result("1", R"({"capabilities":{"tools":{"listChanged":true}}})")).how ==
        Relayed::How::as_it_is);
  REQUIRE(bench.expect("1", Wanted::capabilities));
  CHECK(bench.relay("a banner").how == Relayed::How::as_it_is);
  CHECK(bench.relay(result("1", "[]")).how == Relayed::How::as_it_is);
  CHECK(bench.lists.empty());
}

TEST_CASE("no more is remembered than there is room for") {
  Bench bench;
  const std::string huge(aegis::wrap::kMaxAwaitedBytes, '7');
  CHECK_FALSE(bench.expect(huge));
  for (std::size_t i = 0; i < aegis::wrap::kMaxAwaitedLists; ++i)
    REQUIRE(bench.expect(std::to_string(i)));
  CHECK_FALSE(bench.expect("1000"));
  bench.relay(result("5", R"({"tools":[]})"));
  CHECK(bench.expect("1000"));
}
