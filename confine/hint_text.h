// SPDX-License-Identifier: Apache-2.0 OR MIT
// What can be read out of a line of a program's stderr, and how a piece of it is shown again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace aegis::confine {

/// The absolute paths that a line names: quoted or bare, behind file://, without what follows them
/// ("/x/y.js:12:3"). URLs hold none.
std::vector<std::string> paths_in(std::string_view line);

/// The word behind the first `mark`, of the letters that a host's name may have; empty when there
/// is none.
std::string host_behind(std::string_view line, std::string_view mark);

/// The names in upper case with a '_' that a line speaks of as variables of the environment.
std::vector<std::string> variables_in(std::string_view line);

/// One word for a shell, quoted when it must be. Control characters, what is no UTF-8, and
/// characters that hide or turn others around (bidirectional marks, zero width) become \xNN inside
/// $'...'.
std::string shell_word(std::string_view text);

/// Whether `line` holds `part` as whole words, whatever the case of its ASCII letters: "ENOTFOUND"
/// is not in "FileNotFoundError". `part` is in lower case and not empty.
bool says(std::string_view line, std::string_view part);

}  // namespace aegis::confine
