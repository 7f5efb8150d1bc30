// SPDX-License-Identifier: Apache-2.0 OR MIT
// The walk over a text's structure. What stands between quotes, and numbers and words, is
// scan_token.cc's.
#include "mcp/json/scan.h"

#include <algorithm>
#include <cassert>

#include "mcp/json/string_scan.h"
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
  outer_kinds_.clear();
  if (outer_kinds_.capacity() > kKeptKinds) outer_kinds_.shrink_to_fit();
  if (!text.starts_with(kByteOrderMark)) return;
  if (rules_ == Rules::strict) {
    fail(Defect::Kind::byte_order_mark, begin_);
  } else {
    at_ += kByteOrderMark.size();
  }
}

/// Nothing is left to look at after a defect, so that steps need not ask whether there was one.
bool Scanner::fail(Defect::Kind kind, const char* where) {
  if (!defect_) defect_ = Defect{kind, static_cast<std::size_t>(where - begin_)};
  at_ = end_;
  return false;
}

/// What stands at at_ cannot stand there.
bool Scanner::fail_here() {
  if (at_ == end_) return fail(Defect::Kind::syntax, at_);
  const auto byte = static_cast<unsigned char>(*at_);
  if (byte == 0) return fail(Defect::Kind::nul, at_);
  if (byte < 0x20) return fail(Defect::Kind::control_character, at_);
  const std::string_view rest{at_, static_cast<std::size_t>(end_ - at_)};
  return fail(utf8_sequence_size(rest) == 0 ? Defect::Kind::not_utf8 : Defect::Kind::syntax, at_);
}

/// False at the end of the text or after a defect.
inline bool Scanner::skip_space() {
  return (at_ != end_ && *at_ > ' ') || skip_more_space();
}

bool Scanner::skip_more_space() {
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

/// at_ is on the opening quote. Most strings are short and plain: one look ends them.
inline bool Scanner::skip_string(bool& has_escapes) {
  ++at_;
  const unsigned length = plain_text_in_16(at_, end_);
  if (length >= 16 || at_[length] != '"') return skip_long_string(has_escapes);
  has_escapes = false;
  at_ += length + 1;
  return true;
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

/// Steps over a scalar, or into a container. at_ is on its first byte.
inline bool Scanner::begin_value(Value& value) {
  value.has_escapes = false;
  switch (*at_) {
    case '"':
      value.type = Type::string;
      return skip_string(value.has_escapes);
    case '{':
      value.type = Type::object;
      return open(Type::object, {});
    case '[':
      value.type = Type::array;
      return open(Type::array, {});
    case 't':
      value.type = Type::boolean;
      return skip_literal("true");
    case 'f':
      value.type = Type::boolean;
      return skip_literal("false");
    case 'n':
      value.type = Type::null;
      return skip_literal("null");
    default:
      value.type = Type::number;
      return skip_number();
  }
}

bool Scanner::take(Value& value) {
  if (!skip_space()) return fail_here();
  const char* const first = at_;
  const std::size_t depth = depth_;
  if (!begin_value(value)) return false;
  if (depth_ > depth && !skip_nested()) return false;
  value.lexeme = {first, static_cast<std::size_t>(at_ - first)};
  return true;
}

/// Leaves the container just entered.
bool Scanner::skip_nested() {
  const std::size_t outside = depth_ - 1;
  Value ignored;
  while (depth_ > outside) {
    if (in_object() ? next_member() : next_element()) {
      if (!skip_space()) return fail_here();
      if (!begin_value(ignored)) return false;
    } else if (defect_) {
      return false;
    }
  }
  return true;
}

bool Scanner::enter_object(DecidingNames deciding) {
  return open(Type::object, deciding);
}

bool Scanner::enter_array() {
  return open(Type::array, {});
}

bool Scanner::open(Type type, DecidingNames deciding) {
  if (at_ == end_) return false;  // behind a defect
  assert(*at_ == (type == Type::object ? '{' : '['));
  if (depth_ == kMaxDepth && rules_ == Rules::strict) return fail(Defect::Kind::too_deep, at_);
  ++at_;
  just_opened_ = true;
  const bool is_object = type == Type::object;
  if (depth_ % 64 == 0) outer_kinds_.push_back(kinds_);
  kinds_ = kinds_ << 1U | (is_object ? 1U : 0U);
  ++depth_;
  if (is_object && rules_ == Rules::strict) levels_[depth_] = {names_.size(), deciding};
  return true;
}

/// Leaves the container whose last byte at_ is on. Always false, for its callers.
bool Scanner::close() {
  ++at_;
  just_opened_ = false;
  const bool has_names = in_object() && rules_ == Rules::strict;
  kinds_ >>= 1U;
  --depth_;
  if (depth_ % 64 == 0) {
    kinds_ = outer_kinds_.back();
    outer_kinds_.pop_back();
  }
  if (!has_names) return false;
  const Level& level = levels_[depth_ + 1];
  const NameRule rule = level.deciding.empty() ? NameRule::exact : NameRule::folded;
  const auto repeat = names_.find_repeat(level.first_name, rule);
  names_.drop_to(level.first_name);
  if (!repeat) return false;
  return fail(repeat->is_exact ? Defect::Kind::repeated_member : Defect::Kind::folded_member,
              begin_ + repeat->offset);
}

/// To the next member or element: false when `closer` closed the container.
inline bool Scanner::step(char closer) {
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

bool Scanner::next_member() {
  if (!step('}')) return false;
  if (!skip_space() || *at_ != '"') return fail_here();
  const char* const first = at_ + 1;
  if (!skip_string(name_.has_escapes)) return false;
  name_.raw = {first, static_cast<std::size_t>(at_ - 1 - first)};
  if (!skip_space() || *at_ != ':') return fail_here();
  ++at_;
  return rules_ == Rules::lenient || note_name();
}

inline bool Scanner::note_name() {
  const DecidingNames deciding = levels_[depth_].deciding;
  if (deciding.empty()) {
    names_.add(name_);
    return true;
  }
  return names_.add_own_fold(name_) || note_folded_name(deciding);
}

/// A name with escapes, capitals or letters outside ASCII, where names decide.
bool Scanner::note_folded_name(DecidingNames deciding) {
  const NameTable::Spelling spelling = names_.add_folded(name_);
  if (spelling.decoded.find('\0') != std::string_view::npos) {
    return fail(Defect::Kind::nul, name_.raw.data());
  }
  if (spelling.decoded == spelling.folded) return true;
  const bool decides =
      std::find(deciding.begin(), deciding.end(), spelling.folded) != deciding.end();
  return !decides || fail(Defect::Kind::folded_member, name_.raw.data());
}

bool Scanner::finish() {
  if (defect_) return false;
  if (!skip_space()) return !defect_;
  return fail(Defect::Kind::trailing, at_);
}

}  // namespace aegis::mcp::json
