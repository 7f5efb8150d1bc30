// SPDX-License-Identifier: Apache-2.0 OR MIT
// The process between aegis and the server: the sub-reaper of everything the server starts. When
// told to, or when aegis is gone (its end of the control socket closes, however aegis ended), it
// kills all of them and leaves. It is a fork of aegis made before the key is read, in a session of
// its own, and holds no descriptor of the record.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "confine/child.h"
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
    lost,      // the server's first process was killed before it could tell how the server ended
  };
  Kind kind;
  std::int32_t value;
  confine::SetUp set_up = {};       // of a confined server that could not be started
  confine::Enforced enforced = {};  // of one that runs
};

/// The ends of the pipes that become the server's 0, 1 and 2, and the keeper's end of the control
/// socket.
struct KeeperEnds {
  confine::Fd input;
  confine::Fd output;
  confine::Fd errors;
  confine::Fd control;
  confine::Fd net_reports;  // open for a confined server with network grants
};

/// A server that is a part of aegis: called in the server's process, with its pipes as 0, 1 and 2.
/// When it returns the process ends, with 0.
struct Builtin {
  void (*serve)(std::size_t max_frame) noexcept = nullptr;
  std::size_t max_frame = 0;  // bytes
};

/// What it is to run: one of the three, which outlives the call.
struct KeeperProgram {
  char* const* argv = nullptr;  // ends in a null pointer; looked up in PATH
  confine::Prepared* confined = nullptr;
  Builtin builtin = {};
};

/// The body of the keeper process, called in a fresh fork of a single-threaded parent; never
/// returns.
[[noreturn]] void run_keeper(KeeperEnds ends, KeeperProgram program) noexcept;

}  // namespace aegis::wrap
