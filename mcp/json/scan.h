// SPDX-License-Identifier: Apache-2.0 OR MIT
// The strict scanner: one pass over one JSON text, saying whether every reader must read it the
// same way, and where its top-level members stand. It never throws, never recurses, and keeps its
// scratch memory between texts, so that a text of ordinary size costs no allocation. It knows no
// MCP word.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/json/names.h"
#include "mcp/json/text.h"

namespace aegis::mcp::json {

/// Why a text does not have exactly one certain reading. The first one found counts.
struct Defect {
  enum class Kind : std::uint8_t {
    empty,              // nothing but white space
    syntax,             // not JSON (RFC 8259)
    trailing,           // something after the one value
    not_utf8,           // RFC 3629
    byte_order_mark,    // U+FEFF first
    nul,                // byte 0, anywhere
    control_character,  // a raw control inside a string, or '\r' anywhere but as the frame's last
                        // byte
    lone_surrogate,     // \ud800 without its other half
    too_deep,           // more than kMaxDepth levels
    repeated_member,    // one object holds one member twice, escapes decoded
    folded_member,   // two names of one object equal under simple case folding, or one folds to a
                     // deciding name
    nested_batch,    // an array inside a batch array
    not_a_message,   // JSON, but no JSON-RPC request, notification or response
    content_length,  // an LSP header line instead of a frame
    batch_too_long,  // more messages than one batch may have
  };
  Kind kind;
  std::size_t offset;  // bytes from the frame's first byte
};

/// Levels of arrays and objects that a frame may nest.
inline constexpr std::size_t kMaxDepth = 512;

/// A sentence for people, without a final stop, that names the place and what to do: "one object
/// holds the same member twice (byte 41), and readers differ …". It never repeats what the frame
/// holds.
std::string describe(const Defect& defect);

enum class Type : std::uint8_t { object, array, string, number, boolean, null };

struct Value {
  Type type = Type::null;
  std::string_view lexeme = {};  // all its bytes, a string's quotes included
  bool has_escapes = false;      // of a string

  /// Of a string.
  [[nodiscard]] Text text() const { return {lexeme.substr(1, lexeme.size() - 2), has_escapes}; }
};

/// strict: every defect above ends the scan. lenient: the text must tokenise, but strings may hold
/// any bytes and any escapes, names may repeat, nesting has no end, '\r' and '\n' are white space
/// and a byte-order mark is skipped: what a careless reader takes.
enum class Rules : std::uint8_t { strict, lenient };

/// Names that decide: an object entered with these holds no two names that are equal under simple
/// case folding, none that folds to one of these without being it, and none with an escaped NUL
/// (where C strings end).
using DecidingNames = std::span<const std::string_view>;

/// Walks one text at its caller's pace: enter what matters, take whole what does not. After a
/// defect every step answers false, so that only the end need look at defect().
///
///   scanner.start(text, Rules::strict);
///   if (scanner.peek() == Type::object && scanner.enter_object()) {
///     while (scanner.next_member()) { … scanner.name() … scanner.take(value) … }
///   }
///   scanner.finish();
class Scanner {
 public:
  /// `text` must outlive the scan.
  void start(std::string_view text, Rules rules);

  /// The type of the value that stands next; it says nothing yet about whether that value is
  /// well-formed.
  std::optional<Type> peek();
  /// Steps over the next value, whatever it nests. `value` is meaningless when there is none.
  bool take(Value& value);

  /// The next value is an object (peek said so). Names are compared exactly, or by folding when
  /// some decide; `deciding` must outlive the scan.
  bool enter_object(DecidingNames deciding = {});
  /// To the next member's value. False behind the last member: the object is left.
  bool next_member();
  /// The name of the member last come to, until the next step.
  [[nodiscard]] const Text& name() const { return name_; }

  /// The next value is an array (peek said so).
  bool enter_array();
  /// To the next element. False behind the last one: the array is left.
  bool next_element();

  /// Nothing but white space may follow.
  bool finish();

  [[nodiscard]] const std::optional<Defect>& defect() const { return defect_; }
  /// Bytes from the text's first to the next one looked at.
  [[nodiscard]] std::size_t offset() const { return static_cast<std::size_t>(at_ - begin_); }

 private:
  struct Level {
    std::size_t first_name;  // in names_
    DecidingNames deciding;
  };

  bool fail(Defect::Kind kind, const char* where);
  bool fail_here();
  bool skip_space();
  bool skip_more_space();
  bool begin_value(Value& value);
  bool skip_nested();
  bool open(Type type, DecidingNames deciding);
  bool close();
  bool step(char closer);
  bool note_name();
  bool note_folded_name(DecidingNames deciding);
  bool skip_string(bool& has_escapes);
  bool skip_long_string(bool& has_escapes);
  bool skip_unjudged_string(bool& has_escapes);
  bool skip_unicode_escape();
  bool skip_multibyte();
  bool skip_literal(std::string_view literal);
  bool skip_number();
  [[nodiscard]] bool in_object() const { return (kinds_ & 1U) != 0; }

  const char* begin_ = nullptr;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  Rules rules_ = Rules::strict;
  bool just_opened_ = false;
  std::size_t depth_ = 0;
  std::uint64_t kinds_ = 0;  // a bit for each open level, the innermost lowest: 1 for an object
  std::vector<std::uint64_t> outer_kinds_;     // of levels further out, 64 in a word
  std::array<Level, kMaxDepth + 1> levels_{};  // of objects, under the strict rules
  Text name_;
  std::optional<Defect> defect_;
  NameTable names_;
};

}  // namespace aegis::mcp::json
