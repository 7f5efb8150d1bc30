// SPDX-License-Identifier: Apache-2.0 OR MIT
// The process behind `aegis mcp`: mcp::BuiltinServer on standard input and output. It has no key,
// no record and no workspace; those are its wrap's.
#pragma once

#include <cstddef>

namespace aegis::wrap {

/// Answers the frames of descriptor 0 on descriptor 1 until the first ends or the second is closed.
/// Blocks. A frame of more than `max_frame` bytes ends it too: nothing behind it could be told from
/// it.
void serve_builtin(std::size_t max_frame) noexcept;

}  // namespace aegis::wrap
