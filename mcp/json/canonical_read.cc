// SPDX-License-Identifier: Apache-2.0 OR MIT
// The reading half of canonical JSON: one pass that knows one spelling only. What it stops at is
// named by asking afterwards whether the text is JSON at all, so that the common case pays nothing
// for the question.
#include <algorithm>
#include <cassert>

#include "mcp/json/canonical.h"
#include "mcp/json/canonical_shape.h"
#include "mcp/json/canonical_utf8.h"

namespace aegis::mcp::json {
namespace {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

constexpr int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// The number that four hex digits spell; -1 when they are not four hex digits.
constexpr int hex_quad(std::string_view digits) {
  if (digits.size() < 4) return -1;
  int value = 0;
  for (const char c : digits.substr(0, 4)) {
    const int digit = hex_value(c);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

constexpr bool is_high_surrogate(int unit) {
  return unit >= 0xD800 && unit <= 0xDBFF;
}
constexpr bool is_low_surrogate(int unit) {
  return unit >= 0xDC00 && unit <= 0xDFFF;
}

/// What is wrong with an escape that canonical form does not use. `rest` begins at the 'u' of "\u".
CanonicalFlaw::Kind judge_unicode_escape(std::string_view rest) {
  using Kind = CanonicalFlaw::Kind;
  const int unit = hex_quad(rest.substr(1));
  if (unit < 0) return Kind::not_json;
  if (is_low_surrogate(unit)) return Kind::lone_surrogate;
  if (!is_high_surrogate(unit)) return Kind::escape_form;
  const std::string_view other = rest.substr(5);
  const bool is_pair = other.substr(0, 2) == "\\u" && is_low_surrogate(hex_quad(other.substr(2)));
  return is_pair ? Kind::escape_form : Kind::lone_surrogate;
}

/// The character that a canonical two-character escape stands for; '\0' when there is none.
constexpr char short_escape(char c) {
  switch (c) {
    case '"':
    case '\\':
      return c;
    case 'b':
      return '\b';
    case 't':
      return '\t';
    case 'n':
      return '\n';
    case 'f':
      return '\f';
    case 'r':
      return '\r';
    default:
      return '\0';
  }
}

/// The first byte of `text` that is not a plain character of a string: '"', '\\', a control, or not
/// ASCII.
std::size_t find_special(std::string_view text) {
  const auto is_plain = [](char c) {
    const auto byte = static_cast<std::uint8_t>(c);
    return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
  };
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_plain) -
                                  text.begin());
}

/// A flaw that one pass met, seen in the light of the whole text.
CanonicalFlaw settle(std::string_view text, CanonicalFlaw flaw) {
  JsonShape shape;
  shape.feed(text);
  switch (shape.verdict()) {
    case JsonShape::Verdict::complete:
      assert(!flaw.may_be_torn());
      return flaw;
    case JsonShape::Verdict::blank:
      return {CanonicalFlaw::Kind::blank, 0};
    case JsonShape::Verdict::not_utf8:
      return {CanonicalFlaw::Kind::not_utf8, shape.offset()};
    case JsonShape::Verdict::too_deep:
      return {CanonicalFlaw::Kind::too_deep, shape.offset()};
    case JsonShape::Verdict::not_json:
      break;
  }
  return {CanonicalFlaw::Kind::not_json, shape.offset()};
}

}  // namespace

std::string_view describe(CanonicalFlaw::Kind kind) {
  using Kind = CanonicalFlaw::Kind;
  switch (kind) {
    case Kind::not_json:
      return "not one complete JSON value";
    case Kind::not_utf8:
      return "not UTF-8";
    case Kind::blank:
      return "a blank line";
    case Kind::byte_order_mark:
      return "a byte-order mark";
    case Kind::white_space:
      return "white space between values";
    case Kind::escape_form:
      return "an escape in another than the canonical form";
    case Kind::lone_surrogate:
      return "a lone surrogate";
    case Kind::number:
      return "a number that is no integer from 0 to 2^53-1";
    case Kind::null_value:
      return "null";
    case Kind::member_order:
      return "members out of order";
    case Kind::repeated_member:
      return "a repeated member";
    case Kind::too_long:
      return "longer than 64 KiB";
    case Kind::too_deep:
      return "nested deeper than 16 levels";
  }
  return {};
}

std::optional<CanonicalFlaw> CanonicalReader::read(std::string_view text) {
  text_ = text;
  at_ = 0;
  depth_ = 0;
  name_ = {};
  nodes_.clear();
  decoded_.clear();
  if (text.size() > kMaxCanonicalSize) {
    return settle(text, {Kind::too_long, kMaxCanonicalSize});
  }
  Next next = Next::value;
  while (next == Next::value || next == Next::separator) {
    next = next == Next::value ? read_value() : read_separator();
  }
  if (next == Next::end) return std::nullopt;
  return settle(text, flaw_);
}

bool CanonicalReader::fail(Kind kind) {
  flaw_ = {kind, at_};
  return false;
}

CanonicalReader::Next CanonicalReader::stop(Kind kind) {
  fail(kind);
  return Next::failed;
}

CanonicalFlaw::Kind CanonicalReader::unexpected() const {
  const std::string_view rest = text_.substr(at_);
  if (!rest.empty() && std::string_view{" \t\n\r"}.find(rest.front()) != std::string_view::npos) {
    return Kind::white_space;
  }
  return at_ == 0 && rest.substr(0, 3) == "\xEF\xBB\xBF" ? Kind::byte_order_mark : Kind::not_json;
}

CanonicalNode& CanonicalReader::add(CanonicalNode::Type type, std::size_t begin) {
  CanonicalNode& node = nodes_.emplace_back();
  node.type = type;
  node.name = name_;
  node.member_at = member_at_;
  node.raw = text_.substr(begin, at_ - begin);
  name_ = {};
  member_at_ = 0;
  return node;
}

CanonicalReader::Next CanonicalReader::read_value() {
  if (at_ == text_.size()) return stop(Kind::not_json);
  const std::size_t begin = at_;
  bool is_read = false;
  switch (text_[at_]) {
    case '{':
      return open_level(CanonicalNode::Type::object);
    case '[':
      return open_level(CanonicalNode::Type::array);
    case '"': {
      std::string_view decoded;
      is_read = read_string(decoded);
      if (is_read) add(CanonicalNode::Type::string, begin).string = decoded;
      break;
    }
    case 't':
      is_read = read_literal("true");
      break;
    case 'f':
      is_read = read_literal("false");
      break;
    case 'n':
      fail(Kind::null_value);
      break;
    case '-':
      fail(Kind::number);
      break;
    default:
      is_read = is_digit(text_[at_]) ? read_integer() : fail(unexpected());
      break;
  }
  return is_read ? Next::separator : Next::failed;
}

CanonicalReader::Next CanonicalReader::read_separator() {
  if (depth_ == 0) {
    return at_ == text_.size() ? Next::end : stop(unexpected());
  }
  const bool is_object = nodes_[levels_[depth_ - 1].node].is(CanonicalNode::Type::object);
  if (at(is_object ? '}' : ']')) return close_level();
  if (!at(',')) return stop(unexpected());
  ++at_;
  return !is_object || read_name() ? Next::value : Next::failed;
}

CanonicalReader::Next CanonicalReader::open_level(CanonicalNode::Type type) {
  if (depth_ == levels_.size()) return stop(Kind::too_deep);
  const bool is_object = type == CanonicalNode::Type::object;
  levels_[depth_++] = Level{static_cast<std::uint32_t>(nodes_.size()), {}, false};
  add(type, at_);
  ++at_;
  if (at(is_object ? '}' : ']')) return close_level();
  return !is_object || read_name() ? Next::value : Next::failed;
}

CanonicalReader::Next CanonicalReader::close_level() {
  ++at_;
  CanonicalNode& node = nodes_[levels_[--depth_].node];
  node.span = static_cast<std::uint32_t>(&nodes_.back() - &node) + 1;
  // The view was begun at the opening bracket, with no length.
  node.raw = {node.raw.data(), static_cast<std::size_t>(text_.data() + at_ - node.raw.data())};
  return Next::separator;
}

bool CanonicalReader::read_name() {
  const std::size_t begin = at_;
  if (!at('"')) return fail(unexpected());
  std::string_view name;
  if (!read_string(name)) return false;
  if (!at(':')) return fail(unexpected());
  Level& level = levels_[depth_ - 1];
  if (level.has_members && !is_name_before(level.last_name, name)) {
    at_ = begin;
    return fail(level.last_name == name ? Kind::repeated_member : Kind::member_order);
  }
  ++at_;
  level.last_name = name;
  level.has_members = true;
  name_ = name;
  member_at_ = static_cast<std::uint32_t>(begin);
  return true;
}

bool CanonicalReader::read_integer() {
  const std::size_t begin = at_;
  std::uint64_t value = 0;
  for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
    value = value * 10 + static_cast<std::uint64_t>(text_[at_] - '0');
    if (value > kMaxInteger) return fail(Kind::number);
  }
  if (at('.') || at('e') || at('E')) return fail(Kind::number);
  if (text_[begin] == '0' && at_ - begin > 1) return fail(Kind::not_json);
  add(CanonicalNode::Type::integer, begin).integer = value;
  return true;
}

bool CanonicalReader::read_literal(std::string_view word) {
  const std::size_t begin = at_;
  if (text_.substr(at_, word.size()) != word) return fail(Kind::not_json);
  at_ += word.size();
  add(CanonicalNode::Type::boolean, begin).boolean = word == "true";
  return true;
}

bool CanonicalReader::read_string(std::string_view& decoded) {
  const std::size_t begin = ++at_;
  const std::size_t decoded_begin = decoded_.size();
  std::size_t copied = begin;  // text_ from here is not in decoded_ yet
  for (at_ += find_special(text_.substr(at_)); !at('"'); at_ += find_special(text_.substr(at_))) {
    if (!at('\\')) {
      if (!read_sequence()) return false;
      continue;
    }
    if (decoded_.capacity() < text_.size()) decoded_.reserve(text_.size());
    decoded_.append(text_.substr(copied, at_ - copied));
    if (!read_escape()) return false;
    copied = at_;
  }
  decoded = text_.substr(copied, at_ - copied);
  if (copied != begin) {
    decoded_.append(decoded);
    decoded = std::string_view{decoded_}.substr(decoded_begin);
  }
  ++at_;
  return true;
}

/// A character of more than one byte; at the text's end and at a control there is none.
bool CanonicalReader::read_sequence() {
  if (at_ == text_.size() || static_cast<std::uint8_t>(text_[at_]) < 0x20)
    return fail(Kind::not_json);
  const std::size_t size = canonical::utf8_sequence(text_.substr(at_));
  at_ += size;
  return size > 0 || fail(Kind::not_utf8);
}

bool CanonicalReader::read_escape() {
  const std::string_view rest = text_.substr(at_ + 1);
  if (rest.empty()) return fail(Kind::not_json);
  if (const char c = short_escape(rest.front()); c != '\0') {
    decoded_ += c;
    at_ += 2;
    return true;
  }
  if (rest.front() == '/') return fail(Kind::escape_form);
  if (rest.front() != 'u') return fail(Kind::not_json);
  const int unit = hex_quad(rest.substr(1));
  const bool has_short_form = unit == 8 || unit == 9 || unit == 10 || unit == 12 || unit == 13;
  const bool is_lower = std::none_of(rest.begin() + 1,
                                     rest.begin() + 1 + (unit < 0 ? 0 : 4),
                                     [](char c) { return c >= 'A' && c <= 'F'; });
  if (unit < 0 || unit >= 0x20 || has_short_form || !is_lower) {
    return fail(judge_unicode_escape(rest));
  }
  decoded_ += static_cast<char>(unit);
  at_ += 6;
  return true;
}

}  // namespace aegis::mcp::json
