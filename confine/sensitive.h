// SPDX-License-Identifier: Apache-2.0 OR MIT
// The search for files whose names tell that they hold secrets. Which names those are is its
// caller's to know.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "confine/result.h"

namespace aegis::confine {

/// Whether a name of a file or folder, without a slash, is one under which a secret lies.
using IsSensitiveName = bool (*)(std::string_view name);
/// Whether any component of `path` is.
bool is_any_sensitive(std::string_view path, IsSensitiveName is_sensitive);

struct SensitiveFound {
  std::vector<std::string> paths = {};  // sorted; nothing of what lies in one that is there
  bool is_whole = true;                 // false: there were too many names to look at all of them
};
inline constexpr std::size_t kMaxSensitive = 2048;
inline constexpr std::size_t kMaxSearched = 200'000;  // names
inline constexpr int kSearchDepth = 4;                // folders below each root

/// What has a name that `is_sensitive` in `roots` (absolute, without links) and, at most
/// kSearchDepth deep, in their folders; what is near to a root is found first. Follows no link. A
/// folder that cannot be read is passed over: who runs as this user cannot read it either. An error
/// when there are more than kMaxSensitive.
Result<SensitiveFound> find_sensitive(const std::vector<std::string>& roots,
                                      IsSensitiveName is_sensitive);

}  // namespace aegis::confine
