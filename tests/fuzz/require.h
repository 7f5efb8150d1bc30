// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a fuzz target holds its subject to; a fuzzer takes an abort for a finding.
#pragma once

#include <cstdlib>

namespace aegis::fuzz {

inline void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace aegis::fuzz
