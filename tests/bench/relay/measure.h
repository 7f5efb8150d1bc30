// SPDX-License-Identifier: Apache-2.0 OR MIT
// The run: every subject in turn does a short block of every workload, round after round, so that
// what the machine does meanwhile hits all of them alike. It judges nothing (report.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tests/bench/relay/memory.h"
#include "tests/bench/relay/samples.h"
#include "tests/bench/relay/subjects.h"

namespace aegis::relay_bench {

enum class Workload : std::uint8_t {
  ping,         // back to back
  paused_call,  // kPause before each
  hot_call,     // back to back
  in_flight,    // seconds a call, kWindow at a time
  answer_1m,
  answer_48m,
  start,  // from fork to the first answer
};
inline constexpr std::size_t kWorkloads = 7;
inline constexpr std::size_t kWindow = 64;
inline constexpr std::size_t kMiB = std::size_t{1} << 20;

struct Figures {
  /// Empty where a subject does not do a workload.
  std::array<std::array<Samples, kSubjects>, kWorkloads> times;
  Samples sign;
  Samples sync;
  Memory idle;         // of the plain form after 100 calls
  Memory after_large;  // of `call`, with 48 MiB answers behind it
  double seconds = 0;  // the whole run

  [[nodiscard]] const Samples& of(Workload workload, Subject subject) const {
    return times[static_cast<std::size_t>(workload)][static_cast<std::size_t>(subject)];
  }
};

/// Does not return when anything but a bar fails.
Figures measure(const Setup& setup);

}  // namespace aegis::relay_bench
