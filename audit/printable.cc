// SPDX-License-Identifier: Apache-2.0 OR MIT
// A record's texts are whatever a client or another emitter put there: escape sequences and
// bidirectional overrides too.
#include "audit/printable.h"

#include <algorithm>
#include <array>

namespace aegis::audit {
namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};
// General categories Cc, Zl, Zp and Cf (Unicode 15).
constexpr std::array kUnsafe{
    Range{0x00, 0x1F},       Range{0x7F, 0x9F},       Range{0xAD, 0xAD},
    Range{0x600, 0x605},     Range{0x61C, 0x61C},     Range{0x6DD, 0x6DD},
    Range{0x70F, 0x70F},     Range{0x890, 0x891},     Range{0x8E2, 0x8E2},
    Range{0x180E, 0x180E},   Range{0x200B, 0x200F},   Range{0x2028, 0x202E},
    Range{0x2060, 0x206F},   Range{0xFEFF, 0xFEFF},   Range{0xFFF9, 0xFFFB},
    Range{0x110BD, 0x110BD}, Range{0x110CD, 0x110CD}, Range{0x13430, 0x1343F},
    Range{0x1BCA0, 0x1BCA3}, Range{0x1D173, 0x1D17A}, Range{0xE0001, 0xE007F},
};

bool is_unsafe(std::uint32_t code) {
  return std::any_of(kUnsafe.begin(), kUnsafe.end(), [code](const Range& range) {
    return code >= range.first && code <= range.last;
  });
}

/// The first character of `text`, which is UTF-8 and not empty, and how many bytes it has.
struct Character {
  std::uint32_t code;
  std::size_t size;
};
Character decode(std::string_view text) {
  const auto lead = static_cast<std::uint8_t>(text.front());
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  std::uint32_t code = lead & (0x7FU >> size);
  for (const char c : text.substr(1, size - 1))
    code = (code << 6U) | (static_cast<std::uint8_t>(c) & 0x3FU);
  return {code, size};
}

void append_unit(std::uint32_t unit, std::string& out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += "\\u";
  for (unsigned shift = 16; shift > 0; shift -= 4)
    out += kDigits[(unit >> (shift - 4)) & 15U];
}

void append_escaped(std::uint32_t code, std::string& out) {
  if (code <= 0xFFFF) {
    append_unit(code, out);
    return;
  }
  append_unit(0xD800 + ((code - 0x10000) >> 10U), out);
  append_unit(0xDC00 + ((code - 0x10000) & 0x3FFU), out);
}

}  // namespace

void append_printable(std::string_view text, Backslash backslash, std::string& out) {
  while (!text.empty()) {
    const Character character = decode(text);
    if (is_unsafe(character.code)) {
      append_escaped(character.code, out);
    } else {
      out += text.substr(0, character.size);
      if (character.code == '\\' && backslash == Backslash::twice) out += '\\';
    }
    text.remove_prefix(std::min(character.size, text.size()));
  }
}

}  // namespace aegis::audit
