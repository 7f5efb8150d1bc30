// SPDX-License-Identifier: Apache-2.0 OR MIT
// A JSON string as it stands in a text, and what it says once its escapes are read.
#pragma once

#include <string>
#include <string_view>

namespace aegis::mcp::json {

/// Views the text it was found in.
struct Text {
  std::string_view raw = {};  // what stands between the quotes
  bool has_escapes = false;   // else `raw` is what it says
};

/// Appends what `raw` says: escapes read, everything else byte for byte. A lone surrogate comes out
/// in WTF-8, and an escape that JSON does not know as the characters after its backslash: only
/// lenient readings hold such.
void append_decoded(std::string_view raw, std::string& out);

/// The four hex digits that `digits` starts with; negative when it does not start with four.
int read_hex4(std::string_view digits) noexcept;

}  // namespace aegis::mcp::json
