// SPDX-License-Identifier: Apache-2.0 OR MIT
// Puts a connected socket of the host's network where the program had one of its own: under every
// descriptor of that process which refers to it, and in every epoll instance where it was
// registered. Descriptors in other processes, and in flight between them, keep the old one.
#pragma once

#include "confine/caller.h"
#include "confine/listener.h"

namespace aegis::confine {

/// `old`: the supervisor's copy of the socket that `call` named, whose O_NONBLOCK `fresh` takes
/// over. The caller waits for its answer meanwhile. 0 or an errno; then some places may have been
/// changed.
[[nodiscard]] int swap_socket(
    const Listener& listener, const Call& call, const Caller& caller, int old, int fresh);

}  // namespace aegis::confine
