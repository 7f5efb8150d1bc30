// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a policy text may not hold whatever its structure: bytes and characters that two readers, or
// a reader and the person who looks at the file, take differently. It runs before the YAML reader
// and knows no YAML.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "policy/diagnostic.h"

namespace aegis::policy {

inline constexpr std::size_t kMaxPolicyBytes = 1024UL * 1024;

/// The first thing that `text` may not hold; nothing when it holds none.
std::optional<Diagnostic> find_forbidden(std::string_view text);

}  // namespace aegis::policy
