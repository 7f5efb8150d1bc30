// SPDX-License-Identifier: Apache-2.0 OR MIT
// "Only these sockets", written as the refusals that a deny list can hold.
#pragma once

#include <span>

#include "confine/filter_builder.h"
#include "confine/result.h"

namespace aegis::confine {

inline constexpr int kAny = -1;

/// As socket(2) names it.
struct Socket {
  int domain = 0;
  int type = 0;      // without flags, or kAny
  int protocol = 0;  // or kAny
};

/// Refuses `call`, socket(2) or socketpair(2), with EAFNOSUPPORT for all that is not `allowed`.
Result<void> refuse_other_sockets(FilterBuilder& builder,
                                  int call,
                                  std::span<const Socket> allowed);

}  // namespace aegis::confine
