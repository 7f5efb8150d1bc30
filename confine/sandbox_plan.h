// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a run's order comes to on this host, now: the copy of the workspace, what may be written of
// it, which folders hold libraries. Reads; changes and starts nothing.
#pragma once

#include <cstdint>
#include <variant>

#include "confine/child.h"
#include "confine/result.h"
#include "confine/sandbox.h"

namespace aegis::confine {

struct SandboxPlan {
  Spec spec;
  std::uint64_t left_out = 0;  // files for which the copy had no room
};

/// A fault is of one of SandboxOrder::writable.
std::variant<SandboxPlan, PathFault, Error> plan_sandbox(const SandboxOrder& order);

}  // namespace aegis::confine
