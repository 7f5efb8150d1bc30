// SPDX-License-Identifier: Apache-2.0 OR MIT
// See exit_codes.h.
#include "wrap/exit_codes.h"

#include <sys/wait.h>

namespace aegis::wrap {

int exit_code_of(int wait_status) {
  if (WIFEXITED(wait_status)) return WEXITSTATUS(wait_status);
  return kSignalBase + WTERMSIG(wait_status);
}

}  // namespace aegis::wrap
