// SPDX-License-Identifier: Apache-2.0 OR MIT
// Whether bytes that have no certain reading could still make some reader run a tool. It looks for
// the word and knows no structure, because no two careless readers agree on that.
#pragma once

#include <cstdint>
#include <string_view>

namespace aegis::mcp {

/// whole: the bytes are one JSON value, however defective. piece: they are not, so that a reader
/// which joins frames, or reads only a part of one, may find the word across their edges.
enum class Extent : std::uint8_t { whole, piece };

/// False only when no reader can find "tools/call" there: not in any case, with any escapes, nor
/// after dropping NULs, control characters and bytes outside ASCII (which also covers UTF-16), nor
/// from overlong UTF-8.
bool may_hold_call(std::string_view bytes, Extent extent);

}  // namespace aegis::mcp
