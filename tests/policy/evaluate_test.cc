// SPDX-License-Identifier: Apache-2.0 OR MIT
// Which rule decides: by the published semantics, case for case, and against an evaluator that
// walks over all rules.
#include "policy/evaluate.h"

#include <optional>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "policy/builder.h"
#include "policy/policy.h"
#include "tests/policy/walk.h"

namespace aegis::policy {
namespace {

Rule make_rule(std::string id, Action action) {
  Rule rule;
  rule.id = std::move(id);
  rule.action = action;
  return rule;
}

struct Row {
  std::string_view name;
  std::string_view rules;
  Call call;
  std::string_view winner;  // an id; empty for the default
  Action action;
};

void check_row(const Row& row) {
  CAPTURE(row.name);
  std::string text = "version: 1\ndefault: allow\nrules:\n";
  text += row.rules;
  const Loaded loaded = parse_policy(text, Purpose::recheck);
  REQUIRE(loaded.policy.has_value());
  const Verdict verdict = loaded.policy->decide(row.call);
  CHECK((verdict.rule == nullptr ? "" : verdict.rule->id) == row.winner);
  CHECK(verdict.action == row.action);
}

TEST_CASE("any matching deny wins, whatever else matches and in whatever order") {
  const Row rows[] = {
      {"over a narrower allow",
       "  - { id: no, action: deny, tool: t }\n  - { id: yes, action: allow, tool: t, role: owner, "
       "priority: 9 }\n",
       {"t", "owner"},
       "no",
       Action::deny},
      {"after it in the file",
       "  - { id: yes, action: allow, tool: t, role: owner, priority: 9 }\n  - { id: no, action: "
       "deny }\n",
       {"t", "owner"},
       "no",
       Action::deny},
      {"over a rate",
       "  - { id: no, action: deny }\n  - { id: r, action: rate_limit, tool: t, rate: { max: 1, "
       "per_seconds: 1 } }\n",
       {"t"},
       "no",
       Action::deny},
      {"over asking",
       "  - { id: p, action: pending_approval, tool: t }\n  - { id: no, action: deny }\n",
       {"t"},
       "no",
       Action::deny},
      {"of two the one with more axes",
       "  - { id: no, action: deny, priority: 9 }\n  - { id: narrow, action: deny, tool: t }\n",
       {"t"},
       "narrow",
       Action::deny},
      {"not when it does not match",
       "  - { id: no, action: deny, tool: u }\n  - { id: yes, action: allow, tool: t }\n",
       {"t"},
       "yes",
       Action::allow},
  };
  for (const Row& row : rows)
    check_row(row);
}

TEST_CASE(
    "of the rest the one with most set axes wins, then the higher priority, then the earlier") {
  const Row rows[] = {
      {"most axes over priority",
       "  - { id: wide, action: allow, tool: t, priority: 100 }\n  - { id: narrow, action: "
       "pending_approval, tool: t, role: r, priority: -5 }\n",
       {"t", "r"},
       "narrow",
       Action::pending_approval},
      {"an asterisk is no axis that is set",
       "  - { id: stars, action: allow, tool: '*', role: '*', capability: '*' }\n  - { id: one, "
       "action: pending_approval, tool: t }\n",
       {"t", "r", "c"},
       "one",
       Action::pending_approval},
      {"three axes over two",
       "  - { id: two, action: allow, tool: t, role: r, priority: 7 }\n  - { id: three, action: "
       "pending_approval, tool: t, role: r, capability: c }\n",
       {"t", "r", "c"},
       "three",
       Action::pending_approval},
      {"as many axes: priority",
       "  - { id: low, action: allow, tool: t }\n  - { id: high, action: pending_approval, role: "
       "r, priority: 1 }\n",
       {"t", "r"},
       "high",
       Action::pending_approval},
      {"a negative priority is lower than none",
       "  - { id: low, action: allow, tool: t, priority: -1 }\n  - { id: none, action: "
       "pending_approval, role: r }\n",
       {"t", "r"},
       "none",
       Action::pending_approval},
      {"as many axes and the same priority: the earlier",
       "  - { id: first, action: pending_approval, role: r }\n  - { id: second, action: allow, "
       "tool: t }\n",
       {"t", "r"},
       "first",
       Action::pending_approval},
      {"the same axes: the earlier",
       "  - { id: first, action: allow, tool: t }\n  - { id: second, action: pending_approval, "
       "tool: t }\n",
       {"t"},
       "first",
       Action::allow},
      {"the same axes: the higher priority, though later",
       "  - { id: first, action: allow, tool: t }\n  - { id: second, action: pending_approval, "
       "tool: t, priority: 1 }\n",
       {"t"},
       "second",
       Action::pending_approval},
  };
  for (const Row& row : rows)
    check_row(row);
}

TEST_CASE("an axis that the rule sets and the call does not have does not match") {
  const Row rows[] = {
      {"a role", "  - { id: no, action: deny, tool: t, role: r }\n", {"t"}, "", Action::allow},
      {"another role",
       "  - { id: no, action: deny, tool: t, role: r }\n",
       {"t", "R"},
       "",
       Action::allow},
      {"an empty role is a role, and another",
       "  - { id: no, action: deny, tool: t, role: r }\n",
       {"t", ""},
       "",
       Action::allow},
      {"a capability",
       "  - { id: no, action: deny, capability: c }\n",
       {"t", "r"},
       "",
       Action::allow},
      {"a role's name as a capability",
       "  - { id: no, action: deny, capability: c }\n",
       {"t", "c"},
       "",
       Action::allow},
      {"an axis that only the call has",
       "  - { id: no, action: deny, tool: t }\n",
       {"t", "r", "c"},
       "no",
       Action::deny},
      {"a tool is a literal name, not a pattern",
       "  - { id: no, action: deny, tool: write_* }\n",
       {"write_file"},
       "",
       Action::allow},
      {"which may look like one",
       "  - { id: no, action: deny, tool: write_* }\n",
       {"write_*"},
       "no",
       Action::deny},
      {"a tool's name in other letters",
       "  - { id: no, action: deny, tool: Read }\n",
       {"read"},
       "",
       Action::allow},
      {"an empty tool is a name",
       "  - { id: no, action: deny, tool: '' }\n",
       {""},
       "no",
       Action::deny},
      {"which is not any", "  - { id: no, action: deny, tool: '' }\n", {"t"}, "", Action::allow},
      {"a longer name that begins with it",
       "  - { id: no, action: deny, tool: t }\n",
       {std::string_view("t\0", 2)},
       "",
       Action::allow},
  };
  for (const Row& row : rows)
    check_row(row);
}

TEST_CASE("without a match the default decides, and no rule is named") {
  CHECK(parse_policy("version: 1\ndefault: deny\nrules: []\n", Purpose::wrap)
            .policy->decide({"t"})
            .action == Action::deny);
  check_row({"allow", "  - { id: no, action: deny, tool: u }\n", {"t"}, "", Action::allow});
}

TEST_CASE("a moved-to policy keeps its rules' addresses and goes on deciding") {
  Loaded loaded =
      parse_policy("version: 1\nrules: [{ id: no, action: deny, tool: t }]\n", Purpose::wrap);
  REQUIRE(loaded.policy.has_value());
  const Rule* rule = loaded.policy->rules().data();
  const Policy moved = *std::move(loaded.policy);
  CHECK(moved.decide({"t"}).rule == rule);
}

class Dice {
 public:
  explicit Dice(std::uint32_t seed) : engine_(seed) {}
  std::size_t below(std::size_t bound) { return engine_() % bound; }
  std::optional<std::string> axis(std::size_t names) {
    if (below(3) == 0) return std::nullopt;
    return "n" + std::to_string(below(names));
  }
  Rule rule(std::size_t number, std::size_t names) {
    Rule rule = make_rule(std::to_string(number),
                          below(6) == 0   ? Action::deny
                          : below(2) == 0 ? Action::allow
                                          : Action::pending_approval);
    rule.tool = axis(names);
    rule.role = axis(names);
    rule.capability = axis(names);
    rule.priority = static_cast<std::int32_t>(below(3)) - 1;
    return rule;
  }

 private:
  std::mt19937 engine_;
};

TEST_CASE("the index decides as a walk over all rules does") {
  std::size_t matched = 0;
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    const std::size_t names = 1 + dice.below(8);
    std::vector<Rule> rules;
    const std::size_t count = dice.below(seed % 10 == 0 ? 400 : 12);
    for (std::size_t number = 0; number < count; ++number)
      rules.push_back(dice.rule(number, names));
    const Policy policy = PolicyBuilder::build(rules, Action::allow);
    for (int call_number = 0; call_number < 200; ++call_number) {
      const std::string tool = "n" + std::to_string(dice.below(names + 1));
      const auto role = dice.axis(names + 1);
      const auto capability = dice.axis(names + 1);
      const Call call{tool, role, capability};
      const Rule* expected = walk(rules, call);
      const Rule* found = policy.decide(call).rule;
      REQUIRE((found == nullptr ? "" : found->id) == (expected == nullptr ? "" : expected->id));
      matched += found == nullptr ? 0 : 1;
    }
  }
  CHECK(matched > 10'000);  // else the rules were such that nothing was tried
}

TEST_CASE("a call without some axis meets only rules without it, and an index can be asked so") {
  std::vector<Rule> rules = {make_rule("any", Action::allow), make_rule("role", Action::deny)};
  rules[1].role = "r";
  const RuleIndex index(rules);
  CHECK(index.find({{std::nullopt, std::nullopt, std::nullopt}}) == rules.data());
  CHECK(index.find({{std::nullopt, "r", std::nullopt}}) == &rules[1]);
}

}  // namespace
}  // namespace aegis::policy
