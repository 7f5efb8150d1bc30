// SPDX-License-Identifier: Apache-2.0 OR MIT
// The texts of confine/profiles/, which profiles.cmake turns into the definition of this table.
#pragma once

#include <span>
#include <string_view>

namespace aegis::confine {

struct BuiltinProfile {
  std::string_view name;
  std::string_view text;
};
/// Sorted by name.
std::span<const BuiltinProfile> builtin_profile_table();

}  // namespace aegis::confine
