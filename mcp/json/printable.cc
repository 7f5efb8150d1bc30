// SPDX-License-Identifier: Apache-2.0 OR MIT
// What may not reach a terminal as it is, and how it is written instead.
#include "mcp/json/printable.h"

#include <array>
#include <cassert>

#include "mcp/json/utf8.h"

namespace aegis::mcp::json {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};
// Sorted. General categories Cc, Cf, Zl and Zp (Unicode 15).
constexpr std::array<Range, 21> kHidden = {
    {{0x00, 0x1F},       {0x7F, 0x9F},       {0xAD, 0xAD},       {0x600, 0x605},
     {0x61C, 0x61C},     {0x6DD, 0x6DD},     {0x70F, 0x70F},     {0x890, 0x891},
     {0x8E2, 0x8E2},     {0x180E, 0x180E},   {0x200B, 0x200F},   {0x2028, 0x202E},
     {0x2060, 0x206F},   {0xFEFF, 0xFEFF},   {0xFFF9, 0xFFFB},   {0x110BD, 0x110BD},
     {0x110CD, 0x110CD}, {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A},
     {0xE0001, 0xE007F}}};

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

void append_unit(char32_t unit, std::string& out) {
  out += "\\u";
  append_hex(unit, 4, out);
}

}  // namespace

std::size_t append_printable_front(std::string_view text, Backslash backslash, std::string& out) {
  assert(!text.empty());
  const std::size_t size = utf8_sequence_size(text);
  if (size == 0) {
    out += "\\x";
    append_hex(static_cast<unsigned char>(text.front()), 2, out);
    return 1;
  }
  const char32_t code = decode_utf8(text).code;
  if (!is_hidden(code)) {
    out += text.substr(0, size);
    if (code == U'\\' && backslash == Backslash::twice) out += '\\';
  } else if (code <= 0xFFFF) {
    append_unit(code, out);
  } else {
    append_unit(0xD800 + ((code - 0x10000) >> 10U), out);
    append_unit(0xDC00 + ((code - 0x10000) & 0x3FFU), out);
  }
  return size;
}

void append_printable(std::string_view text, Backslash backslash, std::string& out) {
  while (!text.empty())
    text.remove_prefix(append_printable_front(text, backslash, out));
}

std::string printable(std::string_view text, Backslash backslash) {
  std::string out;
  out.reserve(text.size());
  append_printable(text, backslash, out);
  return out;
}

}  // namespace aegis::mcp::json
