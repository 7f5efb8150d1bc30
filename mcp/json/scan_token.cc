// SPDX-License-Identifier: Apache-2.0 OR MIT
// The scanner's strings, numbers and words.
#include <algorithm>

#include "mcp/json/scan.h"
#include "mcp/json/string_scan.h"
#include "mcp/json/utf8.h"

namespace aegis::mcp::json {
namespace {

bool is_digit(char byte) {
  return byte >= '0' && byte <= '9';
}

/// False when there is no digit.
bool skip_digits(const char*& at, const char* end) {
  const char* const first = at;
  at = std::find_if_not(at, end, is_digit);
  return at != first;
}

bool is_at(const char* at, const char* end, char wanted) {
  return at != end && *at == wanted;
}

}  // namespace

bool Scanner::skip_literal(std::string_view literal) {
  const auto mismatch = std::mismatch(literal.begin(), literal.end(), at_, end_);
  at_ = mismatch.second;
  return mismatch.first == literal.end() || fail_here();
}

bool Scanner::skip_number() {
  if (*at_ == '-') ++at_;
  if (is_at(at_, end_, '0')) {
    ++at_;
  } else if (!skip_digits(at_, end_)) {
    return fail_here();
  }
  if (is_at(at_, end_, '.')) {
    ++at_;
    if (!skip_digits(at_, end_)) return fail_here();
  }
  if (is_at(at_, end_, 'e') || is_at(at_, end_, 'E')) {
    ++at_;
    if (is_at(at_, end_, '+') || is_at(at_, end_, '-')) ++at_;
    if (!skip_digits(at_, end_)) return fail_here();
  }
  return true;  // what may not follow a number fails at the next step
}

/// at_ is behind the opening quote.
bool Scanner::skip_long_string(bool& has_escapes) {
  if (rules_ == Rules::lenient) return skip_unjudged_string(has_escapes);
  has_escapes = false;
  for (;;) {
    const StringPart easy = skip_easy_text(at_, end_);
    has_escapes |= easy.has_escapes;
    at_ = easy.end;
    if (at_ == end_) return fail_here();
    const auto byte = static_cast<unsigned char>(*at_);
    if (byte == '"') {
      ++at_;
      return true;
    }
    if (byte < 0x20) return fail_here();
    has_escapes |= byte == '\\';
    const bool is_good = byte == '\\' ? skip_unicode_escape() : skip_multibyte();
    if (!is_good) return false;
  }
}

bool Scanner::skip_unjudged_string(bool& has_escapes) {
  const StringPart found = find_string_end(at_, end_);
  at_ = found.end;
  has_escapes = found.has_escapes;
  if (at_ == end_) return fail_here();
  ++at_;
  return true;
}

/// at_ is on a backslash that begins no short escape.
bool Scanner::skip_unicode_escape() {
  const char* const backslash = at_;
  const std::string_view rest{at_ + 1, static_cast<std::size_t>(end_ - at_ - 1)};
  const int unit = rest.starts_with('u') ? read_hex4(rest.substr(1)) : -1;
  if (unit < 0) return fail(Defect::Kind::syntax, backslash);
  at_ += 6;
  if (unit < 0xD800 || unit > 0xDFFF) return true;
  const bool may_pair = unit < 0xDC00 && rest.substr(5).starts_with("\\u");
  const int low = may_pair ? read_hex4(rest.substr(7)) : -1;
  if (low < 0xDC00 || low > 0xDFFF) return fail(Defect::Kind::lone_surrogate, backslash);
  at_ += 6;
  return true;
}

bool Scanner::skip_multibyte() {
  while (at_ != end_ && static_cast<unsigned char>(*at_) >= 0x80) {
    const std::size_t size = utf8_sequence_size({at_, static_cast<std::size_t>(end_ - at_)});
    if (size == 0) return fail(Defect::Kind::not_utf8, at_);
    at_ += size;
  }
  return true;
}

}  // namespace aegis::mcp::json
