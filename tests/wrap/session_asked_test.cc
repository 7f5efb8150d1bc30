// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a server beside a broker is asked and may say: no two answers for one request, none that is
// waited for in vain, and no outcome that did not happen.
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/wrap/broker_bench.h"
#include "wrap/limits.h"

using aegis::mcp::RunEnd;
using aegis::wrap::answer;
using aegis::wrap::BrokerBench;
using aegis::wrap::BrokerTask;
using aegis::wrap::call;
using aegis::wrap::cancel;
using aegis::wrap::ended;
using aegis::wrap::Fate;
using aegis::wrap::kMaxAsked;
using aegis::wrap::LeftOut;
using aegis::wrap::Relayed;
using aegis::wrap::request;
using nlohmann::json;

namespace {

constexpr std::string_view kPython = R"(,"arguments":{"code":"1"})";

std::string progress(std::string_view token) {
  return R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"progressToken":)" +
         std::string(token) + "}}";
}
std::string with_token(std::string_view token) {
  return R"(,"_meta":{"progressToken":)" + std::string(token) + "}";
}

}  // namespace

TEST_CASE("a request beyond the bound is refused, and every one that was forwarded is answered") {
  BrokerBench bench;
  for (std::size_t i = 0; i < kMaxAsked; ++i)
    REQUIRE(bench.client(request(std::to_string(i), "ping")));
  CHECK_FALSE(bench.client(request("9999", "ping")));
  CHECK(bench.reply()["error"]["data"]["aegis"]["code"] == "RECORD_UNAVAILABLE");
  CHECK_FALSE(bench.client(call("9998", "theirs")));
  const json refused = bench.reply();
  CHECK(refused["id"] == 9998);
  CHECK(refused["error"]["message"].get<std::string>().find("8192 requests") != std::string::npos);
  CHECK_FALSE(bench.client("[" + request("9996", "ping") + "," + call("9997", "theirs") + "]"));
  CHECK(bench.reply().size() == 2);
  CHECK(bench.client(R"({"jsonrpc":"2.0","method":"notifications/x"})"));
  for (std::size_t i = 0; i < kMaxAsked; ++i)
    REQUIRE(bench.relay(answer(std::to_string(i))).relayed.how == Relayed::How::as_it_is);
  CHECK(bench.client(request("9999", "ping")));
  CHECK(bench.verdict() == "Verified (unpinned)");
  const auto outcomes = bench.lines("outcome");
  REQUIRE(outcomes.size() == 2);
  for (const json& each : outcomes) {
    CHECK(each["policy"]["reason"] == "record unavailable: too many requests in flight");
    CHECK(each["execution"] == json{{"reason", "not executed"}, {"status", "host_denied"}});
  }
}

TEST_CASE("what was cancelled makes room") {
  BrokerBench bench;
  for (std::size_t i = 0; i < kMaxAsked; ++i)
    REQUIRE(bench.client(request(std::to_string(i), "ping")));
  CHECK(bench.client(cancel("0")));
  CHECK(bench.client(request("9999", "ping")));
  CHECK_FALSE(bench.client(request("9998", "ping")));
  CHECK(bench.relay(answer("0")).relayed.left_out == LeftOut::unasked);
}

TEST_CASE("a call whose id the server has still to answer is not begun") {
  BrokerBench bench;
  CHECK(bench.client(call("1", "theirs")));
  for (const char* id : {"1", "1.0", R"("1")"}) {
    CAPTURE(id);
    CHECK_FALSE(bench.client(BrokerBench::operation(id, "run_python", kPython)));
    CHECK(bench.session.take_tasks().empty());
    const json reply = bench.reply();
    CHECK(reply["id"] == json::parse(id));
    CHECK(reply["result"]["structuredContent"]["code"] == "OPERATION_NOT_PERMITTED");
  }
  CHECK(bench.relay(answer("1")).relayed.how == Relayed::How::as_it_is);
  bench.begin_python("1");
  CHECK(bench.relay(answer("1")).relayed.left_out == LeftOut::unasked);
  CHECK(bench.verdict() == "Verified (unpinned)");
  const auto outcomes = bench.lines("outcome");
  CHECK(outcomes.at(0)["policy"]["reason"] == "OPERATION_NOT_PERMITTED");
}

TEST_CASE("a cancelled request's id can be used, and then the server cannot answer it any more") {
  BrokerBench bench;
  CHECK(bench.client(request("1", "ping")));
  CHECK(bench.client(cancel("1")));
  SUBCASE("until it is") {
    CHECK(bench.relay(answer("1")).relayed.how == Relayed::How::as_it_is);
  }
  SUBCASE("by a call of the broker's") {
    const BrokerTask task = bench.begin_python("1");
    CHECK(bench.relay(answer("1")).relayed.left_out == LeftOut::unasked);
    CHECK(bench.done(task.ticket, ended(RunEnd::Status::completed))["id"] == 1);
  }
}

TEST_CASE("a request with the id of a call that runs is refused") {
  BrokerBench bench;
  const BrokerTask task = bench.begin_python("1");
  for (const std::string& frame :
       {request("1", "ping"), request(R"("1")", "tools/list"), call("1.0", "theirs")}) {
    CAPTURE(frame);
    CHECK_FALSE(bench.client(frame));
    CHECK(bench.reply()["error"]["code"] == -32042);
  }
  CHECK_FALSE(bench.client("[" + request("1", "ping") + "," + request("2", "ping") + "]"));
  CHECK(bench.reply().size() == 2);
  CHECK(bench.relay(answer("1")).relayed.left_out == LeftOut::unasked);
  CHECK(bench.client(R"({"jsonrpc":"2.0","id":1,"result":{}})"));  // answers the server
  SUBCASE("until it is done") {
    CHECK(bench.done(task.ticket, ended(RunEnd::Status::completed))["id"] == 1);
    CHECK(bench.client(request("1", "ping")));
    CHECK(bench.relay(answer("1")).relayed.how == Relayed::How::as_it_is);
  }
  SUBCASE("until it is cancelled") {
    CHECK_FALSE(bench.client(cancel("1")));
    CHECK(bench.client(request("1", "ping")));
    CHECK(bench.done(task.ticket, ended(RunEnd::Status::cancelled)).is_null());
  }
  CHECK(bench.verdict() == "Verified (unpinned)");
  const json refused = bench.lines("outcome").at(0);
  CHECK(refused["tool_id"] == "theirs");
  CHECK(refused["policy"]["reason"] == "id of a broker call in flight");
  CHECK(refused["capability"]["reason"] == "id of a broker call in flight");
}

TEST_CASE("a request with the id of a call that came with the same read is refused") {
  BrokerBench bench;
  bench.session.client_frame(BrokerBench::operation("1", "run_python", kPython) + "\n", bench.now);
  CHECK(bench.session.client_frame(request("1", "ping") + "\n", bench.now) == Fate::drop);
  bench.session.recorded();
  CHECK(bench.reply()["error"]["code"] == -32042);
}

TEST_CASE("the server tells of no progress of a call that is not its own") {
  struct Row {
    const char* given;
    std::vector<const char*> same;
    std::vector<const char*> others;
  };
  const Row rows[] = {
      {"1",
       {"1",
        "1.0",
        R"("1")",
        R"("01")",
        R"(" 1\u00a0")",
        R"("1e0")",
        R"("0x1")",
        R"("0b01")",
        R"("0O1")",
        R"("+1.0")"},
       {"2", R"("2")", R"("x1")", R"("1-1")", "null", "true", R"("0b2")", R"("")"}},
      {"0", {"0", "-0", R"("")", R"(" ")"}, {"1"}},
      {R"("t\u0031")", {R"("t1")"}, {R"("T1")", R"("t")", "1"}},
      {R"("7")", {"7"}, {"8"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.given);
    BrokerBench bench;
    const BrokerTask task = bench.begin_python("5", with_token(row.given));
    for (const char* token : row.same) {
      CAPTURE(token);
      const auto seen = bench.relay(progress(token));
      CHECK(seen.relayed.how == Relayed::How::nothing);
      CHECK(seen.relayed.left_out == LeftOut::progress);
      CHECK_FALSE(seen.is_work);
    }
    for (const char* token : row.others) {
      CAPTURE(token);
      CHECK(bench.relay(progress(token)).relayed.how == Relayed::How::as_it_is);
    }
    bench.done(task.ticket, ended(RunEnd::Status::completed));
    CHECK(bench.relay(progress(row.given)).relayed.how == Relayed::How::as_it_is);
    CHECK(bench.last_outcome()["refusals"] ==
          json{"progress that the server told of a call of the broker's, not relayed"});
  }
}

TEST_CASE("a batch with such progress is left out, and who asked gets an error") {
  BrokerBench bench;
  bench.begin_python("5", with_token("5"));
  CHECK(bench.client(call("1", "theirs")));
  const auto seen = bench.relay("[" + answer("1") + "," + progress("5") + "]");
  REQUIRE(seen.relayed.how == Relayed::How::replaced);
  CHECK(seen.relayed.left_out == LeftOut::progress);
  CHECK(json::parse(seen.relayed.frame)["id"] == 1);
}

TEST_CASE(
    "a batch with a stale answer: each that was asked gets an error, and the record says so") {
  BrokerBench bench;
  CHECK(bench.client(call("1", "theirs")));
  const auto seen = bench.relay("[" + answer("1") + "," + answer("7") + "]");
  REQUIRE(seen.relayed.how == Relayed::How::replaced);
  CHECK(seen.relayed.left_out == LeftOut::batch);
  const json error = json::parse(seen.relayed.frame);
  CHECK(error["id"] == 1);
  CHECK(error["error"]["code"] == -32042);
  CHECK(seen.is_work);
  CHECK(bench.relay(answer("1")).relayed.how == Relayed::How::nothing);
  CHECK(bench.verdict() == "Verified (unpinned)");
  const json outcome = bench.lines("outcome").at(0);
  CHECK(outcome["execution"]["status"] == "host_denied");
  CHECK(outcome["execution"]["reason"].get<std::string>().find("its batch held") !=
        std::string::npos);
  CHECK_FALSE(outcome.contains("response_digest"));
}
