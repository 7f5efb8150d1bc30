// SPDX-License-Identifier: Apache-2.0 OR MIT
// Tables rather than branches: a verifier decodes some 500 digits for each call on the record.
#include "audit/hex.h"

namespace aegis::audit {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::uint8_t kNoDigit = 0xFF;

constexpr std::array<std::uint8_t, 256> make_values() {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (std::size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<std::uint8_t>(kDigits[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}
constexpr std::array<std::uint8_t, 256> kValues = make_values();

}  // namespace

std::array<char, 64> hex_of(const std::array<std::uint8_t, 32>& bytes) {
  std::array<char, 64> text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    text[2 * i] = kDigits[bytes[i] >> 4U];
    text[2 * i + 1] = kDigits[bytes[i] & 15U];
  }
  return text;
}

void append_hex(std::span<const std::uint8_t> bytes, std::string& out) {
  for (const std::uint8_t byte : bytes) {
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 15U];
  }
}

bool decode_hex(std::string_view text, std::span<std::uint8_t> out) {
  if (text.size() != out.size() * 2) return false;
  std::uint8_t seen = 0;  // has a high bit once a digit was none
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint8_t high = kValues[static_cast<std::uint8_t>(text[2 * i])];
    const std::uint8_t low = kValues[static_cast<std::uint8_t>(text[2 * i + 1])];
    seen = static_cast<std::uint8_t>(seen | high | low);
    out[i] = static_cast<std::uint8_t>(unsigned{high} << 4U | (low & 15U));
  }
  return seen < 16;
}

}  // namespace aegis::audit
