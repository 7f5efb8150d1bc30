// SPDX-License-Identifier: Apache-2.0 OR MIT
// A started run up to its end: what it is fed, what it writes, its bounds, and who asks for its
// end. It starts nothing.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "confine/child.h"
#include "confine/fd.h"
#include "confine/sandbox.h"
#include "confine/sandbox_guards.h"

namespace aegis::confine {

/// Our ends of the program's pipes.
struct SandboxPipes {
  Fd input;   // may be closed already: it gets nothing
  Fd output;  // as the other two, O_NONBLOCK
  Fd errors;
};

struct SandboxWatch {
  SandboxPipes pipes;
  std::string_view input;  // to be written; then the pipe is closed
  SandboxBounds bounds;    // time and output
  int control = -1;        // readable: the run's end is asked for
  SandboxGuards& guards;
};

/// Blocks until the program and all that it has started are gone. Fills in everything of the end
/// but what is of the run's setting up.
SandboxEnd watch_run(Child& child, SandboxWatch watch);

}  // namespace aegis::confine
