// SPDX-License-Identifier: Apache-2.0 OR MIT
// Says why and leaves; see the header.
#include "tests/bench/relay/fail.h"

#include <string.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace aegis::relay_bench {

void fail(std::string_view doing) {
  std::string line = "aegis_relay_bench: ";
  line += doing;
  if (errno != 0) line.append(": ").append(strerrordesc_np(errno));
  line += '\n';
  // Nothing is left to do when even this is refused.
  static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
  ::_exit(1);
}

}  // namespace aegis::relay_bench
