// SPDX-License-Identifier: Apache-2.0 OR MIT
// The two clocks, as what is pure takes them.
#pragma once

#include <cstdint>

#include "audit/line.h"

namespace aegis::wrap {

/// CLOCK_MONOTONIC, in nanoseconds.
std::uint64_t monotonic_ns();
/// CLOCK_REALTIME.
audit::UnixMicros wall_clock();

}  // namespace aegis::wrap
