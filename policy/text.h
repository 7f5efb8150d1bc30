// SPDX-License-Identifier: Apache-2.0 OR MIT
// How a text that nobody has judged is shown to people: on one line, with nothing in it that moves
// a cursor, hides itself or turns the reading direction.
#pragma once

#include <string>
#include <string_view>

namespace aegis::policy {

/// All of `text`. Controls, separators of lines, marks of direction and bytes that are no UTF-8
/// become \u001b or \xff, and '\' becomes '\\', so that no two texts look the same.
std::string printable(std::string_view text);

/// For messages: printable, in double quotes, and cut after some forty code points.
std::string quoted(std::string_view text);

}  // namespace aegis::policy
