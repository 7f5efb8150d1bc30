// SPDX-License-Identifier: Apache-2.0 OR MIT
// Which of the grants that somebody asked for, or that a profile guessed, a confined program gets:
// what one run left where it may write must not widen what the next one reaches. It resolves
// nothing and reads no file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "confine/grants.h"
#include "confine/result.h"
#include "confine/writable.h"

namespace aegis::confine {

/// A grant to be decided on.
struct Candidate {
  enum class Otherwise : std::uint8_t { refuse, leave_out };
  /// Asked for as it stands; or guessed, and then a folder that the program may write takes its
  /// right to execute as a whole. A mount with more rights inside it would have an edge that
  /// rename(2) does not cross (EXDEV), and so has Landlock.
  enum class Kind : std::uint8_t { asked, guessed };

  ResolvedPath resolved;
  std::string said;     // by whom and how: "--allow-read x/y", "profile node:9"
  std::string instead;  // the flag by which the user can grant it: "--allow-exec"
  Otherwise otherwise = Otherwise::refuse;
  Kind kind = Kind::asked;
  /// Files that led to it and lie where the program may write; links on its own way are found.
  std::vector<std::string> planted = {};
};

struct Admitted {
  PathGrants paths;
  std::vector<std::string> left_out;  // a sentence each, with the flag that would grant it
};

/// A candidate that a file or a link in a writable tree led to counts only when it grants no more
/// than the others do, or does not lead out of that tree. One to be written must be in another that
/// was named without such a link: it is what the next run would start from.
Result<Admitted> admit(std::vector<Candidate> candidates, const Writable& writable);

}  // namespace aegis::confine
