// SPDX-License-Identifier: Apache-2.0 OR MIT
// Text from a record, made safe to show on a terminal. Internal to this folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace aegis::audit {

enum class Backslash : std::uint8_t { keep, twice };

/// Appends `text` with every control, line separator, and character that is invisible or turns the
/// direction of text as \uxxxx (above U+FFFF two of them, as JSON writes it). `text` is UTF-8.
void append_printable(std::string_view text, Backslash backslash, std::string& out);

}  // namespace aegis::audit
