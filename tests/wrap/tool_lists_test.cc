// SPDX-License-Identifier: Apache-2.0 OR MIT
// What becomes of the answers into which the broker's tools belong, good and bad ones.
#include "wrap/tool_lists.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "mcp/peek.h"

using aegis::mcp::Id;
using aegis::wrap::LeftOut;
using aegis::wrap::Relayed;
using aegis::wrap::ToolLists;
using nlohmann::json;
using Wanted = ToolLists::Wanted;

namespace {

constexpr std::array<std::string_view, 1> kHidden{"run_python"};

struct Bench {
  Relayed relay(std::string frame) {
    frame += '\n';
    const auto peek = aegis::mcp::peek_server(frame);
    REQUIRE(peek.form != aegis::mcp::ServerPeek::Form::unclear);
    return lists.relay(frame, peek, {kHidden, R"({"name":"run_python"})"});
  }
  void expect(std::string_view id, Wanted wanted = Wanted::tools) {
    lists.asked().add({id.front() == '"' ? Id::Type::string : Id::Type::number, id}, wanted);
  }
  ToolLists lists;
};

std::string result(std::string_view id, std::string_view value) {
  return R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"result":)" + std::string(value) + "}";
}

}  // namespace

TEST_CASE("the requests whose answers are amended are these") {
  CHECK(ToolLists::wanted_by("tools/list") == Wanted::tools);
  CHECK(ToolLists::wanted_by("initialize") == Wanted::capabilities);
  CHECK(ToolLists::wanted_by("server/discover") == Wanted::capabilities);
  CHECK(ToolLists::wanted_by("tools/call") == Wanted::other);
  CHECK(ToolLists::wanted_by("resources/list") == Wanted::other);
}

TEST_CASE("a server that knows no tools/list has the broker's tools") {
  Bench bench;
  bench.expect("1");
  const Relayed relayed = bench.relay(
      R"({"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}})");
  REQUIRE(relayed.how == Relayed::How::replaced);
  const json answer = json::parse(relayed.frame);
  CHECK(answer["id"] == 1);
  CHECK(answer["result"]["tools"] == json::array({{{"name", "run_python"}}}));
}

TEST_CASE("another error crosses as it is") {
  Bench bench;
  bench.expect("1");
  CHECK(bench.relay(R"({"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"cursor"}})").how ==
        Relayed::How::as_it_is);
}

TEST_CASE("a list that cannot be amended is not relayed") {
  for (const std::string& frame :
       {result("1", R"({"tools":{}})"),
        result("1", "[]"),
        result("1", R"({"tools":[{"name":"a","name":"run_python"}]})"),
        "[" + result("1", R"({"tools":[{"name":"run_python"}]})") + "]"}) {
    CAPTURE(frame);
    Bench bench;
    bench.expect("1");
    const Relayed relayed = bench.relay(frame);
    REQUIRE(relayed.how == Relayed::How::replaced);
    CHECK(relayed.left_out == LeftOut::unclear_list);
    const json answer = json::parse(relayed.frame);
    CHECK(answer["id"] == 1);
    CHECK(answer["error"]["code"] == -32042);
  }
}

TEST_CASE("who asked for what is left out gets an error, once") {
  Bench bench;
  bench.expect("1", Wanted::other);
  const std::vector<Id> answered{{Id::Type::number, "1"}, {Id::Type::number, "2"}, {}};
  const Relayed relayed = bench.lists.leave_out(answered, LeftOut::unclear);
  REQUIRE(relayed.how == Relayed::How::replaced);
  CHECK(json::parse(relayed.frame)["id"] == 1);
  CHECK(relayed.refused.size() == 1);
  const Relayed again = bench.lists.leave_out(answered, LeftOut::unclear);
  CHECK(again.how == Relayed::How::nothing);
  CHECK(again.left_out == LeftOut::unclear);
}

TEST_CASE("messages that answer nothing cross") {
  Bench bench;
  bench.expect("1");
  CHECK(bench.relay(R"({"jsonrpc":"2.0","id":1,"method":"ping"})").how == Relayed::How::as_it_is);
  CHECK(bench.relay(R"([{"jsonrpc":"2.0","method":"x"}])").how == Relayed::How::as_it_is);
  CHECK(bench.lists.asked().awaits_tools());
}

TEST_CASE("only answers to what was asked are relayed, and once") {
  Bench bench;
  for (const char* id : {"1", R"("1")", "1.0", "null", "true", R"("x")"}) {
    CAPTURE(id);
    const Relayed relayed = bench.relay(result(id, "{}"));
    CHECK(relayed.how == Relayed::How::nothing);
    CHECK(relayed.left_out == LeftOut::unasked);
  }
  CHECK(bench.relay(R"({"jsonrpc":"2.0","error":{}})").left_out == LeftOut::unasked);
  bench.expect("1", Wanted::other);
  bench.expect(R"("x")", Wanted::other);
  CHECK(bench.relay("[" + result("1", "{}") + "," + result(R"("x")", "{}") + "]").how ==
        Relayed::How::as_it_is);
  bench.expect("1", Wanted::other);
  CHECK(bench.relay(result("1", "{}")).how == Relayed::How::as_it_is);
  CHECK(bench.relay(result("1", "{}")).left_out == LeftOut::unasked);
}

TEST_CASE("of a batch that may not pass each message that was asked for is answered by an error") {
  struct Row {
    std::string other;
    LeftOut why;
  };
  for (const Row& row : {Row{result("7", "{}"), LeftOut::batch},
                         Row{result("1", "{}"), LeftOut::batch},
                         Row{R"({"jsonrpc":"2.0","error":{}})", LeftOut::batch},
                         Row{result("5", R"({"tools":[]})"), LeftOut::unclear_list}}) {
    CAPTURE(row.other);
    Bench bench;
    bench.expect("1", Wanted::other);
    bench.expect("5");
    const Relayed relayed = bench.relay("[" + row.other + "," + result("1", "{}") + "]");
    REQUIRE(relayed.how == Relayed::How::replaced);
    CHECK(relayed.left_out == row.why);
    const std::size_t errors = row.why == LeftOut::unclear_list ? 2 : 1;
    CHECK(relayed.refused.size() == errors);
    const auto first = relayed.frame.substr(0, relayed.frame.find('\n'));
    CHECK(json::parse(first)["id"] == (errors == 2 ? 5 : 1));
    CHECK(json::parse(first)["error"]["code"] == -32042);
    CHECK(bench.relay(result("1", "{}")).left_out == LeftOut::unasked);
  }
}

TEST_CASE("an answer whose id is the number in quotes is amended like any") {
  Bench bench;
  bench.expect("1000");
  const Relayed relayed =
      bench.relay(result(R"("1000")", R"({"tools":[{"name":"run_python","x":1}]})"));
  REQUIRE(relayed.how == Relayed::How::replaced);
  CHECK(relayed.hidden == std::vector<std::string>{"run_python"});
}

TEST_CASE("capabilities gain tools, and are otherwise left alone") {
  Bench bench;
  bench.expect("1", Wanted::capabilities);
  const Relayed relayed = bench.relay(result("1", R"({"capabilities":{"logging":{}}})"));
  REQUIRE(relayed.how == Relayed::How::replaced);
  CHECK(json::parse(relayed.frame)["result"]["capabilities"].contains("tools"));
  bench.expect("1", Wanted::capabilities);
  CHECK(bench.relay(result("1", R"({"capabilities":{"tools":{"listChanged":true}}})")).how ==
        Relayed::How::as_it_is);
  bench.expect("1", Wanted::capabilities);
  CHECK(bench.relay(result("1", "[]")).how == Relayed::How::as_it_is);
}
