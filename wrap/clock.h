// SPDX-License-Identifier: Apache-2.0 OR MIT
// The two clocks, as what is pure takes them, and spans in the unit of the first.
#pragma once

#include <chrono>
#include <cstdint>

#include "audit/line.h"

namespace aegis::wrap {

/// CLOCK_MONOTONIC, in nanoseconds.
std::uint64_t monotonic_ns();
constexpr std::uint64_t nanoseconds(std::chrono::milliseconds span) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(span).count());
}
/// CLOCK_REALTIME.
audit::UnixMicros wall_clock();

}  // namespace aegis::wrap
