// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reads the bytes as the letters that the most careless reader sees, and looks for the word among
// them.
#include "mcp/suspicion.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "mcp/json/text.h"
#include "mcp/message.h"

namespace aegis::mcp {
namespace {

/// One letter as a careless reader sees it: 0 for what such a reader may drop.
struct Letter {
  char value;
  std::size_t size;  // bytes it took
};

unsigned byte_at(std::string_view bytes, std::size_t index) {
  return index < bytes.size() ? static_cast<unsigned char>(bytes[index]) : 0U;
}

Letter make_letter(unsigned code, std::size_t size) {
  if (code < 0x20 || code >= 0x7F) return {0, size};
  const bool is_upper = code >= 'A' && code <= 'Z';
  return {static_cast<char>(is_upper ? code + 0x20 : code), size};
}

/// "\u0074" and "\x74" are letters, "\/" is what follows the backslash.
Letter read_escape(std::string_view bytes) {
  const unsigned kind = byte_at(bytes, 1) | 0x20U;
  if (kind == 'u') {
    const int unit = json::read_hex4(bytes.substr(std::min<std::size_t>(2, bytes.size())));
    if (unit >= 0) return make_letter(static_cast<unsigned>(unit), 6);
  }
  if (kind == 'x' && bytes.size() >= 4) {
    const char digits[] = {'0', '0', bytes[2], bytes[3]};
    const int unit = json::read_hex4({digits, sizeof digits});
    if (unit >= 0) return make_letter(static_cast<unsigned>(unit), 4);
  }
  return {0, 1};  // the backslash goes, what follows it is read for itself
}

/// UTF-8 of two to four bytes for what fits in one.
Letter read_overlong(std::string_view bytes) {
  const unsigned lead = byte_at(bytes, 0);
  const std::size_t size = lead >= 0xF0 ? 4 : (lead >= 0xE0 ? 3 : 2);
  const unsigned head = byte_at(bytes, size - 2);
  const unsigned last = byte_at(bytes, size - 1);
  const bool is_overlong =
      size == 2 ? (lead == 0xC0 || lead == 0xC1) : head == 0x80 || head == 0x81;
  if (!is_overlong || (last & 0xC0U) != 0x80) return {0, 1};
  return make_letter((head & 1U) << 6U | (last & 0x3FU), size);
}

Letter read_letter(std::string_view bytes) {
  const unsigned byte = byte_at(bytes, 0);
  if (byte == '\\') return read_escape(bytes);
  if (byte >= 0xC0) return read_overlong(bytes);
  return make_letter(byte, 1);
}

/// `head` is, or starts with, what the word has left after a cut.
bool starts_inside_word(std::string_view head) {
  for (std::size_t cut = 1; cut < kToolsCall.size(); ++cut) {
    const std::string_view rest = kToolsCall.substr(cut);
    if (!head.empty() && (head.starts_with(rest) || rest.starts_with(head))) return true;
  }
  return false;
}

}  // namespace

bool may_hold_call(std::string_view bytes, Extent extent) {
  std::size_t matched = 0;
  std::string head;  // the first letters, fewer than the word has
  while (!bytes.empty()) {
    const Letter letter = read_letter(bytes);
    bytes.remove_prefix(letter.size);
    if (letter.value == 0) continue;
    // The word's first letter stands nowhere else in it: a mismatch restarts there or not at all.
    if (letter.value != kToolsCall[matched]) matched = 0;
    if (letter.value == kToolsCall[matched]) ++matched;
    if (matched == kToolsCall.size()) return true;
    if (head.size() < kToolsCall.size()) head += letter.value;
  }
  if (extent == Extent::whole) return false;
  return matched > 0 || starts_inside_word(head);
}

}  // namespace aegis::mcp
