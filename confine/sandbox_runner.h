// SPDX-License-Identifier: Apache-2.0 OR MIT
// The process of a run's own, between its owner and the sandbox: it does all that takes time.
#pragma once

#include "confine/fd.h"
#include "confine/sandbox.h"
#include "confine/seccomp.h"

namespace aegis::confine {

/// Their other ends are the owner's.
struct RunnerEnds {
  Fd control;  // a socket: a byte asks for the run's end, its closing too
  Fd result;   // a pipe: encode_end() goes there
};

/// The body of a fork of the owner's, which had one thread. Leaves when everything of the run is
/// gone and its end is told, or nobody is there to be told.
[[noreturn]] void run_sandbox(const SandboxOrder& order,
                              const Filter& filter,
                              RunnerEnds ends) noexcept;

}  // namespace aegis::confine
