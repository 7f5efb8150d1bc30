// SPDX-License-Identifier: Apache-2.0 OR MIT
// Table 3-7 of the Unicode standard: only the second byte of a sequence has a range that depends on
// the first.
#include "mcp/json/utf8.h"

#include <cassert>

namespace aegis::mcp::json {
namespace {

unsigned byte_at(std::string_view text, std::size_t index) noexcept {
  return static_cast<unsigned char>(text[index]);
}

bool is_continuation(unsigned byte) noexcept {
  return (byte & 0xC0U) == 0x80;
}

/// What keeps overlong forms (E0, F0), surrogates (ED) and what is above U+10FFFF (F4) out.
bool is_second_byte(unsigned lead, unsigned second) noexcept {
  switch (lead) {
    case 0xE0:
      return second >= 0xA0 && second <= 0xBF;
    case 0xED:
      return second >= 0x80 && second <= 0x9F;
    case 0xF0:
      return second >= 0x90 && second <= 0xBF;
    case 0xF4:
      return second >= 0x80 && second <= 0x8F;
    default:
      return is_continuation(second);
  }
}

std::size_t size_by_lead(unsigned lead) noexcept {
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) return 3;
  return lead < 0xF5 ? 4 : 0;
}

}  // namespace

std::size_t utf8_sequence_size(std::string_view text) noexcept {
  if (text.empty()) return 0;
  const unsigned lead = byte_at(text, 0);
  const std::size_t size = size_by_lead(lead);
  if (size <= 1) return size;
  if (text.size() < size || !is_second_byte(lead, byte_at(text, 1))) return 0;
  if (size > 2 && !is_continuation(byte_at(text, 2))) return 0;
  if (size > 3 && !is_continuation(byte_at(text, 3))) return 0;
  return size;
}

CodePoint decode_utf8(std::string_view text) noexcept {
  const unsigned lead = byte_at(text, 0);
  const std::size_t size = size_by_lead(lead);
  assert(size != 0 && size <= text.size());
  constexpr unsigned kLeadBits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
  char32_t code = lead & kLeadBits[size];
  for (std::size_t index = 1; index < size; ++index) {
    code = code << 6U | (byte_at(text, index) & 0x3FU);
  }
  return {code, size};
}

void append_utf8(char32_t code, std::string& out) {
  const auto put = [&out](char32_t byte) {
    out += static_cast<char>(static_cast<unsigned char>(byte));
  };
  if (code < 0x80) {
    put(code);
    return;
  }
  if (code < 0x800) {
    put(0xC0U | code >> 6U);
  } else if (code < 0x10000) {
    put(0xE0U | code >> 12U);
    put(0x80U | (code >> 6U & 0x3FU));
  } else {
    put(0xF0U | code >> 18U);
    put(0x80U | (code >> 12U & 0x3FU));
    put(0x80U | (code >> 6U & 0x3FU));
  }
  put(0x80U | (code & 0x3FU));
}

}  // namespace aegis::mcp::json
