// SPDX-License-Identifier: Apache-2.0 OR MIT
// The push-down automaton behind canonical_shape.h.
#include "mcp/json/canonical_shape.h"

#include "mcp/json/canonical_utf8.h"

namespace aegis::mcp::json {
namespace {

constexpr bool is_space(std::uint8_t byte) {
  return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}
constexpr bool is_digit(std::uint8_t byte) {
  return byte >= '0' && byte <= '9';
}
constexpr bool is_exponent(std::uint8_t byte) {
  return byte == 'e' || byte == 'E';
}
constexpr bool is_hex(std::uint8_t byte) {
  return is_digit(byte) || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
}

}  // namespace

void JsonShape::feed(std::string_view bytes) {
  for (const char c : bytes) {
    if (has_failed()) return;
    state_ = step(static_cast<std::uint8_t>(c));
    if (!has_failed()) ++offset_;
  }
}

JsonShape::Verdict JsonShape::verdict() const {
  if (state_ == State::failed_utf8) return Verdict::not_utf8;
  if (state_ == State::failed_depth) return Verdict::too_deep;
  if (state_ == State::start && mark_ == 0) return Verdict::blank;
  const bool may_end = state_ == State::separator || state_ == State::zero ||
                       state_ == State::digits || state_ == State::fraction ||
                       state_ == State::exponent_digits;
  return depth_ == 0 && may_end ? Verdict::complete : Verdict::not_json;
}

JsonShape::State JsonShape::step(std::uint8_t byte) {
  switch (state_) {
    case State::start:
      return in_start(byte);
    case State::value:
    case State::value_or_end:
    case State::name:
    case State::name_or_end:
    case State::colon:
    case State::separator:
      return is_space(byte) ? state_ : between_tokens(byte);
    case State::string:
      return in_string(byte);
    case State::continuation:
      return in_continuation(byte);
    case State::escape:
    case State::hex:
      return in_escape(byte);
    case State::word:
      return in_word(byte);
    case State::minus:
    case State::zero:
    case State::digits:
      return in_integer(byte);
    case State::point:
    case State::fraction:
    case State::exponent:
    case State::exponent_sign:
    case State::exponent_digits:
      return in_fraction(byte);
    case State::failed_json:
    case State::failed_utf8:
    case State::failed_depth:
      break;
  }
  return state_;
}

JsonShape::State JsonShape::between_tokens(std::uint8_t byte) {
  if (state_ == State::separator) return after_value(byte);
  if (state_ == State::colon) return byte == ':' ? State::value : State::failed_json;
  if (state_ == State::name_or_end && byte == '}') return pop(/*is_object=*/true);
  if (state_ == State::value_or_end && byte == ']') return pop(/*is_object=*/false);
  if (state_ == State::value || state_ == State::value_or_end) return begin_value(byte);
  is_name_ = true;
  return byte == '"' ? State::string : State::failed_json;
}

JsonShape::State JsonShape::in_start(std::uint8_t byte) {
  constexpr std::array<std::uint8_t, 3> kMark{0xEF, 0xBB, 0xBF};
  if (offset_ < kMark.size() && mark_ == offset_ && byte == kMark[mark_]) {
    ++mark_;
    return State::start;
  }
  if (mark_ == 1 || mark_ == 2) return State::failed_json;
  return is_space(byte) ? State::start : begin_value(byte);
}

JsonShape::State JsonShape::begin_value(std::uint8_t byte) {
  switch (byte) {
    case '{':
      return push(/*is_object=*/true);
    case '[':
      return push(/*is_object=*/false);
    case '"':
      is_name_ = false;
      return State::string;
    case 't':
      return begin_word("rue");
    case 'f':
      return begin_word("alse");
    case 'n':
      return begin_word("ull");
    case '-':
      return State::minus;
    case '0':
      return State::zero;
    default:
      return is_digit(byte) ? State::digits : State::failed_json;
  }
}

JsonShape::State JsonShape::begin_word(std::string_view rest) {
  word_ = rest;
  return State::word;
}

JsonShape::State JsonShape::in_word(std::uint8_t byte) {
  if (byte != static_cast<std::uint8_t>(word_.front())) return State::failed_json;
  word_.remove_prefix(1);
  return word_.empty() ? State::separator : State::word;
}

JsonShape::State JsonShape::in_string(std::uint8_t byte) {
  if (byte == '"') return is_name_ ? State::colon : State::separator;
  if (byte == '\\') return State::escape;
  if (byte < 0x20) return State::failed_json;
  if (byte < 0x80) return State::string;
  const canonical::Utf8Lead lead = canonical::utf8_lead(byte);
  if (lead.more == 0) return State::failed_utf8;
  left_ = lead.more;
  low_ = lead.low;
  high_ = lead.high;
  return State::continuation;
}

JsonShape::State JsonShape::in_continuation(std::uint8_t byte) {
  if (byte < low_ || byte > high_) return State::failed_utf8;
  low_ = 0x80;
  high_ = 0xBF;
  return --left_ == 0 ? State::string : State::continuation;
}

JsonShape::State JsonShape::in_escape(std::uint8_t byte) {
  if (state_ == State::hex) {
    if (!is_hex(byte)) return State::failed_json;
    return --left_ == 0 ? State::string : State::hex;
  }
  constexpr std::string_view kShort = "\"\\/bfnrt";
  if (byte == 'u') {
    left_ = 4;
    return State::hex;
  }
  return kShort.find(static_cast<char>(byte)) != kShort.npos ? State::string : State::failed_json;
}

JsonShape::State JsonShape::in_integer(std::uint8_t byte) {
  if (state_ == State::minus) {
    if (byte == '0') return State::zero;
    return is_digit(byte) ? State::digits : State::failed_json;
  }
  if (byte == '.') return State::point;
  if (is_exponent(byte)) return State::exponent;
  return state_ == State::digits && is_digit(byte) ? State::digits : after_value(byte);
}

JsonShape::State JsonShape::in_fraction(std::uint8_t byte) {
  const bool in_exponent = state_ != State::point && state_ != State::fraction;
  if (is_digit(byte)) return in_exponent ? State::exponent_digits : State::fraction;
  if (state_ == State::exponent && (byte == '+' || byte == '-')) return State::exponent_sign;
  if (state_ == State::fraction && is_exponent(byte)) return State::exponent;
  const bool may_end = state_ == State::fraction || state_ == State::exponent_digits;
  return may_end ? after_value(byte) : State::failed_json;
}

JsonShape::State JsonShape::after_value(std::uint8_t byte) {
  if (is_space(byte)) return State::separator;
  if (depth_ == 0) return State::failed_json;
  if (byte == ',') return in_object() ? State::name : State::value;
  if (byte == ']' || byte == '}') return pop(/*is_object=*/byte == '}');
  return State::failed_json;
}

JsonShape::State JsonShape::push(bool is_object) {
  if (depth_ == kMaxLevels) return State::failed_depth;
  const std::uint64_t bit = std::uint64_t{1} << (depth_ % 64);
  std::uint64_t& word = objects_[depth_ / 64];
  word = is_object ? word | bit : word & ~bit;
  ++depth_;
  return is_object ? State::name_or_end : State::value_or_end;
}

JsonShape::State JsonShape::pop(bool is_object) {
  if (in_object() != is_object) return State::failed_json;
  --depth_;
  return State::separator;
}

bool JsonShape::in_object() const {
  return ((objects_[(depth_ - 1) / 64] >> ((depth_ - 1) % 64)) & 1U) != 0;
}

}  // namespace aegis::mcp::json
