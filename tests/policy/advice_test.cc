// SPDX-License-Identifier: Apache-2.0 OR MIT
// Warnings: the policy is used all the same.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "policy/policy.h"
#include "tests/policy/refusals.h"

namespace aegis::policy {
namespace {

struct AdviceRow {
  std::string_view name;
  std::string rules;  // from line 3
  std::vector<std::string> expected;
  Purpose purpose = Purpose::wrap;
};

void check_advice(const AdviceRow& row) {
  CAPTURE(row.name);
  const Loaded loaded = parse_policy("version: 1\nrules:\n" + row.rules, row.purpose);
  REQUIRE(loaded.policy.has_value());
  for (const Diagnostic& each : loaded.diagnostics)
    CHECK(each.severity == Diagnostic::Severity::warning);
  const std::vector<std::string> found = describe_all(loaded);
  REQUIRE(found.size() == row.expected.size());
  for (std::size_t at = 0; at < found.size(); ++at)
    CHECK(found[at] == row.expected[at]);
}

TEST_CASE("what a rule does not do yet is said where it is loaded") {
  const std::string nobody =
      "nobody can approve a call yet: what this rule decides is refused, with an id to ask by";
  const AdviceRow rows[] = {
      {"pending_approval",
       "  - { id: a, action: pending_approval, tool: t }\n",
       {"3:22:rules[0].action: " + nobody}},
      {"pending_approval for recheck",
       "  - { id: a, action: pending_approval, tool: t }\n",
       {"3:22:rules[0].action: " + nobody},
       Purpose::recheck},
      {"limits in wrap",
       "  - { id: a, action: allow, limits: { max_wall_ms: 1 } }\n",
       {"3:37:rules[0].limits: limits bind nothing in wrap yet"}},
      {"limits for recheck",
       "  - { id: a, action: allow, limits: { max_wall_ms: 1 } }\n",
       {},
       Purpose::recheck},
      {"nothing to say",
       "  - { id: a, action: deny, tool: t }\n  - { id: b, action: allow }\n",
       {}},
  };
  for (const AdviceRow& row : rows)
    check_advice(row);
}

TEST_CASE("a rule that never decides is named with the one that goes before it") {
  const std::string head = "this rule never decides: the rule ";
  const std::string tail = " matches all that it matches and goes before it";
  const std::string deny = " (a deny beats every other rule)";
  const AdviceRow rows[] = {
      {"an exception to a deny",
       "  - { id: no, action: deny }\n  - { id: but, action: allow, tool: t, role: r }\n",
       {"4:5:rules[1]: " + head + "\"no\" on line 3" + tail + deny}},
      {"an exception that stands first",
       "  - { id: but, action: allow, tool: t }\n  - { id: no, action: deny, tool: t }\n",
       {"3:5:rules[0]: " + head + "\"no\" on line 4" + tail + deny}},
      {"the same axes, later",
       "  - { id: a, action: allow, tool: t }\n  - { id: b, action: pending_approval, tool: t }\n",
       {"4:5:rules[1]: " + head + "\"a\" on line 3" + tail,
        "4:22:rules[1].action: nobody can approve a call yet: what this rule decides is refused, "
        "with an id to ask by"}},
      {"the same axes, lower priority",
       "  - { id: a, action: allow, tool: t }\n  - { id: b, action: allow, tool: t, priority: 1 "
       "}\n",
       {"3:5:rules[0]: " + head + "\"b\" on line 4" + tail}},
      {"a narrower deny decides where it matches",
       "  - { id: a, action: deny }\n  - { id: b, action: deny, tool: t }\n",
       {}},
      {"a deny on another axis",
       "  - { id: a, action: deny, role: r }\n  - { id: b, action: allow, tool: t }\n",
       {}},
      {"a deny of another tool",
       "  - { id: a, action: deny, tool: u }\n  - { id: b, action: allow, tool: t }\n",
       {}},
      {"a broader allow",
       "  - { id: a, action: allow, priority: 9 }\n  - { id: b, action: allow, tool: t }\n",
       {}},
  };
  for (const AdviceRow& row : rows)
    check_advice(row);
}

TEST_CASE("warnings are held to twenty") {
  std::string rules = "version: 1\nrules:\n  - { id: no, action: deny }\n";
  for (int count = 0; count < 1000; ++count) {
    rules += "  - { id: r" + std::to_string(count) + ", action: allow, tool: t }\n";
  }
  const Loaded loaded = parse_policy(rules, Purpose::wrap);
  CHECK(loaded.policy.has_value());
  REQUIRE(loaded.diagnostics.size() == 21);
  CHECK(loaded.diagnostics.back().message == "these are the first 20; there may be more");
  CHECK(loaded.diagnostics.back().severity == Diagnostic::Severity::warning);
}

}  // namespace
}  // namespace aegis::policy
