// SPDX-License-Identifier: Apache-2.0 OR MIT
// The session without a byte of I/O: what passes, what is refused in which words, and what is on
// the record.
#include "wrap/session.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/wrap/session_bench.h"

using aegis::wrap::answer;
using aegis::wrap::Bench;
using aegis::wrap::call;
using aegis::wrap::Ending;
using aegis::wrap::Fate;
using aegis::wrap::kSecond;
using aegis::wrap::Session;
using nlohmann::json;

namespace {

constexpr std::string_view kDenyEvil = R"(version: 1
rules:
  - id: no-evil
    action: deny
    tool: evil
    reason: it is evil
)";

}  // namespace

TEST_CASE("a call is an intent before it passes and an outcome after its answer") {
  Bench bench;
  CHECK(bench.session.client_frame(call("1", "echo") + "\n", bench.now) ==
        Fate::pass_when_recorded);
  CHECK(bench.session.needs_record());
  CHECK(bench.lines("intent").size() == 1);
  bench.session.recorded();
  CHECK(bench.session.in_flight() == 1);
  bench.server(answer("1"));
  CHECK(bench.session.is_quiet());
  CHECK(bench.verdict() == "Verified (unpinned)");
  const json outcome = bench.lines("outcome").at(0);
  CHECK(outcome["tool_id"] == "echo");
  CHECK(outcome["execution"]["status"] == "success");
  CHECK(outcome["policy"]["status"] == "allowed");
  CHECK(outcome["capability"]["grant"]["grant_id"] ==
        "wrap-passthrough-" + outcome["call_id"].get<std::string>());
  CHECK(outcome["response_bytes"] == answer("1").size());
  CHECK(bench.lines("close").at(0)["calls"] == 1);
}

TEST_CASE("an outcome waits until its answer has been written to the client") {
  Bench bench;
  bench.client(call("1", "echo"));
  const std::string frame = answer("1") + "\n";
  bench.session.server_frame({frame, 100}, Session::JudgeJson::no, bench.now);
  bench.session.delivered(99, bench.now);
  CHECK(bench.lines("outcome").empty());
  SUBCASE("delivered: with the answer's digest") {
    bench.session.delivered(100, bench.now);
    CHECK(bench.lines("outcome").at(0).contains("response_digest"));
  }
  SUBCASE("the client is gone: success, without a digest") {
    bench.session.client_gone();
    bench.session.delivered(99, bench.now);
    const json outcome = bench.lines("outcome").at(0);
    CHECK(outcome["execution"]["status"] == "success");
    CHECK_FALSE(outcome.contains("response_digest"));
    CHECK_FALSE(outcome.contains("response_bytes"));
  }
}

TEST_CASE("only a response with the same typed id closes a call") {
  Bench bench;
  bench.client(call("0", "number"));
  bench.client(call(R"("0")", "string"));
  bench.server(R"({"jsonrpc":"2.0","id":0,"method":"sampling/createMessage","params":{}})");
  bench.server(R"({"jsonrpc":"2.0","method":"notifications/message","params":{"id":0}})");
  CHECK(bench.session.in_flight() == 2);
  bench.server(R"({"jsonrpc":"2.0","id":"0","error":{"code":1,"message":"no"}})");
  CHECK(bench.session.in_flight() == 1);
  CHECK(bench.lines("outcome").at(0)["tool_id"] == "string");
  bench.server(answer("0"));
  CHECK(bench.session.in_flight() == 0);
}

TEST_CASE("of two calls with one id the answer closes the older") {
  Bench bench;
  bench.client(call("5", "first"));
  bench.client(call("5", "second"));
  bench.server(answer("5"));
  CHECK(bench.lines("outcome").at(0)["tool_id"] == "first");
  CHECK(bench.verdict() == "Verified (unpinned)");
}

TEST_CASE("without a policy everything passes, and what has no one certain reading is counted") {
  Bench bench;
  for (const char* frame :
       {"", "not json", "{\"a\":1,\"a\":2}", "[[]]", "\xff", "{\"method\":5}"}) {
    CAPTURE(frame);
    CHECK(bench.client(frame));
  }
  CHECK(bench.client(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","method":"ping"})"));
  CHECK(bench.client(
      R"({"jsonrpc":"2.0","id":2,"method":"ping","method":"tools/call","params":{"name":"x"}})"));
  CHECK(bench.client(R"({"jsonrpc":"2.0","id":3,"method":"tools/list"})"));
  CHECK(bench.session.take_replies().empty());
  CHECK(bench.verdict() == "Verified (unpinned)");
  CHECK(bench.lines("close").at(0)["unread"] == 8);
  // The likeliest reading of one of them was a call.
  REQUIRE(bench.lines("intent").size() == 1);
  CHECK(bench.lines("intent").at(0)["tool_id"] == "x");
}

TEST_CASE("a denied call is refused in words, never forwarded, and on the record") {
  Bench bench;
  bench.use(kDenyEvil);
  CHECK_FALSE(bench.client(call("7", "evil")));
  const json reply = bench.reply();
  CHECK(reply["id"] == 7);
  CHECK(reply["error"]["code"] == -32042);
  CHECK(reply["error"]["data"]["aegis"] == json{{"layer", "wrap"}, {"code", "POLICY_DENIED"}});
  const auto message = reply["error"]["message"].get<std::string>();
  for (const char* part : {"evil", "no-evil", "it is evil"}) {
    CHECK(message.find(part) != std::string::npos);
  }
  CHECK(bench.client(call("8", "good")));
  bench.server(answer("8"));
  CHECK(bench.verdict() == "Verified (unpinned)");
  const json outcome = bench.lines("outcome").at(0);
  CHECK(outcome["policy"] == json{{"reason", "it is evil"}, {"status", "denied"}});
  CHECK(outcome["capability"] ==
        json{{"reason", "policy blocked before capability"}, {"status", "denied"}});
  CHECK(outcome["execution"] == json{{"reason", "not executed"}, {"status", "host_denied"}});
  CHECK(outcome["decision_axes"] == json{{"matched_rule", "no-evil"}});
}

TEST_CASE("--refuse-as result answers a refused call with a tool result") {
  Bench bench({.refuse_as = aegis::mcp::RefuseAs::result});
  bench.use(kDenyEvil);
  CHECK_FALSE(bench.client(call("7", "evil")));
  const json reply = bench.reply();
  CHECK(reply["result"]["isError"] == true);
  CHECK(reply["result"]["resultType"] == "complete");
  // A frame that may be no call at all has no tool result.
  CHECK_FALSE(bench.client("{"));
  CHECK(bench.reply()["error"]["code"] == -32042);
}

TEST_CASE("a frame that the policy cannot read is refused and recorded") {
  Bench bench;
  bench.use(kDenyEvil);
  CHECK_FALSE(bench.client(
      R"({"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"good","name":"evil"}})"));
  const json reply = bench.reply();
  CHECK(reply["id"] == 9);
  CHECK(reply["error"]["data"]["aegis"]["code"] == "MALFORMED_FRAME");
  const json outcome = bench.outcome();
  CHECK(outcome["tool_id"] == "<unknown>");
  CHECK(outcome["policy"]["reason"].get<std::string>().find("malformed frame: ") == 0);
}

TEST_CASE("a malformed response to the server's own request is dropped and not answered") {
  Bench bench;
  bench.use(kDenyEvil);
  CHECK(bench.client(R"({"jsonrpc":"2.0","id":1,"result":{}})"));
  CHECK_FALSE(bench.client(R"({"jsonrpc":"2.0","id":1,"result":{},"result":{}})"));
  CHECK(bench.session.take_replies().empty());
  CHECK(bench.outcome()["execution"]["status"] == "host_denied");
}

TEST_CASE("a call without a tool's name is refused under a policy only") {
  const std::string frame = R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}})";
  Bench bench;
  SUBCASE("with one") {
    bench.use(kDenyEvil);
    CHECK_FALSE(bench.client(frame));
    CHECK(bench.reply()["error"]["data"]["aegis"]["code"] == "MALFORMED_CALL");
    const json outcome = bench.outcome();
    CHECK(outcome["policy"]["reason"] == "tools/call without a string params.name");
    CHECK(outcome["capability"]["reason"] == "tools/call without a string params.name");
    CHECK(outcome["tool_id"] == "<unknown>");
  }
  SUBCASE("without one") {
    CHECK(bench.client(frame));
    bench.server(answer("1"));
    const json outcome = bench.outcome();
    CHECK(outcome["policy"]["status"] == "allowed");
    CHECK(outcome["tool_id"] == "<unknown>");
    CHECK(outcome["execution"]["status"] == "success");
  }
}

TEST_CASE("a call without an id is recorded though no answer can come") {
  bool is_denied = false;
  SUBCASE("allowed") {
    is_denied = false;
  }
  SUBCASE("denied") {
    is_denied = true;
  }
  Bench bench;
  bench.use(kDenyEvil);
  const std::string tool = is_denied ? "evil" : "good";
  CHECK(bench.client(R"({"jsonrpc":"2.0","method":"tools/call","params":{"name":")" + tool +
                     "\"}}") == !is_denied);
  CHECK(bench.session.take_replies().empty());
  const json outcome = bench.outcome();
  CHECK(outcome["policy"]["status"] == (is_denied ? "denied" : "allowed"));
  CHECK(outcome["execution"]["reason"] == "no id: no answer can come");
}

TEST_CASE("a batch with a refused call is not forwarded, and each request in it is answered") {
  Bench bench;
  bench.use(kDenyEvil);
  const std::string batch = "[" + call("1", "good") + "," + call("2", "evil") +
                            R"(,{"jsonrpc":"2.0","id":3,"method":"ping"})" +
                            R"(,{"jsonrpc":"2.0","method":"notifications/initialized"}])";
  CHECK_FALSE(bench.client(batch));
  const json reply = bench.reply();
  REQUIRE(reply.size() == 3);
  CHECK(reply[0]["error"]["data"]["aegis"]["code"] == "BATCH_DENIED");
  CHECK(reply[1]["error"]["data"]["aegis"]["code"] == "POLICY_DENIED");
  CHECK(reply[2]["error"]["data"]["aegis"]["code"] == "BATCH_DENIED");
  CHECK(bench.verdict() == "Verified (unpinned)");
  const auto outcomes = bench.lines("outcome");
  REQUIRE(outcomes.size() == 2);
  CHECK(outcomes[0]["policy"]["reason"] == "batch holds a refused call");
  CHECK(outcomes[0]["request_digest"] == outcomes[1]["request_digest"]);
}

TEST_CASE("an allowed batch crosses whole; a batch answer closes one call per response") {
  Bench bench;
  CHECK(bench.client("[" + call("1", "a") + "," + call("2", "b") + "]"));
  CHECK(bench.session.in_flight() == 2);
  bench.server("[" + answer("2") + "," + answer("1") + "]");
  CHECK(bench.session.in_flight() == 0);
  CHECK(bench.verdict() == "Verified (unpinned)");
}

TEST_CASE("rates and approvals have their own codes and words") {
  Bench bench({.role = "ops"});
  bench.use(R"(version: 1
default: deny
rules:
  - {id: few, action: rate_limit, tool: search, role: ops, rate: {max: 1, per_seconds: 60}}
  - {id: ask, action: pending_approval, tool: write}
)");
  CHECK(bench.client(call("1", "search")));
  CHECK_FALSE(bench.client(call("2", "search")));
  CHECK(bench.reply()["error"]["data"]["aegis"]["code"] == "RATE_LIMITED");
  bench.now.mono_ns += 60 * kSecond;
  CHECK(bench.client(call("3", "search")));
  CHECK_FALSE(bench.client(call("4", "write")));
  const json pending = bench.reply();
  CHECK(pending["error"]["data"]["aegis"]["code"] == "PENDING_APPROVAL");
  CHECK_FALSE(bench.client(call("5", "other")));
  CHECK(bench.reply()["error"]["data"]["aegis"]["code"] == "POLICY_DENIED");
  bench.session.seal({Ending::client_closed, Ending::client_closed}, bench.now);
  const auto outcomes = bench.lines("outcome");
  REQUIRE(outcomes.size() == 5);
  CHECK(outcomes[0]["policy"]["status"] == "rate_limited");
  CHECK(outcomes[0]["decision_axes"] == json{{"matched_rule", "few"}, {"role", "ops"}});
  const auto approval = outcomes[1]["policy"]["approval_id"].get<std::string>();
  CHECK(outcomes[1]["decision_axes"]["approval_ref"] == approval);
  CHECK(pending["error"]["message"].get<std::string>().find(approval) != std::string::npos);
}

TEST_CASE("a re-read policy counts from the next frame on, and each outcome names its own") {
  Bench bench;
  bench.client(call("1", "evil"));
  bench.use(kDenyEvil);
  CHECK_FALSE(bench.client(call("2", "evil")));
  bench.server(answer("1"));
  bench.session.seal({Ending::client_closed, Ending::client_closed}, bench.now);
  const auto outcomes = bench.lines("outcome");
  REQUIRE(outcomes.size() == 2);
  CHECK(outcomes[0]["policy_set_hash"] != outcomes[1]["policy_set_hash"]);
}

TEST_CASE("without a record no call goes through, and what may be one neither") {
  Bench bench;
  SUBCASE("the intents of these frames could not be made durable") {
    const std::string batch =
        "[" + call("2", "b") + R"(,{"jsonrpc":"2.0","id":3,"method":"ping"}])";
    CHECK(bench.session.client_frame(call("1", "a") + "\n", bench.now) == Fate::pass_when_recorded);
    CHECK(bench.session.client_frame(batch + "\n", bench.now) == Fate::pass_when_recorded);
    bench.session.unrecorded(bench.now);
    CHECK(bench.session.in_flight() == 0);
    const std::string replies = bench.session.take_replies();
    const auto line_end = replies.find('\n');
    const json first = json::parse(replies.substr(0, line_end));
    const json second = json::parse(replies.substr(line_end + 1));
    CHECK(first["id"] == 1);
    CHECK(first["error"]["data"]["aegis"]["code"] == "RECORD_UNAVAILABLE");
    REQUIRE(second.size() == 2);
    CHECK(second[0]["error"]["data"]["aegis"]["code"] == "RECORD_UNAVAILABLE");
    CHECK(second[1]["error"]["data"]["aegis"]["code"] == "BATCH_DENIED");
    // Should the disk take Lines again, they tell what happened.
    CHECK(bench.verdict() == "Verified (unpinned)");
  }
  SUBCASE("the record is known to fail") {
    bench.session.set_record_available(/*is_available=*/false);
    CHECK_FALSE(bench.client(call("1", "a")));
    CHECK(bench.reply()["error"]["data"]["aegis"]["code"] == "RECORD_UNAVAILABLE");
    CHECK_FALSE(
        bench.client(R"({"id":1,"Method":"tools/call","method":"x","params":{"name":"a"}})"));
    CHECK(bench.client(R"({"jsonrpc":"2.0","id":2,"method":"tools/list"})"));
    CHECK(bench.lines("intent").empty());
  }
}

TEST_CASE("what is still open at the end is closed with the reason") {
  struct Row {
    Ending ending;
    const char* reason;
  };
  const Row rows[] = {
      {Ending::grace_ran_out,
       "client closed stdin; child did not answer within the shutdown grace"},
      {Ending::server_ended, "child exited before responding"},
      {Ending::server_oversize, "server frame over --max-frame"},
      {Ending::stopped, "wrap stopped before the child responded"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.reason);
    Bench bench;
    bench.client(call("1", "a"));
    bench.client(call("2", "b"));
    bench.client(
        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}})");
    bench.session.seal({row.ending, row.ending}, bench.now);
    const auto outcomes = bench.lines("outcome");
    REQUIRE(outcomes.size() == 2);
    CHECK(outcomes[0]["execution"]["reason"] == row.reason);
    CHECK(outcomes[1]["execution"]["reason"] == "cancelled by the client");
    CHECK(bench.verdict() == "Verified (unpinned)");
  }
}

TEST_CASE("a cancelled call that is answered after all is a success") {
  Bench bench;
  bench.client(call("1", "a"));
  bench.client(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})");
  bench.server(answer("1"));
  CHECK(bench.outcome()["execution"]["status"] == "success");
}

TEST_CASE("a call that is cancelled by the same read is closed as cancelled") {
  Bench bench;
  CHECK(bench.session.client_frame(call("1", "a") + "\n", bench.now) == Fate::pass_when_recorded);
  bench.session.client_frame(
      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})"
      "\n",
      bench.now);
  bench.session.recorded();
  CHECK(bench.outcome()["execution"]["reason"] == "cancelled by the client");
}

TEST_CASE("the close tells what began the end, the calls what ended them") {
  Bench bench;
  bench.client(call("1", "a"));
  bench.session.seal({Ending::server_ended, Ending::client_oversize}, bench.now);
  CHECK(bench.lines("outcome").at(0)["execution"]["reason"] == "child exited before responding");
  CHECK(bench.lines("close").at(0)["reason"] == "client frame over --max-frame");
}

TEST_CASE("a server killed by a filter is a trap that names the signal") {
  Bench bench;
  bench.client(call("1", "a"));
  bench.session.seal({Ending::server_trapped, Ending::server_trapped}, bench.now);
  const json execution = bench.lines("outcome").at(0)["execution"];
  CHECK(execution["status"] == "trap");
  CHECK(execution["message"].get<std::string>().find("SIGSYS") != std::string::npos);
}
