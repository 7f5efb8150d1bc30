// SPDX-License-Identifier: Apache-2.0 OR MIT
// The walk over a text's structure. What stands between quotes, and numbers and words, is
// scan_token.cc's.
#include "mcp/json/scan.h"

#include <algorithm>
#include <cassert>

#include "mcp/json/utf8.h"

namespace aegis::mcp::json {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
/// Scratch that one deep frame needed is not kept for the next.
constexpr std::size_t kKeptKinds = 1024;

}  // namespace

void Scanner::start(std::string_view text, Rules rules) {
  begin_ = at_ = text.data();
  end_ = begin_ + text.size();
  rules_ = rules;
  just_opened_ = false;
  depth_ = 0;
  defect_.reset();
  names_.start(text);
  if (kinds_.empty() || kinds_.size() > kKeptKinds) {
    kinds_.assign(1, 0);
    kinds_.shrink_to_fit();
  }
  levels_.resize(kMaxDepth + 1);
  if (!text.starts_with(kByteOrderMark)) return;
  if (rules_ == Rules::strict) {
    fail(Defect::Kind::byte_order_mark, begin_);
  } else {
    at_ += kByteOrderMark.size();
  }
}

bool Scanner::fail(Defect::Kind kind, const char* where) {
  if (!defect_) defect_ = Defect{kind, static_cast<std::size_t>(where - begin_)};
  return false;
}

/// What stands at at_ cannot stand there.
bool Scanner::fail_here() {
  if (at_ == end_) return fail(Defect::Kind::syntax, at_);
  const auto byte = static_cast<unsigned char>(*at_);
  if (byte == 0) return fail(Defect::Kind::nul, at_);
  if (byte < 0x20 && byte != '\t') return fail(Defect::Kind::control_character, at_);
  const std::string_view rest{at_, static_cast<std::size_t>(end_ - at_)};
  return fail(utf8_sequence_size(rest) == 0 ? Defect::Kind::not_utf8 : Defect::Kind::syntax, at_);
}

/// False at the end of the text or after a defect.
bool Scanner::skip_space() {
  if (defect_) return false;
  for (; at_ != end_; ++at_) {
    const char byte = *at_;
    const bool is_line_break = byte == '\r' || byte == '\n';
    if (is_line_break && rules_ == Rules::strict) {
      return fail(Defect::Kind::control_character, at_);
    }
    if (byte != ' ' && byte != '\t' && !is_line_break) return true;
  }
  return false;
}

std::optional<Type> Scanner::peek() {
  if (!skip_space()) {
    fail_here();
    return std::nullopt;
  }
  switch (*at_) {
    case '{':
      return Type::object;
    case '[':
      return Type::array;
    case '"':
      return Type::string;
    case 't':
    case 'f':
      return Type::boolean;
    case 'n':
      return Type::null;
    default:
      break;
  }
  if (*at_ == '-' || (*at_ >= '0' && *at_ <= '9')) return Type::number;
  fail_here();
  return std::nullopt;
}

bool Scanner::take(Value& value) {
  const std::optional<Type> type = peek();
  if (!type) return false;
  const char* const first = at_;
  value.type = *type;
  value.has_escapes = false;
  bool is_good = false;
  switch (*type) {
    case Type::object:
      is_good = enter_object() && skip_nested();
      break;
    case Type::array:
      is_good = enter_array() && skip_nested();
      break;
    case Type::string:
      is_good = skip_string(value.has_escapes);
      break;
    case Type::number:
      is_good = skip_number();
      break;
    case Type::boolean:
      is_good = skip_literal(*at_ == 't' ? "true" : "false");
      break;
    case Type::null:
      is_good = skip_literal("null");
      break;
  }
  value.lexeme = {first, static_cast<std::size_t>(at_ - first)};
  return is_good;
}

/// Leaves the container just entered.
bool Scanner::skip_nested() {
  const std::size_t outside = depth_ - 1;
  Text name;
  Value value;
  while (depth_ > outside && !defect_) {
    const bool has_next = in_object() ? next_member(name) : next_element();
    if (!has_next) continue;
    const std::optional<Type> type = peek();
    if (type == Type::object) {
      enter_object();
    } else if (type == Type::array) {
      enter_array();
    } else if (type) {
      take(value);  // never nests here
    }
  }
  return !defect_;
}

bool Scanner::enter_object(DecidingNames deciding) {
  return open(Type::object, deciding);
}

bool Scanner::enter_array() {
  return open(Type::array, {});
}

bool Scanner::open(Type type, DecidingNames deciding) {
  if (defect_) return false;
  assert(at_ != end_ && *at_ == (type == Type::object ? '{' : '['));
  if (depth_ == kMaxDepth && rules_ == Rules::strict) return fail(Defect::Kind::too_deep, at_);
  ++at_;
  ++depth_;
  just_opened_ = true;
  if (depth_ / 64 == kinds_.size()) kinds_.push_back(0);
  const std::uint64_t bit = std::uint64_t{1} << depth_ % 64;
  std::uint64_t& kinds = kinds_[depth_ / 64];
  kinds = type == Type::object ? kinds | bit : kinds & ~bit;
  if (rules_ == Rules::strict && type == Type::object) levels_[depth_] = {names_.size(), deciding};
  return true;
}

bool Scanner::close() {
  const bool was_object = in_object();
  ++at_;
  const std::size_t level = depth_--;
  just_opened_ = false;
  if (rules_ == Rules::lenient || !was_object) return false;
  const NameRule rule = levels_[level].deciding.empty() ? NameRule::exact : NameRule::folded;
  const auto repeat = names_.find_repeat(levels_[level].first_name, rule);
  names_.drop_to(levels_[level].first_name);
  if (!repeat) return false;
  return fail(repeat->is_exact ? Defect::Kind::repeated_member : Defect::Kind::folded_member,
              begin_ + repeat->offset);
}

/// To the next member or element: false when `closer` closed the container.
bool Scanner::step(char closer) {
  if (!skip_space()) return fail_here();
  if (*at_ == closer) return close();
  if (just_opened_) {
    just_opened_ = false;
    return true;
  }
  if (*at_ != ',') return fail_here();
  ++at_;
  return true;
}

bool Scanner::next_element() {
  return step(']');
}

bool Scanner::next_member(Text& name) {
  if (!step('}')) return false;
  if (!skip_space() || *at_ != '"') return fail_here();
  const char* const first = at_ + 1;
  if (!skip_string(name.has_escapes)) return false;
  name.raw = {first, static_cast<std::size_t>(at_ - 1 - first)};
  if (!skip_space() || *at_ != ':') return fail_here();
  ++at_;
  return rules_ == Rules::lenient || note_name(name);
}

bool Scanner::note_name(Text name) {
  const DecidingNames deciding = levels_[depth_].deciding;
  if (deciding.empty()) {
    names_.add(name);
    return true;
  }
  const NameTable::Folded folded = names_.add_folded(name);
  if (folded.name.find('\0') != std::string_view::npos) {
    return fail(Defect::Kind::nul, name.raw.data());
  }
  const bool decides = std::find(deciding.begin(), deciding.end(), folded.name) != deciding.end();
  if (folded.has_changed && decides) return fail(Defect::Kind::folded_member, name.raw.data());
  return true;
}

bool Scanner::finish() {
  if (defect_) return false;
  if (!skip_space()) return !defect_;
  return fail(Defect::Kind::trailing, at_);
}

}  // namespace aegis::mcp::json
