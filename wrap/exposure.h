// SPDX-License-Identifier: Apache-2.0 OR MIT
// Whether a grant would let the confined program at what aegis itself must keep from it: the
// signing key, the record, and what rules or describes the session. Called before anything is
// started.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "confine/grants.h"
#include "confine/result.h"

namespace aegis::wrap {

/// Paths as aegis uses them; each may still have to be made.
struct Kept {
  /// Must not even be read.
  std::optional<std::string> key;
  /// A file or a folder. It and what follows must not be written.
  std::optional<std::string> record;
  /// Is read again on SIGHUP.
  std::optional<std::string> policy;
  /// The next start would grant what it says.
  std::optional<std::string> profile = {};
  /// What was said could be unsaid, and aegis would write where a link leads.
  std::optional<std::string> stderr_log = {};
  /// What the guard moves away goes there, or where a link in its place leads.
  std::optional<std::string> quarantine = {};
  /// The next start would allow what it says.
  std::optional<std::string> broker_policy = {};
  /// Files that the broker's runs execute, and the links by which they were found.
  std::vector<std::string> broker_programs = {};
};

/// An error names the grant, what it would expose, and what to do instead. Compared by resolved
/// paths, and by identity for a grant that is one of the kept files (a hard link) or one of the
/// folders above it (a bind mount under another name). Not seen: a hard link to a kept file, or a
/// bind mount of its folder, that lies inside a granted folder; only a search of all that is
/// granted could tell.
confine::Result<void> check_exposure(const confine::PathGrants& grants, const Kept& kept);

}  // namespace aegis::wrap
