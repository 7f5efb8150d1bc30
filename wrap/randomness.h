// SPDX-License-Identifier: Apache-2.0 OR MIT
// The kernel's random source, for session and approval ids.
#pragma once

#include <string>

#include "wrap/session.h"

namespace aegis::wrap {

class SystemRandomness final : public Randomness {
 public:
  /// getrandom(2). Throws std::system_error where the kernel has none (before Linux 3.17): main
  /// reports it.
  std::string hex128() override;
};

}  // namespace aegis::wrap
