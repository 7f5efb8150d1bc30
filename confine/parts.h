// SPDX-License-Identifier: Apache-2.0 OR MIT
// What child.cc makes before the fork and init.cc and payload.cc use after it. Theirs alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "confine/cgroup.h"
#include "confine/child.h"
#include "confine/fd.h"
#include "confine/landlock.h"
#include "confine/root.h"
#include "confine/seccomp.h"

namespace aegis::confine {

struct Prepared::Parts {
  Spec spec;
  int landlock_abi = 0;
  Ruleset ruleset;
  Filter filter;
  Cgroups cgroups;
  std::optional<RootPlan> root = {};  // tier full
  struct Tracing {
    Filter filter;
    Fd wishes;  // Tracer writes here
  };
  std::optional<Tracing> tracing = {};  // with a host_view
  // "<id> <id> 1": the program sees itself under the ids it has outside (user_namespaces(7)).
  std::string user_map = {};
  std::string group_map = {};
  // Views of spec's words, each ending in a null pointer, for execve(2).
  std::vector<char*> argv = {};
  std::vector<char*> environment = {};
};

/// The ends of the child's side. Numbers, since after clone(2) they live in two processes.
struct ChildEnds {
  Stdio stdio;
  int set_up = -1;   // SetUp is written here; nobody holds it once the program runs
  int control = -1;  // the first process's end: its peer's closing is the owner's end
  int inlet = -1;    // SupervisorEnds::inlet's other end; with Network::granted
  pid_t owner = -1;  // the process that started all this
  int gate = -1;     // the program's process waits here for its tracer; with a host_view
};

/// Says that `report.stage` failed, and leaves.
[[noreturn]] void give_up(const ChildEnds& ends, const SetUp& report) noexcept;

/// Lays the last layers on the calling process, in a session of its own, and runs the program.
/// Async-signal-safe.
[[noreturn]] void run_payload(const Prepared::Parts& parts, const ChildEnds& ends) noexcept;

/// Lets go of every capability, for good, whatever is executed later. 0 or an errno.
[[nodiscard]] int drop_capabilities() noexcept;

/// The body of the first process in the new namespaces: builds the root, starts the program, reaps,
/// and ends with it or with its owner.
[[noreturn]] void run_init(const Prepared::Parts& parts, const ChildEnds& ends) noexcept;

}  // namespace aegis::confine
