// SPDX-License-Identifier: Apache-2.0 OR MIT
// The words of a policy text for actions. They never vary: canonical forms hold them.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "policy/policy.h"

namespace aegis::policy {

inline constexpr std::array<std::string_view, 4> kActionWords = {
    "allow", "deny", "rate_limit", "pending_approval"};

constexpr std::string_view word_of(Action action) {
  return kActionWords[static_cast<std::size_t>(action)];
}

}  // namespace aegis::policy
