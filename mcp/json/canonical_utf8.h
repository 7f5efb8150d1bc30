// SPDX-License-Identifier: Apache-2.0 OR MIT
// One step of UTF-8 (RFC 3629) for the canonical reader and writer. Internal to canonical*.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace aegis::mcp::json::canonical {

/// What may follow a lead byte: how many continuation bytes, and the range of the first of them,
/// which is what keeps out overlong forms, surrogates and code points above U+10FFFF.
struct Utf8Lead {
  std::uint8_t more;  // 0: no lead byte of a longer sequence
  std::uint8_t low;
  std::uint8_t high;
};

constexpr Utf8Lead utf8_lead(std::uint8_t byte) {
  if (byte < 0xC2 || byte > 0xF4) return {0, 0, 0};
  if (byte < 0xE0) return {1, 0x80, 0xBF};
  if (byte == 0xE0) return {2, 0xA0, 0xBF};
  if (byte == 0xED) return {2, 0x80, 0x9F};
  if (byte < 0xF0) return {2, 0x80, 0xBF};
  if (byte == 0xF0) return {3, 0x90, 0xBF};
  if (byte == 0xF4) return {3, 0x80, 0x8F};
  return {3, 0x80, 0xBF};
}

/// Bytes of the sequence longer than one byte that stands first in `text`; 0 when there is none.
constexpr std::size_t utf8_sequence(std::string_view text) {
  const Utf8Lead lead = utf8_lead(static_cast<std::uint8_t>(text[0]));
  if (lead.more == 0 || text.size() <= lead.more) return 0;
  const auto second = static_cast<std::uint8_t>(text[1]);
  if (second < lead.low || second > lead.high) return 0;
  for (std::size_t i = 2; i <= lead.more; ++i) {
    if ((static_cast<std::uint8_t>(text[i]) & 0xC0U) != 0x80U) return 0;
  }
  return lead.more + 1UL;
}

}  // namespace aegis::mcp::json::canonical
