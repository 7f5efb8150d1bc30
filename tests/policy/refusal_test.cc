// SPDX-License-Identifier: Apache-2.0 OR MIT
// Every way in which a text can be no policy of version 1, with the place and the words of each
// refusal.
#include <string>

#include <doctest/doctest.h>

#include "policy/policy.h"
#include "tests/policy/refusals.h"

namespace aegis::policy {
namespace {

TEST_CASE("a policy that lacks what must be said, or says another version, is refused") {
  const RefusalRow rows[] = {
      {"no version", "rules: []\n", {"1:1:version: the field is missing; expected version: 1"}},
      {"no rules: a file that was cut off",
       "version: 1\n",
       {"1:1:rules: the field is missing; expected a list of rules (\"rules: []\" for none)"}},
      {"version 2, of which nothing else is said",
       "version: 2\nnew_field: 1\n",
       {"1:10:version: expected the number 1, found \"2\"",
        "2:1:new_field: unknown field; expected one of version, default, rules"}},
      {"a broker's policy",
       "version: 1\nworkspace_root: w\nrules: []\n",
       {"2:1:workspace_root: unknown field; expected one of version, default, rules; a broker's "
        "policy is for mcp, run, check and wrap --broker"}},
      {"version in quotes",
       "version: \"1\"\nrules: []\n",
       {"1:10:version: expected the number 1, found the quoted text \"1\"; leave the quotes out"}},
      {"version 1.0",
       "version: 1.0\nrules: []\n",
       {"1:10:version: expected the number 1, found \"1.0\"; write it in plain decimal digits"}},
      {"version 01",
       "version: 01\nrules: []\n",
       {"1:10:version: expected the number 1, found \"01\"; write it in plain decimal digits"}},
      {"version of nothing",
       "version:\nrules: []\n",
       {"1:9:version: expected the number 1, found nothing"}},
      {"version as a list",
       "version: [1]\nrules: []\n",
       {"1:10:version: expected the number 1, found a list"}},
      {"a list for a policy",
       "- version: 1\n",
       {"1:1:: expected a map of version, default and rules, found a list"}},
      {"a word for a policy",
       "allow\n",
       {"1:1:: expected a map of version, default and rules, found \"allow\""}},
      {"rules of nothing", "version: 1\nrules:\n", {"2:7:rules: expected a list, found nothing"}},
      {"rules as a map", "version: 1\nrules: {}\n", {"2:8:rules: expected a list, found a map"}},
      {"a rule of nothing",
       "version: 1\nrules:\n  -\n",
       {"3:4:rules[0]: expected a map of id, action, tool, role, capability, priority, reason, "
        "rate and limits, found nothing"}},
      {"an empty rule",
       "version: 1\nrules:\n  - {}\n",
       {"3:5:rules[0].id: the field is missing; expected a name that no other rule has",
        "3:5:rules[0].action: the field is missing; expected allow, deny, rate_limit or "
        "pending_approval"}},
      {"default of rate_limit",
       "version: 1\ndefault: rate_limit\nrules: []\n",
       {"2:10:default: expected allow or deny, found \"rate_limit\""}},
      {"default no, which some readers take for false",
       "version: 1\ndefault: no\nrules: []\n",
       {"2:10:default: expected allow or deny, found \"no\""}},
      {"default of nothing",
       "version: 1\ndefault:\nrules: []\n",
       {"2:9:default: expected allow or deny, found nothing"}},
      {"default in capitals",
       "version: 1\ndefault: Deny\nrules: []\n",
       {"2:10:default: expected allow or deny, found \"Deny\""}},
  };
  for (const RefusalRow& row : rows)
    check_refused(row);
}

TEST_CASE("unknown and repeated fields are refused wherever they stand") {
  const RefusalRow rows[] = {
      {"in the policy",
       "version: 1\nrules: []\nDefault: deny\n",
       {"3:1:Default: unknown field; expected one of version, default, rules"}},
      {"in a rule",
       with_member("deny", "tools: b"),
       {"5:5:rules[0].tools: unknown field; expected one of id, action, tool, role, capability, "
        "priority, reason, "
        "rate, limits"}},
      {"in a rate",
       with_member("rate_limit", "rate: { max: 1, per_seconds: 1, burst: 2 }"),
       {"5:37:rules[0].rate.burst: unknown field; expected one of max, per_seconds"}},
      {"in limits",
       with_member("allow", "limits: { max_cpu: 1 }"),
       {"5:15:rules[0].limits.max_cpu: unknown field; expected one of max_memory_bytes, "
        "max_wall_ms, max_output_bytes"}},
      {"a name that is a list",
       "version: 1\nrules: []\n? [a]\n: b\n",
       {"3:3:: unknown field; expected one of version, default, rules"}},
      {"a name that hides an escape sequence",
       "version: 1\nrules: []\n\"\\e[2J\": b\n",
       {"3:1:\\u001b[2J: unknown field; expected one of version, default, rules"}},
      {"default twice",
       "version: 1\ndefault: deny\ndefault: allow\nrules: []\n",
       {"3:1:default: the field stands twice; its first value is on line 2"}},
      {"rules twice",
       "version: 1\nrules: []\nrules: []\n",
       {"3:1:rules: the field stands twice; its first value is on line 2"}},
      {"twice, spelled in two ways",
       with_member("deny", "\"action\": allow"),
       {"5:5:rules[0].action: the field stands twice; its first value is on line 4"}},
      {"max twice",
       with_member("rate_limit", "rate: { max: 1, per_seconds: 1, max: 2 }"),
       {"5:37:rules[0].rate.max: the field stands twice; its first value is on line 5"}},
      {"a limit twice",
       with_member("allow", "limits: { max_wall_ms: 1, max_wall_ms: 2 }"),
       {"5:31:rules[0].limits.max_wall_ms: the field stands twice; its first value is on line 5"}},
      {"an id twice",
       "version: 1\nrules:\n  - { id: a, action: deny }\n  - { id: \"a\", action: allow, tool: b "
       "}\n",
       {"4:11:rules[1].id: the id \"a\" stands twice; its first rule has it on line 3"}},
  };
  for (const RefusalRow& row : rows)
    check_refused(row);
}

TEST_CASE("a field of the wrong type or outside its limits is refused with what is expected") {
  const std::string priority = "expected a whole number from -2147483648 to 2147483647, found ";
  const std::string digits = "; write it in plain decimal digits";
  const RefusalRow rows[] = {
      {"id of nothing",
       "version: 1\nrules:\n  - id:\n    action: deny\n",
       {"3:8:rules[0].id: expected a text, found nothing; leave the field out, or put the text in "
        "quotes"}},
      {"an empty id",
       "version: 1\nrules:\n  - id: \"\"\n    action: deny\n",
       {"3:9:rules[0].id: expected a name that no other rule has, found an empty text"}},
      {"an id of null",
       "version: 1\nrules:\n  - id: null\n    action: deny\n",
       {"3:9:rules[0].id: expected a text, found null; leave the field out, or put the text in "
        "quotes"}},
      {"an id of 1025 bytes",
       "version: 1\nrules:\n  - id: " + std::string(1025, 'x') + "\n    action: deny\n",
       {"3:9:rules[0].id: expected a text of at most 1024 bytes, found 1025"}},
      {"an id with a control character",
       "version: 1\nrules:\n  - id: \"a\\nb\"\n    action: deny\n",
       {"3:9:rules[0].id: expected a name without control characters, found \"a\\u000ab\""}},
      {"an unknown action",
       with_member("yes", "tool: b"),
       {"4:13:rules[0].action: expected allow, deny, rate_limit or pending_approval, found "
        "\"yes\""}},
      {"an action of nothing",
       with_member("", "tool: b"),
       {"4:12:rules[0].action: expected allow, deny, rate_limit or pending_approval, found "
        "nothing"}},
      {"a tool of nothing, which some readers take for every tool",
       with_member("allow", "tool:"),
       {"5:10:rules[0].tool: expected a text, found nothing; leave the field out, or put the text "
        "in quotes"}},
      {"a tool of ~",
       with_member("allow", "tool: ~"),
       {"5:11:rules[0].tool: expected a text, found ~; leave the field out, or put the text in "
        "quotes"}},
      {"several tools",
       with_member("deny", "tool: [a, b]"),
       {"5:11:rules[0].tool: expected a text, found a list"}},
      {"a tool with NUL",
       with_member("deny", "tool: \"a\\0\""),
       {"5:11:rules[0].tool: expected a text without NUL, found the quoted text \"a\\u0000\""}},
      {"a role that is a map",
       with_member("deny", "role: {}"),
       {"5:11:rules[0].role: expected a text, found a map"}},
      {"a role of 1025 bytes",
       with_member("deny", "role: " + std::string(1025, 'x')),
       {"5:11:rules[0].role: expected a text of at most 1024 bytes, found 1025"}},
      {"a capability of 1025 bytes",
       with_member("deny", "capability: " + std::string(1025, 'x')),
       {"5:17:rules[0].capability: expected a text of at most 1024 bytes, found 1025"},
       Purpose::recheck},
      {"a reason of 4097 bytes",
       with_member("deny", "reason: " + std::string(4097, 'x')),
       {"5:13:rules[0].reason: expected a text of at most 4096 bytes, found 4097"}},
      {"priority too low",
       with_member("deny", "priority: -2147483649"),
       {"5:15:rules[0].priority: " + priority + "\"-2147483649\""}},
      {"priority too high",
       with_member("deny", "priority: 2147483648"),
       {"5:15:rules[0].priority: " + priority + "\"2147483648\""}},
      {"priority beyond 64 bits",
       with_member("deny", "priority: 18446744073709551617"),
       {"5:15:rules[0].priority: " + priority + "\"18446744073709551617\""}},
      {"priority in quotes",
       with_member("deny", "priority: '5'"),
       {"5:15:rules[0].priority: " + priority + "the quoted text \"5\"; leave the quotes out"}},
      {"hexadecimal",
       with_member("deny", "priority: 0x10"),
       {"5:15:rules[0].priority: " + priority + "\"0x10\"" + digits}},
      {"octal of YAML 1.1",
       with_member("deny", "priority: 010"),
       {"5:15:rules[0].priority: " + priority + "\"010\"" + digits}},
      {"octal of YAML 1.2",
       with_member("deny", "priority: 0o10"),
       {"5:15:rules[0].priority: " + priority + "\"0o10\"" + digits}},
      {"binary",
       with_member("deny", "priority: 0b1"),
       {"5:15:rules[0].priority: " + priority + "\"0b1\"" + digits}},
      {"sixties",
       with_member("deny", "priority: 1:30"),
       {"5:15:rules[0].priority: " + priority + "\"1:30\"" + digits}},
      {"an exponent",
       with_member("deny", "priority: 1e3"),
       {"5:15:rules[0].priority: " + priority + "\"1e3\"" + digits}},
      {"a fraction",
       with_member("deny", "priority: 1.0"),
       {"5:15:rules[0].priority: " + priority + "\"1.0\"" + digits}},
      {"grouped digits",
       with_member("deny", "priority: 1_000"),
       {"5:15:rules[0].priority: " + priority + "\"1_000\"" + digits}},
      {"a plus",
       with_member("deny", "priority: +1"),
       {"5:15:rules[0].priority: " + priority + "\"+1\"" + digits}},
      {"minus nothing",
       with_member("deny", "priority: -0"),
       {"5:15:rules[0].priority: " + priority + "\"-0\"" + digits}},
      {"infinity",
       with_member("deny", "priority: .inf"),
       {"5:15:rules[0].priority: " + priority + "\".inf\""}},
      {"a priority of nothing",
       with_member("deny", "priority:"),
       {"5:14:rules[0].priority: " + priority + "nothing"}},
      {"true",
       with_member("deny", "priority: true"),
       {"5:15:rules[0].priority: " + priority + "\"true\""}},
  };
  for (const RefusalRow& row : rows)
    check_refused(row);
}

TEST_CASE("a rate stands in a rate_limit rule and nowhere else, limits where a call runs") {
  const std::string missing = ": the field is missing; expected rate: { max: N, per_seconds: N }";
  const std::string max = "expected a whole number from 1 to 9007199254740991, found ";
  const std::string seconds = "expected a whole number from 1 to 18446744073, found ";
  const std::string only_allow =
      "only an allow or rate_limit rule has limits; expected the field to be left out";
  const std::string only_rate =
      "only a rate_limit rule has a rate; expected the field to be left out";
  const RefusalRow rows[] = {
      {"no rate", with_member("rate_limit", "tool: b"), {"3:5:rules[0].rate" + missing}},
      {"no max",
       with_member("rate_limit", "rate: { per_seconds: 1 }"),
       {"5:11:rules[0].rate.max" + missing}},
      {"no seconds",
       with_member("rate_limit", "rate: { max: 1 }"),
       {"5:11:rules[0].rate.per_seconds" + missing}},
      {"a rate of a number",
       with_member("rate_limit", "rate: 100"),
       {"5:11:rules[0].rate: expected a map of max and per_seconds, found \"100\""}},
      {"max of 0",
       with_member("rate_limit", "rate: { max: 0, per_seconds: 1 }"),
       {"5:18:rules[0].rate.max: " + max + "\"0\""}},
      {"max of -1",
       with_member("rate_limit", "rate: { max: -1, per_seconds: 1 }"),
       {"5:18:rules[0].rate.max: " + max + "\"-1\""}},
      {"max of 2^53",
       with_member("rate_limit", "rate: { max: 9007199254740992, per_seconds: 1 }"),
       {"5:18:rules[0].rate.max: " + max + "\"9007199254740992\""}},
      {"seconds of 0",
       with_member("rate_limit", "rate: { max: 1, per_seconds: 0 }"),
       {"5:34:rules[0].rate.per_seconds: " + seconds + "\"0\""}},
      {"a window that overflows a clock of nanoseconds",
       with_member("rate_limit", "rate: { max: 1, per_seconds: 18446744074 }"),
       {"5:34:rules[0].rate.per_seconds: " + seconds + "\"18446744074\""}},
      {"a rate to deny",
       with_member("deny", "rate: { max: 1, per_seconds: 1 }"),
       {"5:11:rules[0].rate: " + only_rate}},
      {"a rate to allow",
       with_member("allow", "rate: { max: 1, per_seconds: 1 }"),
       {"5:11:rules[0].rate: " + only_rate}},
      {"a rate to ask",
       with_member("pending_approval", "rate: {}"),
       {"5:11:rules[0].rate: " + only_rate}},
      {"limits to deny",
       with_member("deny", "limits: { max_wall_ms: 1 }"),
       {"5:13:rules[0].limits: " + only_allow}},
      {"limits to ask",
       with_member("pending_approval", "limits: {}"),
       {"5:13:rules[0].limits: " + only_allow}},
      {"limits as a list",
       with_member("allow", "limits: []"),
       {"5:13:rules[0].limits: expected a map of max_memory_bytes, max_wall_ms and "
        "max_output_bytes, found a list"}},
      {"a limit of 2^53",
       with_member("allow", "limits: { max_wall_ms: 9007199254740992 }"),
       {"5:28:rules[0].limits.max_wall_ms: expected a whole number from 0 to 9007199254740991, "
        "found "
        "\"9007199254740992\""}},
      {"a limit below 0",
       with_member("allow", "limits: { max_wall_ms: -1 }"),
       {"5:28:rules[0].limits.max_wall_ms: expected a whole number from 0 to 9007199254740991, "
        "found \"-1\""}},
  };
  for (const RefusalRow& row : rows)
    check_refused(row);
}

TEST_CASE(
    "wrap refuses what could never match a tools/call and looks as if it did; recheck takes it and "
    "warns") {
  const std::string star =
      "a '*' inside a longer name stands for itself and matches no other text; expected a whole "
      "name, or \"*\" alone for any";
  const RefusalRow rows[] = {
      {"a capability",
       with_member("deny", "capability: fs.read"),
       {"5:17:rules[0].capability: an MCP call has no capability, so this rule could never match; "
        "expected the field "
        "to be left out, or \"*\""}},
      {"a pattern at the end",
       with_member("deny", "tool: write_*"),
       {"5:11:rules[0].tool: " + star}},
      {"a pattern at the start",
       with_member("deny", "tool: \"*_file\""),
       {"5:11:rules[0].tool: " + star}},
      {"two asterisks", with_member("deny", "tool: \"**\""), {"5:11:rules[0].tool: " + star}},
      {"a pattern for a role", with_member("deny", "role: ops-*"), {"5:11:rules[0].role: " + star}},
  };
  for (const RefusalRow& row : rows) {
    check_refused(row);
    const Loaded loaded = parse_policy(row.text, Purpose::recheck);
    CHECK(loaded.policy.has_value());
    REQUIRE(loaded.diagnostics.size() == 1);
    const Diagnostic& warning = loaded.diagnostics[0];
    CHECK(warning.severity == Diagnostic::Severity::warning);
    CHECK(warning.message.starts_with("aegis wrap refuses this policy: "));
    const std::string found = describe_all(loaded).front();
    const std::string place = found.substr(0, found.find(": ") + 2);
    CHECK(row.expected[0].starts_with(place));
  }
}

TEST_CASE("all that is wrong is told at once, in the order of the text, and twenty at most") {
  check_refused({"three errors",
                 "rules:\n  - { id: a, action: maybe }\n  - { id: a, action: deny, tool: [] "
                 "}\nversion: 1\nx: 1\n",
                 {"2:22:rules[0].action: expected allow, deny, rate_limit or pending_approval, "
                  "found \"maybe\"",
                  "3:11:rules[1].id: the id \"a\" stands twice; its first rule has it on line 2",
                  "3:34:rules[1].tool: expected a text, found a list",
                  "5:1:x: unknown field; expected one of version, default, rules"}});
  std::string many = "version: 1\nrules:\n";
  for (int count = 0; count < 50; ++count)
    many += "  - x\n";
  const Loaded loaded = parse_policy(many, Purpose::wrap);
  REQUIRE(loaded.diagnostics.size() == 21);
  CHECK(loaded.diagnostics.front().line == 3);
  CHECK(loaded.diagnostics.back().line == 0);
  CHECK(loaded.diagnostics.back().message == "these are the first 20; there may be more");
}

TEST_CASE("a megabyte of errors takes no longer than a good policy of that size") {
  // To find the path of one error takes a walk over the text, so only those that are shown may have
  // one.
  for (const std::string_view unit : {"- a\n", "- { id: x, id: y }\n"}) {
    std::string text = "version: 1\nrules:\n";
    while (text.size() + unit.size() < 1024UL * 1024)
      text += unit;
    CHECK(parse_policy(text, Purpose::wrap).diagnostics.size() == 21);
  }
}

}  // namespace
}  // namespace aegis::policy
