// SPDX-License-Identifier: Apache-2.0 OR MIT
// Opening and reading what a user named, when it can only be a regular file: a FIFO would make a
// start wait for ever, a device would never end.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "confine/fd.h"
#include "confine/result.h"

namespace aegis::wrap {

/// For reading. `doing` is for messages: "read the policy".
confine::Result<confine::Fd> open_regular(std::string_view doing, const std::string& path);

/// The whole file, or its first `max_bytes` bytes when it has more. `path` is for messages.
struct ReadWhat {
  std::string_view doing;
  const std::string& path;
  std::size_t max_bytes;
};
confine::Result<std::string> read_up_to(const confine::Fd& file, const ReadWhat& what);

}  // namespace aegis::wrap
