// SPDX-License-Identifier: Apache-2.0 OR MIT
// See randomness.h.
#include "wrap/randomness.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace aegis::wrap {

std::string SystemRandomness::hex128() {
  std::array<std::uint8_t, 16> bytes{};
  // Up to 256 bytes come whole or not at all (getrandom(2)).
  while (::getrandom(bytes.data(), bytes.size(), 0) < 0) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const std::uint8_t byte : bytes) {
    hex += kDigits[byte >> 4U];
    hex += kDigits[byte & 0xFU];
  }
  return hex;
}

}  // namespace aegis::wrap
