// SPDX-License-Identifier: Apache-2.0 OR MIT
// Time as every process of the benchmark measures it.
#pragma once

#include <time.h>

namespace aegis::relay_bench {

/// Seconds on CLOCK_MONOTONIC. About 30 ns a call, no system call.
inline double now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// The pause between two calls. Spun, not slept: a sleeping client adds the wake-up of its own core
/// and up to 50 us of timer slack to a figure that is about the relay. The other core, where relay
/// and server wait, sleeps as it would in use.
inline constexpr double kPause = 200e-6;
inline void spin(double seconds) {
  for (const double end = now() + seconds; now() < end;) {
  }
}

}  // namespace aegis::relay_bench
