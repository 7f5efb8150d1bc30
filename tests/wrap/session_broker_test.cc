// SPDX-License-Identifier: Apache-2.0 OR MIT
// A session with a broker in it, and no broker: what it would be told to do, what is made of its
// answers, and what is on the record.
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/wrap/broker_bench.h"
using aegis::mcp::BrokerCode;
using aegis::mcp::FileText;
using aegis::mcp::Refused;
using aegis::mcp::RunEnd;
using aegis::wrap::answer;
using aegis::wrap::Broker;
using aegis::wrap::broker_hash;
using aegis::wrap::BrokerBench;
using aegis::wrap::BrokerTask;
using aegis::wrap::call;
using aegis::wrap::cancel;
using aegis::wrap::ended;
using aegis::wrap::Ending;
using aegis::wrap::Fate;
using aegis::wrap::kSecond;
using aegis::wrap::LeftOut;
using aegis::wrap::list_of;
using aegis::wrap::Relayed;
using aegis::wrap::request;
using nlohmann::json;

TEST_CASE("a call of an operation goes to the broker once it is on the record, never further") {
  BrokerBench bench;
  const std::string frame =
      BrokerBench::operation("1", "read_text", R"(,"arguments":{"path":"a.txt","max_bytes":5})");
  CHECK(bench.session.client_frame(frame + "\n", bench.now) == Fate::drop);
  CHECK(bench.session.needs_record());
  CHECK(bench.session.take_tasks().empty());
  bench.session.recorded();
  const auto tasks = bench.session.take_tasks();
  REQUIRE(tasks.size() == 1);
  const auto& parameters = std::get<aegis::mcp::ReadText>(tasks[0].request.parameters);
  CHECK(parameters.path == "a.txt");
  CHECK(parameters.max_bytes == 5);
  CHECK(bench.session.brokered() == 1);

  const json reply = bench.done(tasks[0].ticket, FileText{"a.txt", "hello"});
  CHECK(reply["id"] == 1);
  CHECK(reply["result"]["content"][0]["text"].get<std::string>().find("hello") !=
        std::string::npos);
  CHECK(bench.session.brokered() == 0);
  CHECK(bench.verdict() == "Verified (unpinned)");
  const json outcome = bench.lines("outcome").at(0);
  CHECK(outcome["tool_id"] == "read_text");
  CHECK(outcome["policy_set_hash"] == aegis::audit::to_hex(broker_hash.bytes));
  CHECK(outcome["capability"]["grant"]["fs"]["read_paths"] == json{"workspace"});
  CHECK(outcome["capability"]["grant"]["max_wall_ms"] == 15'000);
  CHECK(outcome["grant_id"] == "broker-" + outcome["call_id"].get<std::string>());
  CHECK(outcome["decision_axes"]["fs"]["path_canonical"] == "workspace/a.txt");
  CHECK(outcome["execution"]["status"] == "success");
  CHECK(outcome["wall_ms"] == 7);
}

TEST_CASE("the outcome waits until our answer has been written") {
  BrokerBench bench;
  const BrokerTask task = bench.begin_python("1");
  Broker::Done done;
  done.ticket = task.ticket;
  done.answer = ended(RunEnd::Status::completed);
  bench.session.broker_done(std::move(done), 1000);
  const std::string frame = bench.session.take_replies();
  bench.session.delivered(1000 + frame.size() - 1, bench.now);
  CHECK(bench.lines("outcome").empty());
  bench.session.delivered(1000 + frame.size(), bench.now);
  const json outcome = bench.lines("outcome").at(0);
  CHECK(outcome["response_bytes"] == frame.size() - 1);
  CHECK(outcome["response_digest"] ==
        aegis::audit::to_hex(
            aegis::audit::FrameDigest::of(std::string_view(frame).substr(0, frame.size() - 1))
                .bytes));
}

TEST_CASE("nothing that was asked or answered is on the record") {
  BrokerBench bench;
  const BrokerTask task = bench.begin_python("1");
  bench.done(task.ticket, ended(RunEnd::Status::completed));
  // A member's name that is the client's own invention is as secret as its values.
  CHECK_FALSE(
      bench.client(BrokerBench::operation("2", "run_python", R"(,"arguments":{"sekrit":1})")));
  CHECK(bench.verdict() == "Verified (unpinned)");
  CHECK(bench.sink.text.find("sekrit") == std::string::npos);
  CHECK(bench.lines("outcome").size() == 2);
}

TEST_CASE("arguments that are none are refused as a tool result, whatever --refuse-as says") {
  BrokerBench bench;
  for (const char* params : {"", R"(,"arguments":null)", R"(,"arguments":{"path":1})"}) {
    CAPTURE(params);
    CHECK_FALSE(bench.client(BrokerBench::operation("1", "read_text", params)));
    const json reply = bench.reply();
    CHECK(reply["id"] == 1);
    CHECK(reply["result"]["isError"] == true);
    CHECK(reply["result"]["structuredContent"]["code"] == "SCHEMA_VALIDATION_FAILURE");
  }
  CHECK(bench.session.take_tasks().empty());
  const json outcome = bench.last_outcome();
  CHECK(outcome["policy"] == json{{"reason", "SCHEMA_VALIDATION_FAILURE"}, {"status", "denied"}});
  CHECK(outcome["capability"] == outcome["policy"]);
  CHECK(outcome["execution"] == json{{"reason", "not executed"}, {"status", "host_denied"}});
  CHECK_FALSE(outcome.contains("response_digest"));
}

TEST_CASE("a refusal of the broker's is on the record as a denial by its policy") {
  BrokerBench bench;
  const BrokerTask task = bench.begin_python("1");
  const json reply =
      bench.done(task.ticket, Refused{BrokerCode::sandbox_unavailable, "no user namespaces"});
  CHECK(reply["result"]["structuredContent"]["code"] == "SANDBOX_UNAVAILABLE");
  const json outcome = bench.last_outcome();
  CHECK(outcome["policy"]["reason"] == "SANDBOX_UNAVAILABLE");
  CHECK(outcome["capability"]["reason"] == "SANDBOX_UNAVAILABLE");
  CHECK_FALSE(outcome["decision_axes"].contains("fs"));
}

TEST_CASE("other calls and names are the server's business, strictly read") {
  BrokerBench bench;
  CHECK(bench.client(call("1", "list_dir")));  // not offered
  CHECK(bench.client(call("2", "Run_python")));
  CHECK(bench.client(call("3", "run_python ")));
  CHECK_FALSE(
      bench.client(R"({"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":5}})"));
  CHECK(bench.reply()["error"]["data"]["aegis"]["code"] == "MALFORMED_CALL");
  CHECK_FALSE(bench.client(
      R"({"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"x","name":"run_python"}})"));
  CHECK(bench.reply()["error"]["data"]["aegis"]["code"] == "MALFORMED_FRAME");
  CHECK_FALSE(bench.client(
      R"({"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"run_pyth\u006fn"}})"));
  CHECK(bench.reply()["result"]["isError"] == true);
  CHECK(bench.session.take_tasks().empty());
}

TEST_CASE("the rules come first: what they deny is neither begun nor listed") {
  BrokerBench bench;
  bench.use(
      "version: 1\nrules:\n  - {id: no, action: deny, tool: run_python}\n"
      "  - {id: few, action: rate_limit, tool: read_text, rate: {max: 1, per_seconds: 60}}\n"
      "  - {id: rest, action: allow, tool: '*'}\n");
  CHECK_FALSE(bench.client(call("1", "run_python")));
  CHECK(bench.reply()["error"]["data"]["aegis"]["code"] == "POLICY_DENIED");
  CHECK(bench.session.take_tasks().empty());

  CHECK(bench.client(request("2", "tools/list")));
  const auto seen = bench.relay(list_of("2", R"({"name":"run_python"},{"name":"other"})"));
  REQUIRE(seen.relayed.how == Relayed::How::replaced);
  const json tools = json::parse(seen.relayed.frame)["result"]["tools"];
  REQUIRE(tools.size() == 2);
  CHECK(tools[0]["name"] == "other");
  CHECK(tools[1]["name"] == "read_text");

  const BrokerTask task = bench.begin("3", "read_text", R"(,"arguments":{"path":"a"})");
  CHECK_FALSE(
      bench.client(BrokerBench::operation("4", "read_text", R"(,"arguments":{"path":"a"})")));
  CHECK(bench.reply()["error"]["data"]["aegis"]["code"] == "RATE_LIMITED");
  bench.done(task.ticket, FileText{"a", "x"});
  CHECK(bench.verdict() == "Verified (unpinned)");
  CHECK(bench.lines("outcome").at(0)["policy_set_hash"] != aegis::audit::to_hex(broker_hash.bytes));
  CHECK(bench.lines("outcome").back()["decision_axes"]["matched_rule"] == "few");
}

TEST_CASE("without a record nothing is begun") {
  BrokerBench bench;
  CHECK(bench.session.client_frame(
            BrokerBench::operation("1", "read_text", R"(,"arguments":{"path":"a"})") + "\n",
            bench.now) == Fate::drop);
  bench.session.unrecorded(bench.now);
  CHECK(bench.reply()["error"]["data"]["aegis"]["code"] == "RECORD_UNAVAILABLE");
  CHECK(bench.session.take_tasks().empty());
  bench.session.set_record_available(/*is_available=*/false);
  CHECK_FALSE(
      bench.client(BrokerBench::operation("2", "read_text", R"(,"arguments":{"path":"a"})")));
  CHECK(bench.reply()["error"]["data"]["aegis"]["code"] == "RECORD_UNAVAILABLE");
  CHECK(bench.session.take_tasks().empty());
}

TEST_CASE("a call without an id is not begun, for nobody could be answered") {
  BrokerBench bench;
  CHECK_FALSE(bench.client(
      R"({"jsonrpc":"2.0","method":"tools/call","params":{"name":"run_python","arguments":{"code":"1"}}})"));
  CHECK(bench.session.take_replies().empty());
  CHECK(bench.session.take_tasks().empty());
  CHECK(bench.last_outcome()["policy"]["status"] == "denied");
}

TEST_CASE("a batch that concerns the broker is refused whole") {
  BrokerBench bench;
  for (const std::string& other : {call("2", "run_python"), request("2", "tools/list")}) {
    CAPTURE(other);
    CHECK_FALSE(bench.client("[" + call("1", "other") + "," + other + "]"));
    const json reply = bench.reply();
    REQUIRE(reply.size() == 2);
    for (const json& each : reply)
      CHECK(each["error"]["data"]["aegis"]["code"] == "BATCH_DENIED");
  }
  CHECK(bench.client("[" + call("3", "other") + "," + call("4", "another") + "]"));
  bench.server("[" + answer("3") + "," + answer("4") + "]");
  CHECK(bench.session.take_tasks().empty());
  CHECK(bench.verdict() == "Verified (unpinned)");
  const json outcome = bench.lines("outcome").at(1);
  CHECK(outcome["policy"]["reason"] == "batch holds a broker call");
  CHECK(outcome["capability"]["reason"] == "batch holds a broker call");
}

TEST_CASE("a client that cancels a run gets no answer, and the server hears nothing of it") {
  BrokerBench bench;
  const BrokerTask task = bench.begin_python(R"("x")");
  CHECK(bench.client(cancel(R"("y")")));
  CHECK_FALSE(bench.client(cancel(R"("x")")));
  CHECK(bench.session.take_cancelled() == std::vector<std::uint64_t>{task.ticket});
  SUBCASE("it ends cancelled") {
    CHECK(bench.done(task.ticket, ended(RunEnd::Status::cancelled)).is_null());
    CHECK(bench.last_outcome()["execution"] ==
          json{{"reason", "cancelled by the client"}, {"status", "host_denied"}});
  }
  SUBCASE("it had ended before") {
    CHECK(bench.done(task.ticket, ended(RunEnd::Status::completed)).is_null());
    const json outcome = bench.last_outcome();
    CHECK(outcome["execution"]["status"] == "success");
    CHECK_FALSE(outcome.contains("response_digest"));
  }
  CHECK(bench.verdict() == "Verified (unpinned)");
}

TEST_CASE("who has not cancelled is answered even if something else has ended the run") {
  BrokerBench bench;
  const BrokerTask task = bench.begin_python("1");
  const json reply = bench.done(task.ticket, ended(RunEnd::Status::cancelled));
  CHECK(reply["id"] == 1);
  CHECK(reply["result"]["isError"] == true);
  const json outcome = bench.last_outcome();
  CHECK(outcome["execution"]["reason"] == "its own process was ended from outside");
}

TEST_CASE("a call that is cancelled by the same read is not begun") {
  BrokerBench bench;
  bench.session.client_frame(
      BrokerBench::operation("1", "run_python", R"(,"arguments":{"code":"1"})") + "\n", bench.now);
  CHECK(bench.session.client_frame(cancel("1") + "\n", bench.now) == Fate::drop);
  bench.session.recorded();
  CHECK(bench.session.take_tasks().empty());
  CHECK(bench.session.take_cancelled().empty());
  CHECK(bench.session.take_replies().empty());
  CHECK(bench.last_outcome()["execution"]["reason"] == "cancelled by the client");
}

TEST_CASE("what is still running when the session ends is on the record") {
  BrokerBench bench;
  const BrokerTask first = bench.begin_python("1");
  bench.begin_python("2");
  bench.session.end_broker(Ending::stopped);
  CHECK(bench.done(first.ticket, ended(RunEnd::Status::cancelled)).is_null());
  bench.session.seal({Ending::stopped, Ending::stopped}, bench.now);
  CHECK(bench.session.take_replies().empty());
  CHECK(bench.verdict() == "Verified (unpinned)");
  const auto outcomes = bench.lines("outcome");
  REQUIRE(outcomes.size() == 2);
  for (const json& each : outcomes)
    CHECK(each["execution"]["reason"] == "wrap stopped before it was done");
  CHECK(outcomes[0]["capability"]["grant"]["fs"]["read_paths"] == json{"workspace"});
  // One that comes too late changes nothing.
  bench.done(first.ticket, ended(RunEnd::Status::completed));
}

TEST_CASE("who gave a token is told of progress once a second") {
  BrokerBench bench;
  bench.begin_python("1");
  CHECK_FALSE(bench.session.next_progress_ns());
  const BrokerTask task = bench.begin_python("2", R"(,"_meta":{"progressToken":"t"})");
  const std::uint64_t began = bench.now.mono_ns;
  CHECK(bench.session.next_progress_ns() == began + kSecond);
  bench.session.report_progress(bench.now);
  CHECK(bench.session.take_replies().empty());
  bench.now.mono_ns = began + 2 * kSecond + 5;  // a loop that was late
  bench.session.report_progress(bench.now);
  const json notification = bench.reply();
  CHECK(notification["method"] == "notifications/progress");
  CHECK(notification["params"]["progressToken"] == "t");
  CHECK(notification["params"]["progress"] == 2);
  CHECK(notification["params"]["total"] == 15);
  CHECK(bench.session.next_progress_ns() == began + 3 * kSecond);
  bench.client(cancel("2"));
  CHECK_FALSE(bench.session.next_progress_ns());
  bench.done(task.ticket, ended(RunEnd::Status::cancelled));
}

TEST_CASE("the server's list gets the tools, and its own of the same names are gone, said once") {
  BrokerBench bench;
  for (const char* id : {"1", "2"}) {
    CHECK(bench.client(request(id, "tools/list")));
    const auto seen = bench.relay(list_of(id, R"({"name":"run_python","x":1},{"name":"own"})"));
    REQUIRE(seen.relayed.how == Relayed::How::replaced);
    CHECK(json::parse(seen.relayed.frame)["result"]["tools"].size() == 3);
    CHECK(seen.notes.size() == (std::string(id) == "1" ? 1 : 0));
  }
  bench.done(bench.begin_python("3").ticket, ended(RunEnd::Status::completed));
  bench.done(bench.begin_python("4").ticket, ended(RunEnd::Status::completed));
  CHECK(bench.verdict() == "Verified (unpinned)");
  const auto outcomes = bench.lines("outcome");
  REQUIRE(outcomes.at(0)["refusals"].size() == 1);
  CHECK(outcomes.at(0)["refusals"][0].get<std::string>().find("run_python") != std::string::npos);
  CHECK_FALSE(outcomes.at(1).contains("refusals"));
}

TEST_CASE("the server cannot answer a call of the broker's in its stead") {
  BrokerBench bench;
  const BrokerTask task = bench.begin_python("7");
  for (const std::string& frame : {answer("7"), answer(R"("7")"), "[" + answer("7") + "]"}) {
    CAPTURE(frame);
    CHECK(bench.relay(frame).relayed.how == Relayed::How::nothing);
  }
  CHECK(bench.done(task.ticket, ended(RunEnd::Status::completed))["id"] == 7);
  CHECK(bench.relay(answer("7")).relayed.how == Relayed::How::nothing);
  CHECK(bench.client(request("7", "ping")));
  CHECK(bench.relay(answer("7")).relayed.how == Relayed::How::as_it_is);
  CHECK(bench.last_outcome()["refusals"] ==
        json{"an answer of the server's to what it was not asked, not relayed"});
}

TEST_CASE("what the server was not asked it cannot answer") {
  BrokerBench bench;
  CHECK(bench.client(request("1", "tools/list")));
  const auto seen = bench.relay(list_of("2", ""));
  CHECK(seen.relayed.how == Relayed::How::nothing);
  CHECK(seen.relayed.left_out == LeftOut::unasked);
  CHECK(bench.relay(R"({"jsonrpc":"2.0","method":"notifications/message"})").relayed.how ==
        Relayed::How::as_it_is);
  CHECK(bench.relay(list_of("1", "")).relayed.how == Relayed::How::replaced);
  const auto again = bench.relay(list_of("1", ""));
  CHECK(again.relayed.how == Relayed::How::nothing);
  CHECK(again.relayed.left_out == LeftOut::unasked);
}

TEST_CASE("who asked gets an error for an answer that is not clear, and the record says so") {
  BrokerBench bench;
  CHECK(bench.client(call("1", "theirs")));
  const auto seen = bench.relay(R"({"jsonrpc":"2.0","id":1,"result":{},"Result":{"x":1}})");
  CHECK(seen.relayed.how == Relayed::How::replaced);
  CHECK(json::parse(seen.relayed.frame)["id"] == 1);
  CHECK(json::parse(seen.relayed.frame)["error"]["code"] == -32042);
  CHECK(seen.relayed.left_out == LeftOut::unclear);
  bench.session.delivered(UINT64_MAX, bench.now);
  CHECK(bench.last_outcome()["execution"]["status"] == "host_denied");
  // Asked once, answered once.
  CHECK(bench.relay(R"({"jsonrpc":"2.0","id":1,"id":2,"result":{}})").relayed.how ==
        Relayed::How::nothing);
}
