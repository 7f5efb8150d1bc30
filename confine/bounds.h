// SPDX-License-Identifier: Apache-2.0 OR MIT
// How much a confined program may use. Numbers only; limits.h enforces what rlimits and the mounts'
// sizes can, cgroup.h the rest.
#pragma once

#include <cstdint>
#include <optional>

namespace aegis::confine {

struct Bounds {
  // Held always, at these unless something else is asked for.
  std::uint64_t memory = 4ULL << 30U;  // bytes of private memory a process (RLIMIT_DATA)
  std::uint64_t memory_beside = 0;     // bytes that a total counts and that are not the program's
  std::uint64_t processes = 1024;      // processes and threads together
  std::uint64_t file_size = 4ULL << 30U;  // bytes of one file
  std::uint64_t open_files = 4096;        // descriptors a process
  std::uint64_t scratch = 512ULL << 20U;  // bytes of the private /tmp; /dev/shm has an eighth of it
  // On request only.
  /// Bytes a process may map, of any kind (RLIMIT_AS): held only where no cgroup holds the memory,
  /// since runtimes reserve far more than they use.
  std::optional<std::uint64_t> address_space = {};
  std::optional<std::uint64_t> stack = {};        // bytes of a process's first stack
  std::optional<std::uint64_t> cpu_seconds = {};  // a process
  std::optional<std::uint64_t> new_files = {};    // in the private /tmp and /dev/shm, each
  std::optional<std::uint64_t> output = {};       // bytes of stdout and stderr together
  bool is_memory_asked_for = false;               // then a total is worth a cgroup
  bool is_processes_asked_for = false;            // likewise
};

}  // namespace aegis::confine
