// SPDX-License-Identifier: Apache-2.0 OR MIT
// The semantics of version 1 one rule after another, as its documentation tells them: slow, and
// plain enough to be right. What the index says is compared with it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include "policy/policy.h"

namespace aegis::policy {

inline bool matches(const std::optional<std::string>& axis, std::optional<std::string_view> value) {
  return !axis || (value && *axis == *value);
}

inline bool matches(const Rule& rule, const Call& call) {
  return matches(rule.tool, call.tool) && matches(rule.role, call.role) &&
         matches(rule.capability, call.capability);
}

inline auto strength_of(const Rule& rule) {
  const int axes = (rule.tool ? 1 : 0) + (rule.role ? 1 : 0) + (rule.capability ? 1 : 0);
  return std::make_tuple(rule.action == Action::deny, axes, rule.priority);
}

/// The rule that decides; null when none matches.
inline const Rule* walk(std::span<const Rule> rules, const Call& call) {
  const Rule* best = nullptr;
  for (const Rule& rule : rules) {
    if (!matches(rule, call)) continue;
    if (best == nullptr || strength_of(rule) > strength_of(*best)) best = &rule;
  }
  return best;
}

}  // namespace aegis::policy
