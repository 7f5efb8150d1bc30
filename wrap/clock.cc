// SPDX-License-Identifier: Apache-2.0 OR MIT
// See clock.h.
#include "wrap/clock.h"

#include <ctime>

namespace aegis::wrap {
namespace {

constexpr std::int64_t kNanosPerSecond = 1'000'000'000;
constexpr std::int64_t kNanosPerMicro = 1'000;

std::int64_t read_clock(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return time.tv_sec * kNanosPerSecond + time.tv_nsec;
}

}  // namespace

std::uint64_t monotonic_ns() {
  return static_cast<std::uint64_t>(read_clock(CLOCK_MONOTONIC));
}

audit::UnixMicros wall_clock() {
  return {read_clock(CLOCK_REALTIME) / kNanosPerMicro};
}

}  // namespace aegis::wrap
