// SPDX-License-Identifier: Apache-2.0 OR MIT
// The signals of a process that runs a program for somebody.
#pragma once

#include "confine/fd.h"
#include "confine/result.h"

namespace aegis::wrap {

/// A signalfd of SIGTERM, SIGINT and SIGHUP, which are blocked from then on. SIGPIPE and SIGXFSZ
/// become errors of the call. SIGCHLD is at its default: ignored, no child could be waited for.
confine::Result<confine::Fd> take_signals();

}  // namespace aegis::wrap
