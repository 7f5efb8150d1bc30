// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "policy/text.h"

#include <array>

namespace aegis::policy {
namespace {

constexpr std::size_t kQuotedCodePoints = 40;

struct Range {
  char32_t first;
  char32_t last;
};
// Sorted. Sources: ECMA-48 controls; UAX #9 (direction); UAX #14 (line ends); U+FEFF and zero
// widths hide.
constexpr std::array<Range, 10> kHidden = {{{0x00, 0x1F},
                                            {0x7F, 0x9F},
                                            {0xAD, 0xAD},
                                            {0x61C, 0x61C},
                                            {0x200B, 0x200F},
                                            {0x2028, 0x202E},
                                            {0x2060, 0x206F},
                                            {0xFEFF, 0xFEFF},
                                            {0xFFF9, 0xFFFB},
                                            {0xE0000, 0xE007F}}};

bool is_hidden(char32_t value) {
  for (const Range& range : kHidden) {
    if (value <= range.last) return value >= range.first;
  }
  return false;
}

void append_hex(char32_t value, int digits, std::string& out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) {
    out += kDigits[(value >> shift) & 0xF];
  }
}

void append_printable(CodePoint point, std::string_view bytes, std::string& out) {
  if (point.size == 0) {
    out += "\\x";
    append_hex(static_cast<unsigned char>(bytes.front()), 2, out);
  } else if (point.value == U'\\') {
    out += "\\\\";
  } else if (!is_hidden(point.value)) {
    out += bytes.substr(0, point.size);
  } else if (point.value <= 0xFFFF) {
    out += "\\u";
    append_hex(point.value, 4, out);
  } else {
    out += "\\U";
    append_hex(point.value, 8, out);
  }
}

}  // namespace

CodePoint decode_front(std::string_view text) noexcept {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return {};
  // Overlong forms, surrogates and what lies above U+10FFFF all show in the second byte (RFC 3629,
  // section 4).
  const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < low || byte(1) > high) return {};
  char32_t value = lead & (0x7FU >> size);
  for (std::size_t at = 1; at < size; ++at) {
    if ((byte(at) & 0xC0U) != 0x80U) return {};
    value = (value << 6U) | (byte(at) & 0x3FU);
  }
  return {value, size};
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = decode_front(text);
    append_printable(point, text, out);
    text.remove_prefix(point.size == 0 ? 1 : point.size);
  }
  return out;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (std::size_t shown = 0; !text.empty(); ++shown) {
    if (shown == kQuotedCodePoints) {
      out += "...";
      break;
    }
    const CodePoint point = decode_front(text);
    append_printable(point, text, out);
    text.remove_prefix(point.size == 0 ? 1 : point.size);
  }
  return out += '"';
}

}  // namespace aegis::policy
