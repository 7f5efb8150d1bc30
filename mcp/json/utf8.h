// SPDX-License-Identifier: Apache-2.0 OR MIT
// UTF-8 one code point at a time, by RFC 3629. Writing also takes surrogates (the generalised form
// of WTF-8), so that texts which hold lone ones stay distinct; judging never accepts them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace aegis::mcp::json {

/// Bytes of the well-formed sequence that `text` starts with; 0 when it starts with none.
std::size_t utf8_sequence_size(std::string_view text) noexcept;

struct CodePoint {
  char32_t code;
  std::size_t size;  // bytes it takes
};
/// The code point that `text` starts with. `text` is not empty and well-formed.
CodePoint decode_utf8(std::string_view text) noexcept;

/// Appends `code` (at most U+10FFFF, surrogates included).
void append_utf8(char32_t code, std::string& out);

}  // namespace aegis::mcp::json
