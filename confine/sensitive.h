// SPDX-License-Identifier: Apache-2.0 OR MIT
// Names under which secrets usually lie, and the search for what bears them. A list of names is a
// guess: a secret under another name is not found.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "confine/result.h"

namespace aegis::confine {

/// Of one component of a path, whatever the case of its ASCII letters: ".ssh", "id_rsa.old",
/// "server.pem", ".env.local".
bool is_sensitive_name(std::string_view name);
/// Whether any component of `path` is.
bool is_sensitive(std::string_view path);

struct SensitiveFound {
  std::vector<std::string> paths = {};  // sorted; nothing of what lies in one that is there
  bool is_whole = true;                 // false: there were too many names to look at all of them
};
inline constexpr std::size_t kMaxSensitive = 2048;
inline constexpr std::size_t kMaxSearched = 200'000;  // names
inline constexpr int kSearchDepth = 4;                // folders below each root

/// What has such a name in `roots` (absolute, without links) and, at most kSearchDepth deep, in
/// their folders; what is near to a root is found first. Follows no link. A folder that cannot be
/// read is passed over: who runs as this user cannot read it either. An error when there are more
/// than kMaxSensitive.
Result<SensitiveFound> find_sensitive(const std::vector<std::string>& roots);

}  // namespace aegis::confine
