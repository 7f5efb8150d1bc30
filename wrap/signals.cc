// SPDX-License-Identifier: Apache-2.0 OR MIT
// See signals.h.
#include "wrap/signals.h"

#include <sys/signalfd.h>

#include <csignal>

namespace aegis::wrap {

confine::Result<confine::Fd> take_signals() {
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, nullptr);
  ::sigaction(SIGXFSZ, &ignore, nullptr);
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &standard, nullptr);
  sigset_t handled;
  ::sigemptyset(&handled);
  for (const int number : {SIGTERM, SIGINT, SIGHUP})
    ::sigaddset(&handled, number);
  if (::sigprocmask(SIG_BLOCK, &handled, nullptr) != 0)
    return confine::errno_error("block signals");
  confine::Fd fd(::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.is_open()) return confine::errno_error("make a signalfd");
  return fd;
}

}  // namespace aegis::wrap
