// SPDX-License-Identifier: Apache-2.0 OR MIT
// The bytes that stand for a policy on a record: the same for texts that mean the same, others for
// others.
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "policy/policy.h"

namespace aegis::policy {
namespace {

std::string form_of(std::string_view text) {
  const Loaded loaded = parse_policy(text, Purpose::recheck);
  CAPTURE(text);
  REQUIRE(loaded.policy.has_value());
  return loaded.policy->canonical_form();
}

struct Row {
  std::string_view name;
  std::string text;
};

TEST_CASE(
    "the projection has all members in order, numbers as decimal strings, and no absent one") {
  CHECK(form_of("version: 1\nrules: []\n") == R"({"default":"allow","rules":[],"version":"1"})");
  CHECK(
      form_of("version: 1\ndefault: deny\nrules:\n"
              "  - limits: { max_output_bytes: 3, max_memory_bytes: 1, max_wall_ms: 2 }\n"
              "    rate: { per_seconds: 60, max: 9007199254740991 }\n"
              "    reason: \"say \\\"no\\\"\\n\xC3\xA9\"\n"
              "    tool: t\n    role: r\n    capability: c\n    priority: -7\n    action: "
              "rate_limit\n    id: a\n"
              "  - { id: b, action: pending_approval }\n") ==
      R"({"default":"deny","rules":[{"action":"rate_limit","capability":"c","id":"a",)"
      R"("limits":{"max_memory_bytes":"1","max_output_bytes":"3","max_wall_ms":"2"},"priority":"-7",)"
      R"("rate":{"max":"9007199254740991","per_seconds":"60"},"reason":"say \"no\"\n)"
      "\xC3\xA9"
      R"(","role":"r","tool":"t"},{"action":"pending_approval","id":"b","priority":"0"}],"version":"1"})");
}

const std::string base_text =
    "version: 1\ndefault: allow\nrules:\n"
    "  - { id: a, action: deny, tool: t, role: r, priority: 1, reason: no }\n"
    "  - { id: b, action: rate_limit, tool: u, rate: { max: 5, per_seconds: 6 } }\n"
    "  - { id: c, action: allow, tool: v, limits: { max_wall_ms: 7 } }\n";

std::string changed(std::string_view from, std::string_view to) {
  std::string text = base_text;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("a comment, another indentation, order of members or quoting does not move it") {
  const Row rows[] = {
      {"a comment", changed("rules:", "# what follows\nrules: # these")},
      {"no default", changed("default: allow\n", "")},
      {"an asterisk for an axis that is left out",
       changed("id: b,", "id: b, role: \"*\", capability: '*',")},
      {"quotes", changed("tool: t", "\"tool\": 't'")},
      {"an escape", changed("tool: t", "tool: \"\\x74\"")},
      {"another order of members", changed("id: a, action: deny", "action: deny, id: a")},
      {"block style",
       changed("  - { id: c, action: allow, tool: v, limits: { max_wall_ms: 7 } }",
               "  - id: c\n    action: allow\n\n    tool: v\n    limits:\n        max_wall_ms: 7")},
      {"line ends of the other kind", changed("default: allow\n", "default: allow\r\n")},
      {"a document's start and end", "---\n" + base_text + "...\n"},
      {"the priority that is meant when there is none", changed("id: b,", "id: b, priority: 0,")},
  };
  const std::string base = form_of(base_text);
  for (const Row& row : rows) {
    CAPTURE(row.name);
    CHECK(form_of(row.text) == base);
  }
  CHECK(form_of("version: 1\nrules: [{ id: a, action: allow, limits: {} }]\n") ==
        form_of("version: 1\nrules: [{ id: a, action: allow }]\n"));
  CHECK(form_of("version: 1\nrules: [{ id: a, action: allow, reason: '' }]\n") ==
        form_of("version: 1\nrules: [{ id: a, action: allow }]\n"));
}

TEST_CASE(
    "whatever the evaluator or its caller can see moves it, each change to bytes of its own") {
  const Row rows[] = {
      {"the base", base_text},
      {"default", changed("default: allow", "default: deny")},
      {"id", changed("id: a", "id: aa")},
      {"action", changed("action: deny", "action: allow")},
      {"another action", changed("action: deny", "action: pending_approval")},
      {"tool", changed("tool: t", "tool: T")},
      {"tool left out", changed("tool: t, ", "")},
      {"an empty tool, which is a name", changed("tool: t", "tool: ''")},
      {"role", changed("role: r", "role: q")},
      {"role left out", changed("role: r, ", "")},
      {"role moved to capability", changed("role: r", "capability: r")},
      {"priority", changed("priority: 1", "priority: -1")},
      {"reason", changed("reason: no", "reason: No")},
      {"reason left out", changed(", reason: no", "")},
      {"max", changed("max: 5", "max: 6")},
      {"seconds", changed("per_seconds: 6", "per_seconds: 5")},
      {"a limit", changed("max_wall_ms: 7", "max_wall_ms: 8")},
      {"a limit of 0", changed("max_wall_ms: 7", "max_wall_ms: 0")},
      {"another limit", changed("max_wall_ms: 7", "max_output_bytes: 7")},
      {"one limit more", changed("max_wall_ms: 7", "max_wall_ms: 7, max_memory_bytes: 7")},
      {"no limits", changed(", limits: { max_wall_ms: 7 }", "")},
      {"a rule less",
       changed("  - { id: c, action: allow, tool: v, limits: { max_wall_ms: 7 } }\n", "")},
      {"the order of rules",
       "version: 1\nrules:\n" + base_text.substr(base_text.find("  - { id: b")) +
           base_text.substr(base_text.find("  - { id: a"),
                            base_text.find("  - { id: b") - base_text.find("  - { id: a"))},
  };
  std::set<std::string> forms;
  for (const Row& row : rows) {
    CAPTURE(row.name);
    CHECK(forms.insert(form_of(row.text)).second);
  }
}

}  // namespace
}  // namespace aegis::policy
