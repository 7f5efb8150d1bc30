// SPDX-License-Identifier: Apache-2.0 OR MIT
// Policies of one rule, and a table row for texts that are refused with what it takes for one to
// hold.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "policy/policy.h"

namespace aegis::policy {

struct RefusalRow {
  std::string_view name;
  std::string text;
  std::vector<std::string> expected;  // every diagnostic as "line:column:field: message"
  Purpose purpose = Purpose::wrap;
};

/// A policy of one rule: `id: a`, `action: <action>` and one more member on line 5, from column 5.
inline std::string with_member(std::string_view action, std::string_view member) {
  std::string text = "version: 1\nrules:\n  - id: a\n    action: ";
  text += action;
  text += "\n    ";
  text += member;
  return text + '\n';
}

inline std::vector<std::string> describe_all(const Loaded& loaded) {
  std::vector<std::string> out;
  for (const Diagnostic& each : loaded.diagnostics) {
    out.push_back(std::to_string(each.line) + ':' + std::to_string(each.column) + ':' + each.field +
                  ": " + each.message);
  }
  return out;
}

/// Nothing of the policy is used, and all that is said is said as errors in just these words.
inline void check_refused(const RefusalRow& row) {
  CAPTURE(row.name);
  const Loaded loaded = parse_policy(row.text, row.purpose);
  CHECK_FALSE(loaded.policy.has_value());
  for (const Diagnostic& each : loaded.diagnostics)
    CHECK(each.severity == Diagnostic::Severity::error);
  const std::vector<std::string> found = describe_all(loaded);
  REQUIRE(found.size() == row.expected.size());
  for (std::size_t at = 0; at < found.size(); ++at)
    CHECK(found[at] == row.expected[at]);
}

}  // namespace aegis::policy
