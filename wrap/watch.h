// SPDX-License-Identifier: Apache-2.0 OR MIT
// Something that may happen while a program is waited for, besides its own words and its end.
#pragma once

#include <functional>
#include <optional>

#include "wrap/session.h"

namespace aegis::wrap {

/// Says so when the program must be ended for it, after telling the user why.
struct Watch {
  int fd = -1;  // readable when it has happened; its owner outlives the watch
  std::function<std::optional<Ending>()> on_ready;
};

}  // namespace aegis::wrap
