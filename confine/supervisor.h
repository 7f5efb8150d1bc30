// SPDX-License-Identifier: Apache-2.0 OR MIT
// The process that connects for the confined program, and answers its look-ups. It is a fork of
// aegis with nothing of aegis's open, of the same user, in the host's network namespace, and
// outside of the program's pid namespace. It judges by egress.h alone. When it ends, every call
// that it supervised fails with ENOSYS: nothing passes for want of a judge.
#pragma once

#include <vector>

#include "confine/egress.h"
#include "confine/fd.h"
#include "confine/resolve.h"

namespace aegis::confine {

struct SupervisorEnds {
  /// A SOCK_SEQPACKET unix socket by which the program's side hands over the resolver's socket and
  /// the listener (net_child.h). The other end may be closed once the program runs.
  Fd inlet;
  /// A SOCK_SEQPACKET unix socket that takes NetReports. Nothing waits for its reader: what it has
  /// no room for is counted (NetReport::lost).
  Fd reports;
  /// A socket or the reading end of a pipe: the closing of its other end is the supervisor's end.
  Fd control;
};

/// The body of a fork. Ends when nobody is left whom it could supervise, when `control` says so,
/// and when its parent dies. `resolve` runs in forks of it: resolve_by_system, but in tests.
[[noreturn]] void run_supervisor(SupervisorEnds ends,
                                 const std::vector<NetGrant>& grants,
                                 const ResolveName& resolve) noexcept;

}  // namespace aegis::confine
