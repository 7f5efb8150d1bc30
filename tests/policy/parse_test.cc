// SPDX-License-Identifier: Apache-2.0 OR MIT
// What version 1 takes. What it refuses is tests/policy/refusal_test.cc's.
#include <string>

#include <doctest/doctest.h>

#include "policy/policy.h"
#include "tests/policy/refusals.h"

namespace aegis::policy {
namespace {

Policy load(std::string_view text, Purpose purpose = Purpose::wrap) {
  Loaded loaded = parse_policy(text, purpose);
  CAPTURE(text);
  REQUIRE(loaded.policy.has_value());
  return *std::move(loaded.policy);
}

TEST_CASE("every field of version 1 is read") {
  const Policy policy = load(
      "version: 1\ndefault: deny\nrules:\n"
      "  - id: no-shell\n    action: deny\n    tool: execute_command\n    role: \"*\"\n    "
      "priority: 10\n"
      "    reason: \"no shell on this host\"\n"
      "  - id: search-budget\n    action: rate_limit\n    tool: search\n    rate: { max: 100, "
      "per_seconds: 60 }\n"
      "  - id: small-writer\n    action: allow\n    tool: write_file\n    role: ops\n    priority: "
      "-3\n"
      "    limits: { max_memory_bytes: 33554432, max_wall_ms: 5000, max_output_bytes: 65536 }\n"
      "  - { id: ask, action: pending_approval, capability: fs.read }\n",
      Purpose::recheck);
  CHECK(policy.default_action() == Action::deny);
  REQUIRE(policy.rules().size() == 4);
  const Rule& shell = policy.rules()[0];
  CHECK(shell.id == "no-shell");
  CHECK(shell.action == Action::deny);
  CHECK(shell.tool == "execute_command");
  CHECK_FALSE(shell.role.has_value());
  CHECK_FALSE(shell.capability.has_value());
  CHECK(shell.priority == 10);
  CHECK(shell.reason == "no shell on this host");
  CHECK_FALSE(shell.rate.has_value());
  CHECK_FALSE(shell.limits.has_value());
  const Rule& budget = policy.rules()[1];
  CHECK(budget.action == Action::rate_limit);
  REQUIRE(budget.rate.has_value());
  CHECK(budget.rate->max == 100);
  CHECK(budget.rate->per_seconds == 60);
  CHECK(budget.priority == 0);
  CHECK(budget.reason.empty());
  const Rule& writer = policy.rules()[2];
  CHECK(writer.action == Action::allow);
  CHECK(writer.role == "ops");
  CHECK(writer.priority == -3);
  REQUIRE(writer.limits.has_value());
  CHECK(writer.limits->max_memory_bytes == 33554432U);
  CHECK(writer.limits->max_wall_ms == 5000U);
  CHECK(writer.limits->max_output_bytes == 65536U);
  CHECK(policy.rules()[3].action == Action::pending_approval);
  CHECK(policy.rules()[3].capability == "fs.read");
}

TEST_CASE("a JSON file, indented with tabs, is a policy") {
  const Policy policy = load(
      "{\n\t\"version\": 1,\n\t\"default\": \"deny\",\n\t\"rules\": [\n\t\t{\"id\": \"a\", "
      "\"action\":\"allow\", "
      "\"tool\": \"read\\/file\"}\n\t]\n}\n");
  CHECK(policy.default_action() == Action::deny);
  REQUIRE(policy.rules().size() == 1);
  CHECK(policy.rules()[0].tool == "read/file");
}

TEST_CASE("the default is allow when it is left out, and no rules is an answer when it is said") {
  const Policy policy = load("version: 1\nrules: []\n");
  CHECK(policy.default_action() == Action::allow);
  CHECK(policy.rules().empty());
}

TEST_CASE("a name is taken as it stands, whatever a reader of YAML may make of it elsewhere") {
  for (const std::string name :
       {"yes", "123", "1.10", "0x10", "true", "2001-01-01", "a b", "-x", "d\xC3\xA9j\xC3\xA0"}) {
    CAPTURE(name);
    const Policy policy = load(with_member("deny", "tool: " + name));
    CHECK(policy.rules()[0].tool == name);
  }
}

TEST_CASE("numbers are taken at their limits") {
  struct Row {
    std::string_view name;
    std::string member;
    std::string_view action;
  };
  const Row rows[] = {
      {"least priority", "priority: -2147483648", "deny"},
      {"highest priority", "priority: 2147483647", "deny"},
      {"priority of none", "priority: 0", "deny"},
      {"least rate", "rate: { max: 1, per_seconds: 1 }", "rate_limit"},
      {"highest rate", "rate: { max: 9007199254740991, per_seconds: 18446744073 }", "rate_limit"},
      {"limits of 0", "limits: { max_wall_ms: 0 }", "allow"},
      {"highest limit",
       "limits: { max_memory_bytes: 9007199254740991 }",
       "rate_limit\n    rate: { max: 1, per_seconds: 1 }"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    CHECK(parse_policy(with_member(row.action, row.member), Purpose::wrap).policy.has_value());
  }
  CHECK(load(with_member("deny", "priority: -2147483648")).rules()[0].priority == INT32_MIN);
}

TEST_CASE("texts are taken at their limits") {
  for (const std::string_view axis : {"tool", "role"}) {
    CAPTURE(axis);
    const std::string member = std::string(axis) + ": ";
    CHECK(parse_policy(with_member("deny", member + std::string(1024, 'x')), Purpose::wrap)
              .policy.has_value());
    CHECK_FALSE(parse_policy(with_member("deny", member + std::string(1025, 'x')), Purpose::wrap)
                    .policy.has_value());
  }
  CHECK(parse_policy(with_member("deny", "reason: " + std::string(4096, 'x')), Purpose::wrap)
            .policy.has_value());
}

TEST_CASE("an asterisk alone is the same as an axis that is left out, for both purposes") {
  for (const Purpose purpose : {Purpose::wrap, Purpose::recheck}) {
    const Policy policy =
        load(with_member("deny", "tool: \"*\"\n    role: '*'\n    capability: \"*\""), purpose);
    CHECK_FALSE(policy.rules()[0].tool.has_value());
    CHECK_FALSE(policy.rules()[0].role.has_value());
    CHECK_FALSE(policy.rules()[0].capability.has_value());
  }
}

}  // namespace
}  // namespace aegis::policy
