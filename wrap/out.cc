// SPDX-License-Identifier: Apache-2.0 OR MIT
// stdout, written to the end or with a message.
#include "wrap/out.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "confine/result.h"
#include "wrap/log.h"

namespace aegis::wrap {

bool write_out(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN) {  // somebody who shares the description made it non-blocking
      pollfd ready{STDOUT_FILENO, POLLOUT, 0};
      ::poll(&ready, 1, -1);
      continue;
    }
    log(confine::errno_error("write the answer", "stdout"));
    return false;
  }
  return true;
}

}  // namespace aegis::wrap
