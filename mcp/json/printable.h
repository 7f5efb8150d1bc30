// SPDX-License-Identifier: Apache-2.0 OR MIT
// How a text that somebody else wrote is shown to people: on one line, with nothing in it that
// moves a cursor, hides itself or turns the reading direction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace aegis::mcp::json {

/// twice: no two texts look the same. keep: for a text that is JSON, where every backslash has its
/// meaning already.
enum class Backslash : std::uint8_t { twice, keep };

/// Appends all of `text`. Controls, separators of lines, marks of direction and what is invisible
/// become \u001b (above U+FFFF two of them, as JSON writes it), bytes that are no UTF-8 \xff.
void append_printable(std::string_view text, Backslash backslash, std::string& out);
std::string printable(std::string_view text, Backslash backslash = Backslash::twice);

/// The same of the character, or the byte that starts none, that `text` begins with. Returns how
/// many bytes of `text` that was. `text` is not empty.
std::size_t append_printable_front(std::string_view text, Backslash backslash, std::string& out);

}  // namespace aegis::mcp::json
