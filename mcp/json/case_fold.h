// SPDX-License-Identifier: Apache-2.0 OR MIT
// Unicode simple case folding: what a case-insensitive JSON reader compares names by. Simple
// folding maps one code point to one, needs no locale and no normalisation; full and Turkic folding
// are not here.
#pragma once

#include <string>
#include <string_view>

namespace aegis::mcp::json {

/// The code point that `code` folds to; itself when it has no fold.
char32_t fold_case(char32_t code) noexcept;

/// Appends `text`, each code point folded. `text` is valid UTF-8.
void append_folded(std::string_view text, std::string& out);

}  // namespace aegis::mcp::json
