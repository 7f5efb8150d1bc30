// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a program and its own helper processes hold in memory, from /proc.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace aegis::relay_bench {

struct Memory {
  std::size_t rss_kib = 0;  // sum over the processes; pages of shared libraries count once for each
  std::size_t pss_kib = 0;  // those divided among all who map them
  std::size_t peak_kib = 0;  // the largest VmHWM of one process
  std::size_t processes = 0;
};

/// Of `pid` and of its descendants that run the same executable file.
Memory memory_of(pid_t pid);

}  // namespace aegis::relay_bench
