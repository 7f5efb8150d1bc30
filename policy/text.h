// SPDX-License-Identifier: Apache-2.0 OR MIT
// Code points of a text that nobody has judged yet, and how such a text is shown to people: on one
// line, with nothing in it that moves a cursor, hides itself or turns the reading direction.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace aegis::policy {

struct CodePoint {
  char32_t value = 0;
  std::size_t size = 0;  // bytes; 0 when there is no valid code point here (RFC 3629)
};

/// The code point at the front of `text`, which is not empty.
CodePoint decode_front(std::string_view text) noexcept;

/// All of `text`. Controls, separators of lines, marks of direction and bytes that are no UTF-8
/// become \u001b or \xff, and '\' becomes '\\', so that no two texts look the same.
std::string printable(std::string_view text);

/// For messages: printable, in double quotes, and cut after some forty code points.
std::string quoted(std::string_view text);

}  // namespace aegis::policy
