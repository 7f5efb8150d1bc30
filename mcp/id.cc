// SPDX-License-Identifier: Apache-2.0 OR MIT
// The key under which an id is looked up. Numbers become significant digits and a power of ten, so
// that no exponent, however large, is ever written out.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mcp/json/text.h"
#include "mcp/message.h"

namespace aegis::mcp {
namespace {

std::string_view take_digits(std::string_view& rest) {
  const std::size_t size = std::min(rest.find_first_not_of("0123456789"), rest.size());
  const std::string_view digits = rest.substr(0, size);
  rest.remove_prefix(size);
  return digits;
}

/// Nothing for an exponent that is not worth adding to: such a number keeps its own text.
std::optional<std::int64_t> parse_exponent(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  constexpr std::int64_t kLimit = 1'000'000'000'000'000'000;
  if (error != std::errc{} || stop != end || value > kLimit || value < -kLimit) return std::nullopt;
  return value;
}

/// "-15e-1": sign, digits that neither start nor end in 0, power of ten. Zero is "0" whatever its
/// sign: JavaScript answers -0 with 0.
void append_number(std::string_view lexeme, std::string& out) {
  std::string_view rest = lexeme;
  const bool is_negative = rest.starts_with('-');
  if (is_negative) rest.remove_prefix(1);
  std::string digits{take_digits(rest)};
  std::int64_t exponent = 0;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    const std::string_view fraction = take_digits(rest);
    digits += fraction;
    exponent -= static_cast<std::int64_t>(fraction.size());
  }
  const std::size_t last = digits.find_last_not_of('0');
  if (last == std::string::npos) {
    out += '0';
    return;
  }
  const auto written = rest.empty() ? 0 : parse_exponent(rest.substr(1));
  if (!written) {
    out += lexeme;
    return;
  }
  exponent += *written + static_cast<std::int64_t>(digits.size() - 1 - last);
  const std::size_t first = digits.find_first_not_of('0');
  if (is_negative) out += '-';
  out.append(digits, first, last + 1 - first);
  if (exponent != 0) out += 'e' + std::to_string(exponent);
}

}  // namespace

void append_id_key(const Id& id, std::string& out) {
  switch (id.type) {
    case Id::Type::absent:
      out += '-';
      return;
    case Id::Type::null:
      out += '0';
      return;
    case Id::Type::other:
      out += '?' + std::string{id.lexeme};
      return;
    case Id::Type::number:
      out += 'n';
      append_number(id.lexeme, out);
      return;
    case Id::Type::string:
      out += 's';
      json::append_decoded(id.lexeme.substr(1, id.lexeme.size() - 2), out);
      return;
  }
}

}  // namespace aegis::mcp
