// SPDX-License-Identifier: Apache-2.0 OR MIT
// How a text that nobody has judged is shown to people: on one line, with nothing in it that moves
// a cursor, hides itself or turns the reading direction.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace aegis::policy {

/// twice: no two texts look the same. keep: for a text that is JSON, where every backslash has its
/// meaning already.
enum class Backslash : std::uint8_t { twice, keep };

/// All of `text`. Controls, separators of lines, marks of direction and what is invisible become
/// \u001b (above U+FFFF two of them, as JSON writes it), bytes that are no UTF-8 \xff.
std::string printable(std::string_view text, Backslash backslash = Backslash::twice);

/// For messages: printable, in double quotes, and cut after some forty code points.
std::string quoted(std::string_view text);

}  // namespace aegis::policy
