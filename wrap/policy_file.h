// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reads a policy file for `wrap` (at the start and on SIGHUP) and `recheck`. What is in it is
// policy's to judge; printing the diagnostics is the caller's.
#pragma once

#include <string>

#include "confine/result.h"
#include "policy/policy.h"

namespace aegis::wrap {

/// An error means that the file could not be read; a bad policy is a `Loaded` without one.
confine::Result<policy::Loaded> load_policy_file(const std::string& path, policy::Purpose purpose);

}  // namespace aegis::wrap
