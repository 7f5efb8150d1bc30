// SPDX-License-Identifier: Apache-2.0 OR MIT
// The bounds that the kernel holds by itself: rlimits (getrlimit(2)) and the number of processes of
// a pid namespace.
#pragma once

#include "confine/bounds.h"

namespace aegis::confine {

/// How the number of processes and threads is bounded.
enum class ProcessBound : unsigned char {
  none,           // nothing could be had (root outside a pid namespace of Linux 6.14)
  rlimit,         // RLIMIT_NPROC: of the user in this user namespace; does not bind root
  pid_namespace,  // kernel.pid_max of the pid namespace (Linux 6.14); binds root
  cgroup,
};

/// Sets every rlimit of `bounds` on the calling process, soft and hard, and RLIMIT_CORE to 0.
/// Async-signal-safe. 0 or an errno. A limit that is lower already stays as it is.
[[nodiscard]] int set_rlimits(const Bounds& bounds) noexcept;

/// Bounds the processes of the pid namespace whose first process calls this, by /proc/sys as it is
/// mounted there, or by RLIMIT_NPROC. Async-signal-safe. The namespace's own bound is never below
/// 301 (kernel/pid.c: RESERVED_PIDS + 1).
[[nodiscard]] ProcessBound bound_processes(const Bounds& bounds) noexcept;

}  // namespace aegis::confine
