// SPDX-License-Identifier: Apache-2.0 OR MIT
// Says whether bytes, given in pieces of any size, are exactly one JSON value in UTF-8 (RFC 8259),
// in whatever spelling. That is what tells the torn end of a record from a Line that somebody
// rewrote. Builds nothing, needs the same memory for any length. A byte-order mark in front is let
// pass: a torn write does not leave one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "mcp/json/canonical.h"

namespace aegis::mcp::json {

class JsonShape {
 public:
  enum class Verdict : std::uint8_t { complete, blank, not_json, not_utf8, too_deep };

  void feed(std::string_view bytes);
  /// Of all that was fed, taken as the whole text.
  [[nodiscard]] Verdict verdict() const;
  /// Of the first byte that makes the text no JSON, or too deep; all that was fed when there is
  /// none.
  [[nodiscard]] std::size_t offset() const { return offset_; }

  /// Of a deeper text nothing more is known. None of kMaxCanonicalSize is deeper, so of a text that
  /// may be a Line it is always known.
  static constexpr std::size_t kMaxLevels = kMaxCanonicalSize;

 private:
  enum class State : std::uint8_t {
    start,
    value,
    value_or_end,  // after '['
    name,
    name_or_end,  // after '{'
    colon,
    separator,  // after a value
    string,
    continuation,  // inside a character of more than one byte
    escape,
    hex,
    word,  // true, false, null
    minus,
    zero,
    digits,
    point,
    fraction,
    exponent,
    exponent_sign,
    exponent_digits,
    failed_json,
    failed_utf8,
    failed_depth,
  };

  [[nodiscard]] State step(std::uint8_t byte);
  [[nodiscard]] State in_start(std::uint8_t byte);
  [[nodiscard]] State between_tokens(std::uint8_t byte);
  [[nodiscard]] State begin_value(std::uint8_t byte);
  [[nodiscard]] State begin_word(std::string_view rest);
  [[nodiscard]] State in_word(std::uint8_t byte);
  [[nodiscard]] State in_string(std::uint8_t byte);
  [[nodiscard]] State in_continuation(std::uint8_t byte);
  [[nodiscard]] State in_escape(std::uint8_t byte);
  [[nodiscard]] State in_integer(std::uint8_t byte);
  [[nodiscard]] State in_fraction(std::uint8_t byte);
  [[nodiscard]] State after_value(std::uint8_t byte);
  [[nodiscard]] State push(bool is_object);
  [[nodiscard]] State pop(bool is_object);
  [[nodiscard]] bool in_object() const;
  [[nodiscard]] bool has_failed() const {
    return state_ == State::failed_json || state_ == State::failed_utf8 ||
           state_ == State::failed_depth;
  }

  State state_ = State::start;
  bool is_name_ = false;     // the string being read is a member's name
  std::uint8_t left_ = 0;    // hex digits or continuation bytes still to come
  std::uint8_t low_ = 0x80;  // what the next continuation byte may be
  std::uint8_t high_ = 0xBF;
  std::uint8_t mark_ = 0;  // bytes of a byte-order mark seen
  std::string_view word_;  // what is still to come of a literal
  std::size_t depth_ = 0;
  std::size_t offset_ = 0;
  std::array<std::uint64_t, kMaxLevels / 64> objects_{};  // one bit a level
};

}  // namespace aegis::mcp::json
