// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reads escapes. It judges none: the scanner did, or was told not to.
#include "mcp/json/text.h"

#include <algorithm>

#include "mcp/json/utf8.h"

namespace aegis::mcp::json {
namespace {

int hex_value(char digit) noexcept {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

bool is_high_surrogate(int unit) noexcept {
  return unit >= 0xD800 && unit <= 0xDBFF;
}
bool is_low_surrogate(int unit) noexcept {
  return unit >= 0xDC00 && unit <= 0xDFFF;
}

char short_escape(char letter) noexcept {
  switch (letter) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return letter;  // '"', '\\', '/'
  }
}

/// `rest` starts behind "\u". Returns the bytes read.
std::size_t append_unicode_escape(std::string_view rest, std::string& out) {
  const int unit = read_hex4(rest);
  if (unit < 0) {
    out += 'u';
    return 0;
  }
  const bool may_pair = is_high_surrogate(unit) && rest.substr(4, 2) == "\\u";
  const int low = may_pair ? read_hex4(rest.substr(6)) : -1;
  if (!is_low_surrogate(low)) {
    append_utf8(static_cast<char32_t>(unit), out);
    return 4;
  }
  append_utf8(0x10000U + (static_cast<char32_t>(unit - 0xD800) << 10U) +
                  static_cast<char32_t>(low - 0xDC00),
              out);
  return 10;
}

}  // namespace

int read_hex4(std::string_view digits) noexcept {
  if (digits.size() < 4) return -1;
  int value = 0;
  for (std::size_t index = 0; index < 4; ++index) {
    const int digit = hex_value(digits[index]);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

void append_decoded(std::string_view raw, std::string& out) {
  while (!raw.empty()) {
    const std::size_t plain = std::min(raw.find('\\'), raw.size());
    out.append(raw.substr(0, plain));
    raw.remove_prefix(plain);
    if (raw.size() < 2) break;  // the scanner ends no string behind a lone backslash
    const char letter = raw[1];
    raw.remove_prefix(2);
    if (letter == 'u') {
      raw.remove_prefix(append_unicode_escape(raw, out));
    } else {
      out += short_escape(letter);
    }
  }
}

}  // namespace aegis::mcp::json
