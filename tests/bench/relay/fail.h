// SPDX-License-Identifier: Apache-2.0 OR MIT
// How a benchmark program gives up: it has measured nothing worth keeping, so it says why and ends.
// Not for a missed bar, which is a result.
#pragma once

#include <string_view>

namespace aegis::relay_bench {

/// Prints "aegis_relay_bench: <doing>: <strerror>" (no reason when errno is 0) and leaves at once
/// with status 1. No destructor runs: every process here may end at any time, since its neighbours
/// see the end of their input and the supervisor in main.cc removes the folder.
[[noreturn]] void fail(std::string_view doing);

}  // namespace aegis::relay_bench
