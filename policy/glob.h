// SPDX-License-Identifier: Apache-2.0 OR MIT
// Globs over paths of a workspace: what `denied_patterns` are made of. No file is looked at.
//
// `*` any text within one component, `?` one character, `[a-z]` `[!a-z]` one of a set; `**` alone
// between slashes any number of components, none included. There is no escape: `[*]` is an
// asterisk. Letters match whatever their case (folded.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace aegis::policy {

/// What is wrong with `pattern`, and what to write instead; nothing when it can be used.
std::optional<std::string> find_glob_flaw(std::string_view pattern);

/// Whether `pattern`, which has no flaw, denies `path`: normalised and folded, "" is the root. A
/// pattern without a slash denies what bears such a name wherever it lies, one with a slash what
/// lies there from the root on; either with all that is in it.
bool does_glob_cover(std::string_view pattern, std::string_view path);

}  // namespace aegis::policy
