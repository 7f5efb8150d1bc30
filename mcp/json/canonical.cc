// SPDX-License-Identifier: Apache-2.0 OR MIT
// The writing half of canonical JSON, the order of names, and the look-up of members. Reading is
// canonical_read.cc.
#include "mcp/json/canonical.h"

#include <algorithm>
#include <cassert>
#include <charconv>

#include "mcp/json/canonical_utf8.h"

namespace aegis::mcp::json {
namespace {

constexpr bool is_plain(char c) {
  return static_cast<std::uint8_t>(c) >= 0x20 && c != '"' && c != '\\';
}

}  // namespace

bool is_encodable(std::string_view text) {
  while (!text.empty()) {
    const bool is_ascii = static_cast<std::uint8_t>(text.front()) < 0x80;
    const std::size_t size = is_ascii ? 1 : canonical::utf8_sequence(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

bool is_name_before(std::string_view left, std::string_view right) {
  const auto [l, r] = std::mismatch(left.begin(), left.end(), right.begin(), right.end());
  if (l == left.end() || r == right.end()) return r != right.end();
  const auto a = static_cast<std::uint8_t>(*l);
  const auto b = static_cast<std::uint8_t>(*r);
  // Bytes order as code points do. UTF-16 writes those above U+FFFF (lead bytes from 0xF0) with
  // surrogates, which stand below U+E000 to U+FFFF (lead bytes 0xEE and 0xEF). No continuation byte
  // is that high.
  if (a >= 0xEE && b >= 0xEE && (a >= 0xF0) != (b >= 0xF0)) return a >= 0xF0;
  return a < b;
}

void append_escape(char c, std::string& out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto byte = static_cast<std::uint8_t>(c);
  out += '\\';
  switch (c) {
    case '"':
    case '\\':
      out += c;
      return;
    case '\b':
      out += 'b';
      return;
    case '\t':
      out += 't';
      return;
    case '\n':
      out += 'n';
      return;
    case '\f':
      out += 'f';
      return;
    case '\r':
      out += 'r';
      return;
    default:
      break;
  }
  out += "u00";
  out += kDigits[byte >> 4U];
  out += kDigits[byte & 15U];
}

void append_string(std::string_view text, std::string& out) {
  assert(is_encodable(text));
  out += '"';
  while (!text.empty()) {
    const auto special = std::find_if_not(text.begin(), text.end(), is_plain);
    const auto plain = static_cast<std::size_t>(special - text.begin());
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    append_escape(text.front(), out);
    text.remove_prefix(1);
  }
  out += '"';
}

void append_integer(std::uint64_t value, std::string& out) {
  assert(value <= kMaxInteger);
  std::array<char, 20> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), end);
}

void CanonicalWriter::before_value() {
  if (after_name_ || depth_ == 0) {
    after_name_ = false;
    return;
  }
  Level& level = levels_[depth_ - 1];
  if (level.has_items) out_ += ',';
  level.has_items = true;
}

void CanonicalWriter::push(char bracket) {
  assert(depth_ < levels_.size());
  before_value();
  out_ += bracket;
  levels_[depth_++] = Level{};
}

void CanonicalWriter::pop(char bracket) {
  assert(depth_ > 0 && !after_name_);
  out_ += bracket;
  --depth_;
}

void CanonicalWriter::begin_object() {
  push('{');
}
void CanonicalWriter::end_object() {
  pop('}');
}
void CanonicalWriter::begin_array() {
  push('[');
}
void CanonicalWriter::end_array() {
  pop(']');
}

void CanonicalWriter::name(std::string_view name) {
  assert(depth_ > 0 && !after_name_ && is_encodable(name));
  assert(std::all_of(name.begin(), name.end(), is_plain));
  Level& level = levels_[depth_ - 1];
  assert(!level.has_items ||
         is_name_before(std::string_view{out_}.substr(level.name_at, level.name_size), name));
  if (level.has_items) out_ += ',';
  out_ += '"';
  level = Level{out_.size(), name.size(), true};
  out_ += name;
  out_ += "\":";
  after_name_ = true;
}

void CanonicalWriter::string(std::string_view text) {
  before_value();
  append_string(text, out_);
}

void CanonicalWriter::integer(std::uint64_t value) {
  before_value();
  append_integer(value, out_);
}

void CanonicalWriter::truth(Truth value) {
  before_value();
  out_ += value == Truth::yes ? "true" : "false";
}

const CanonicalNode* find_member(const CanonicalNode& object, std::string_view name) {
  if (!object.is(CanonicalNode::Type::object)) return nullptr;
  for (const CanonicalNode* node = object.first(); node != object.end(); node = node->next()) {
    if (node->name == name) return node;
  }
  return nullptr;
}

std::optional<std::string_view> find_string(const CanonicalNode& object, std::string_view name) {
  const CanonicalNode* node = find_member(object, name);
  if (node == nullptr || !node->is(CanonicalNode::Type::string)) return std::nullopt;
  return node->string;
}

std::optional<std::uint64_t> find_integer(const CanonicalNode& object, std::string_view name) {
  const CanonicalNode* node = find_member(object, name);
  if (node == nullptr || !node->is(CanonicalNode::Type::integer)) return std::nullopt;
  return node->integer;
}

}  // namespace aegis::mcp::json
