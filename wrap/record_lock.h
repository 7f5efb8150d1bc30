// SPDX-License-Identifier: Apache-2.0 OR MIT
// The lock that keeps two sessions from writing one record file.
#pragma once

#include <string>

#include "confine/fd.h"
#include "confine/result.h"

namespace aegis::wrap {

/// Takes an exclusive flock(2), which lives until every copy of the open description is closed: a
/// child that is forked must close its copy. Another holder is waited for, asleep in the kernel.
/// Uses SIGALRM and ITIMER_REAL while it waits, so nobody else may at that time.
confine::Result<void> lock_record(const confine::Fd& file, const std::string& path, int wait_ms);

}  // namespace aegis::wrap
