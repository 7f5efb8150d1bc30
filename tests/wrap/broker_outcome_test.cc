// SPDX-License-Identifier: Apache-2.0 OR MIT
// What an operation's end becomes on the record.
#include "wrap/broker_outcome.h"

#include <string>
#include <variant>

#include <doctest/doctest.h>

namespace {

using namespace aegis;
using aegis::wrap::Broker;
using aegis::wrap::BrokerOutcome;

audit::Outcome an_outcome() {
  return {.intent_seq = 1,
          .tool_id = "run_python",
          .request_digest = {},
          .policy_set_hash = {},
          .policy = audit::Allowed{},
          .capability = audit::GrantedEmpty{},
          .execution = audit::Success{},
          .axes = {},
          .response_digest = {},
          .response_bytes = {},
          .wall_ms = {}};
}

Broker::Done a_run(mcp::RunEnd::Status status) {
  mcp::RunEnd end;
  end.status = status;
  end.out = "planted";
  Broker::Done done;
  done.answer = end;
  done.grant = {{"workspace", "workspace/out"}, {"workspace/out"}, 100, 200, 300};
  done.path = "workspace/x.py";
  done.taken = std::chrono::milliseconds(42);
  return done;
}

std::string execution_of(const audit::Outcome& outcome) {
  if (const auto* bound = std::get_if<audit::ResourceExceeded>(&outcome.execution))
    return "exceeded " + std::string(bound->kind);
  if (const auto* denied = std::get_if<audit::HostDenied>(&outcome.execution))
    return "denied " + std::string(denied->reason);
  return std::holds_alternative<audit::Success>(outcome.execution) ? "success" : "trap";
}

TEST_CASE("the end of a run says what bound it met, and the grant is the one it ran under") {
  struct Row {
    mcp::RunEnd::Status status;
    const char* execution;
  };
  constexpr Row kRows[] = {
      {mcp::RunEnd::Status::completed, "success"},
      {mcp::RunEnd::Status::timeout, "exceeded time"},
      {mcp::RunEnd::Status::output_limit, "exceeded output"},
      {mcp::RunEnd::Status::cancelled, "denied cancelled by the client"},
  };
  for (const Row& row : kRows) {
    const BrokerOutcome told(a_run(row.status), "cancelled by the client");
    audit::Outcome outcome = an_outcome();
    told.put_into(outcome);
    CHECK(execution_of(outcome) == row.execution);
    CHECK(std::holds_alternative<audit::Allowed>(outcome.policy));
    const auto* granted = std::get_if<audit::GrantedByBroker>(&outcome.capability);
    REQUIRE(granted != nullptr);
    CHECK(granted->grant->read_paths.size() == 2);
    CHECK(granted->grant->write_paths[0] == "workspace/out");
    CHECK(granted->grant->max_memory_bytes == 100);
    CHECK(granted->grant->max_wall_ms == 200);
    CHECK(granted->grant->max_output_bytes == 300);
    CHECK(outcome.axes.path == "workspace/x.py");
    CHECK(outcome.wall_ms == 42);
  }
}

TEST_CASE("a run whose processes wanted too much memory met that bound") {
  Broker::Done done = a_run(mcp::RunEnd::Status::completed);
  std::get<mcp::RunEnd>(done.answer).memory_kills = 1;
  const BrokerOutcome told(std::move(done), "");
  audit::Outcome outcome = an_outcome();
  told.put_into(outcome);
  CHECK(execution_of(outcome) == "exceeded memory");
}

TEST_CASE("a refusal is told by its code alone: its sentence may name what the client wrote") {
  Broker::Done done;
  done.answer =
      mcp::Refused{mcp::BrokerCode::schema_validation_failure, "a planted word", "planted"};
  const BrokerOutcome told(std::move(done), "");
  audit::Outcome outcome = an_outcome();
  told.put_into(outcome);
  CHECK(std::get<audit::Denied>(outcome.policy).reason == "SCHEMA_VALIDATION_FAILURE");
  CHECK(std::get<audit::CapabilityDenied>(outcome.capability).reason ==
        "SCHEMA_VALIDATION_FAILURE");
  CHECK(execution_of(outcome) == "denied not executed");
  CHECK_FALSE(outcome.axes.path.has_value());
}

TEST_CASE("a grant fits into a Line: long lists and control characters become digests") {
  Broker::Done done = a_run(mcp::RunEnd::Status::completed);
  done.grant.read_paths.assign(100, "workspace/" + std::string(90, 'p'));
  done.grant.write_paths = {"workspace/new\nline", "workspace/plain"};
  done.path = "workspace/new\nline";
  const BrokerOutcome told(std::move(done), "");
  audit::Outcome outcome = an_outcome();
  told.put_into(outcome);
  const auto& grant = *std::get<audit::GrantedByBroker>(outcome.capability).grant;
  REQUIRE(grant.read_paths.size() == 1);
  CHECK(grant.read_paths[0].starts_with("<sha256:"));
  REQUIRE(grant.write_paths.size() == 2);
  CHECK(grant.write_paths[0].starts_with("<sha256:"));
  CHECK(grant.write_paths[1] == "workspace/plain");
  CHECK_FALSE(outcome.axes.path.has_value());
}

}  // namespace
