// SPDX-License-Identifier: Apache-2.0 OR MIT
// The process between aegis and the server: the sub-reaper of everything the server starts. When
// told to, or when aegis is gone (its end of the control socket closes, however aegis ended), it
// kills all of them and leaves. It is a fork of aegis made before the key is read, in a session of
// its own, and holds no descriptor of the record.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "confine/fd.h"

namespace aegis::wrap {

/// What the keeper is told, one byte each.
enum class KeeperOrder : std::uint8_t {
  start = 'S',      // run the server; without it nothing is ever run
  terminate = 'T',  // SIGTERM to the server's process group
  kill = 'K',       // SIGKILL to every descendant, then leave
};

/// What it says, one datagram each.
struct KeeperReport {
  enum class Kind : std::int32_t {
    executed,  // value 0: the server's program runs; else the errno of execve(2) or of what came
               // before it
    ended,     // value: the server's wait status (waitpid(2))
  };
  Kind kind;
  std::int32_t value;
};

/// The ends of the pipes that become the server's 0, 1 and 2, and the keeper's end of the control
/// socket.
struct KeeperEnds {
  confine::Fd input;
  confine::Fd output;
  confine::Fd errors;
  confine::Fd control;
};

/// The body of the keeper process, called in a fresh fork of a single-threaded parent; never
/// returns. `argv` ends in a null pointer and outlives the call.
[[noreturn]] void run_keeper(KeeperEnds ends, char* const* argv) noexcept;

}  // namespace aegis::wrap
