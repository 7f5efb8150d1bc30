// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the verbs that run a program exit with, besides the program's own code (a shell's manner).
#pragma once

#include <cerrno>

#include "confine/result.h"

namespace aegis::wrap {

inline constexpr int kAegisFailed = 125;  // usage errors too
inline constexpr int kCannotExecute = 126;
inline constexpr int kNotFound = 127;
inline constexpr int kSignalBase = 128;  // plus the signal's number

/// For an error whose code is an errno when the program is the matter, and 0 otherwise.
inline int exit_code_of_failure(const confine::Error& error) {
  if (error.code == ENOENT) return kNotFound;
  return error.code == 0 ? kAegisFailed : kCannotExecute;
}

/// What a shell would make of a wait status: the exit code, or 128 + the signal's number.
int exit_code_of(int wait_status);

}  // namespace aegis::wrap
