// SPDX-License-Identifier: Apache-2.0 OR MIT
// What every confined program may use besides what it was granted: its /proc, /dev and /tmp in tier
// full, their nearest counterparts of the host in tier landlock.
#pragma once

#include <cstdint>

#include "confine/landlock.h"
#include "confine/tier.h"

namespace aegis::confine {

/// Whether what the program makes in its /tmp may run.
enum class RunsInScratch : std::uint8_t { yes, no };
/// Opens and allows each; in tier full the private root must have been entered. What is not there
/// is left out. Async-signal-safe. 0 or an errno.
[[nodiscard]] int allow_commons(const Ruleset& ruleset, Tier tier, RunsInScratch runs) noexcept;

}  // namespace aegis::confine
