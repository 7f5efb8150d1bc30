// SPDX-License-Identifier: Apache-2.0 OR MIT
// The bounds that the kernel holds by itself: rlimits (getrlimit(2)) and the number of processes of
// a pid namespace.
#pragma once

#include <cstdint>
#include <string_view>

#include "confine/bounds.h"

namespace aegis::confine {

/// With fewer descriptors neither the last steps before exec nor a loader and a runtime get by.
inline constexpr std::uint64_t kFewestOpenFiles = 64;

/// How the number of processes and threads is bounded.
enum class ProcessBound : unsigned char {
  none,           // nothing could be had (root outside a pid namespace of Linux 6.14)
  rlimit,         // RLIMIT_NPROC: of the user in this user namespace; does not bind root
  pid_namespace,  // kernel.pid_max of the pid namespace (Linux 6.14); binds root
  cgroup,
};

/// The numbers that a pid namespace gives out only once: after them it begins again here, not at 1
/// (RESERVED_PIDS, kernel/pid.c). So a namespace that is to hold n processes at any time has
/// n + 300 numbers, and can hold up to that many while it is young.
inline constexpr std::uint64_t kReservedPids = 300;

/// As the record names it.
constexpr std::string_view to_string(ProcessBound bound) {
  switch (bound) {
    case ProcessBound::none:
      return "none";
    case ProcessBound::rlimit:
      return "rlimit";
    case ProcessBound::pid_namespace:
      return "pid_namespace";
    case ProcessBound::cgroup:
      return "cgroup";
  }
  return {};
}

/// Sets every rlimit of `bounds` on the calling process, soft and hard, and RLIMIT_CORE to 0; of
/// the processor time the hard one is a second more, so that SIGXCPU tells why the program ended. A
/// limit that is lower already stays as it is. Async-signal-safe. 0 or an errno: EINVAL for fewer
/// than kFewestOpenFiles. Says nothing about processes.
[[nodiscard]] int set_rlimits(const Bounds& bounds) noexcept;

/// Lets the caller have `bounds.processes` processes and threads beside those that its user has
/// now. In the first process of a pid namespace: by kernel.pid_max of its own (plus kReservedPids),
/// through /proc/sys as it is mounted there, and by RLIMIT_NPROC where that binds. Elsewhere by
/// RLIMIT_NPROC alone, which then counts all processes of the user, so those in /proc are added.
/// What is `none` is bounded by nothing. Async-signal-safe; may fork and reap once.
[[nodiscard]] ProcessBound bound_processes(const Bounds& bounds) noexcept;

}  // namespace aegis::confine
