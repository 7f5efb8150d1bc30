// SPDX-License-Identifier: Apache-2.0 OR MIT
// The key under which an id is looked up. Numbers become significant digits and a power of ten, so
// that no exponent, however large, is ever written out.
#include <algorithm>
#include <charconv>

#include "mcp/json/text.h"
#include "mcp/message.h"

namespace aegis::mcp {
namespace {

struct Number {
  bool is_negative = false;
  std::string_view whole = {};
  std::string_view fraction = {};
  std::int64_t exponent = 0;
};

std::string_view take_digits(std::string_view& rest) {
  const std::size_t size = std::min(rest.find_first_not_of("0123456789"), rest.size());
  const std::string_view digits = rest.substr(0, size);
  rest.remove_prefix(size);
  return digits;
}

/// Exponents of 18 digits and more are not worth adding to: such a number keeps its own text.
std::optional<std::int64_t> parse_exponent(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  constexpr std::int64_t kLimit = 100'000'000'000'000'000;
  if (error != std::errc{} || stop != end || value >= kLimit || value <= -kLimit)
    return std::nullopt;
  return value;
}

std::optional<Number> parse_number(std::string_view lexeme) {
  Number number;
  number.is_negative = lexeme.starts_with('-');
  if (number.is_negative) lexeme.remove_prefix(1);
  number.whole = take_digits(lexeme);
  if (lexeme.starts_with('.')) {
    lexeme.remove_prefix(1);
    number.fraction = take_digits(lexeme);
  }
  if (lexeme.empty()) return number;
  const auto exponent = parse_exponent(lexeme.substr(1));
  if (!exponent) return std::nullopt;
  number.exponent = *exponent;
  return number;
}

/// "-15e-1": sign, digits that neither start nor end in 0, power of ten. Zero is "0" whatever its
/// sign: JavaScript answers -0 with 0.
void append_number(std::string_view lexeme, std::string& out) {
  const std::optional<Number> number = parse_number(lexeme);
  if (!number) {
    out += lexeme;
    return;
  }
  const std::size_t start = out.size();
  if (number->is_negative) out += '-';
  const std::size_t digits = out.size();
  out += number->whole;
  out += number->fraction;
  const std::size_t last = out.find_last_not_of('0');
  if (last == std::string::npos || last < digits) {
    out.replace(start, std::string::npos, "0");
    return;
  }
  const auto dropped = static_cast<std::int64_t>(out.size() - 1 - last);
  out.resize(last + 1);
  out.erase(digits, out.find_first_not_of('0', digits) - digits);
  const auto shift = dropped - static_cast<std::int64_t>(number->fraction.size());
  if (number->exponent + shift != 0) out += 'e' + std::to_string(number->exponent + shift);
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
