// SPDX-License-Identifier: Apache-2.0 OR MIT
// Carries the three streams of a confined command to aegis's own, as bytes, until it ends: `aegis
// confine`. What speaks a protocol goes through the loop (loop.h) instead.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "confine/fd.h"
#include "wrap/server.h"
#include "wrap/watch.h"

namespace aegis::wrap {

struct PumpOptions {
  confine::Fd signals;                           // signalfd of SIGTERM, SIGINT and SIGHUP
  std::optional<std::uint64_t> max_output = {};  // bytes of stdout and stderr together
  std::vector<Watch> watches = {};
  std::function<void(std::string_view)> on_errors = {};  // what goes to stderr; may be empty
};

struct Pumped {
  int exit_code;
  std::optional<int> wait_status;  // nothing when aegis ended it, or its end could not be told
};
/// `server` has been started. The exit code is the command's own, 128 + n for its signal or
/// ours, 125 when it cannot be told. More output than allowed ends it, which stderr says.
Pumped run_pump(Server& server, PumpOptions options);

}  // namespace aegis::wrap
