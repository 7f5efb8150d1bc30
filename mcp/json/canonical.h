// SPDX-License-Identifier: Apache-2.0 OR MIT
// Canonical JSON (RFC 8785) over the record's narrowed value space: objects, arrays, strings, true
// and false, and integers from 0 to 2^53-1; no null, no float. A writer for what we author, and a
// strict reader of one text at a time that holds the text to being its own canonical form. It knows
// no Line and no policy.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace aegis::mcp::json {

inline constexpr std::uint64_t kMaxInteger = (std::uint64_t{1} << 53) - 1;
/// What the reader takes: bytes of one text, and levels of arrays and objects in it. The writer has
/// no limit of size.
inline constexpr std::size_t kMaxCanonicalSize = 64UL * 1024;
inline constexpr std::size_t kMaxCanonicalDepth = 16;

/// Whether a string may hold `text`: it is valid UTF-8 (RFC 3629: no surrogates, no overlong
/// forms).
bool is_encodable(std::string_view text);
/// The order of object members: by UTF-16 code units. Both are valid UTF-8. Differs from the order
/// of bytes only where a code point above U+FFFF meets one from U+E000 to U+FFFF.
bool is_name_before(std::string_view left, std::string_view right);

/// Appends the escape of a character that no string holds as it is: '"', '\\', or a control.
void append_escape(char c, std::string& out);
/// Appends `text` with its quotes. `text` is encodable.
void append_string(std::string_view text, std::string& out);
/// Appends the decimal digits. `value` is at most kMaxInteger.
void append_integer(std::uint64_t value, std::string& out);

/// Writes one canonical text onto the end of a string. The caller hands members over in canonical
/// order and nests and closes correctly; all of that is asserted. Member names are literals that
/// need no escape.
class CanonicalWriter {
 public:
  /// `out` must outlive the writer; only the writer may touch it meanwhile.
  explicit CanonicalWriter(std::string& out) : out_(out) {}

  void begin_object();
  void end_object();
  void begin_array();
  void end_array();
  /// The name of the member whose value comes next.
  void name(std::string_view name);
  void string(std::string_view text);
  void integer(std::uint64_t value);
  enum class Truth : std::uint8_t { no, yes };
  void truth(Truth value);

  void member(std::string_view member_name, std::string_view text) {
    name(member_name);
    string(text);
  }
  void member(std::string_view member_name, std::uint64_t value) {
    name(member_name);
    integer(value);
  }

 private:
  struct Level {  // where the last name of an open object stands in out_
    std::size_t name_at = 0;
    std::size_t name_size = 0;
    bool has_items = false;
  };
  void before_value();
  void push(char bracket);
  void pop(char bracket);

  std::string& out_;
  std::array<Level, kMaxCanonicalDepth> levels_{};
  std::size_t depth_ = 0;
  bool after_name_ = false;
};

/// Why a text is not canonical. The first three are about JSON itself: only such a text may be the
/// torn end of a longer one. The others are said only of texts that are one complete JSON value in
/// UTF-8; too_deep also of one over kMaxCanonicalSize that is too deep to tell.
struct CanonicalFlaw {
  enum class Kind : std::uint8_t {
    not_json,         // not one complete JSON value (RFC 8259), something after it included
    not_utf8,         // RFC 3629
    blank,            // nothing, or nothing but white space
    byte_order_mark,  // U+FEFF first
    white_space,
    escape_form,     // an escape where none is needed, or in another form
    lone_surrogate,  // \ud800 without its other half
    number,          // negative, fraction, exponent, or above kMaxInteger
    null_value,
    member_order,
    repeated_member,
    too_long,  // more than kMaxCanonicalSize
    too_deep,  // more than kMaxCanonicalDepth
  };
  Kind kind;
  std::size_t offset;  // bytes from the text's start

  /// What a write that was cut off may leave behind. A blank text is not: no text begins with white
  /// space.
  [[nodiscard]] bool may_be_torn() const {
    return kind == Kind::not_json || kind == Kind::not_utf8;
  }
};
/// A few words for people: "white space", "members out of order".
std::string_view describe(CanonicalFlaw::Kind kind);

/// One value of a text that was read. Nodes lie in one array, each before what it holds: the first
/// child, if any, is the next node, and `span` nodes on comes the next sibling. Views point into
/// the text or into the reader.
struct CanonicalNode {
  enum class Type : std::uint8_t { object, array, string, integer, boolean };
  Type type = Type::object;
  bool boolean = false;
  std::uint32_t span = 1;  // nodes of this value, itself included
  std::uint64_t integer = 0;
  std::string_view name;    // decoded; empty unless it is a member
  std::string_view string;  // decoded
  std::string_view raw;     // the value's bytes in the text
  std::uint32_t member_at =
      0;  // where a member's name begins (its quote), in bytes from the text's start

  [[nodiscard]] const CanonicalNode* first() const { return this + 1; }
  [[nodiscard]] const CanonicalNode* end() const { return this + span; }
  [[nodiscard]] const CanonicalNode* next() const { return this + span; }
  [[nodiscard]] bool is(Type wanted) const { return type == wanted; }
};
/// The member of that name; nullptr when there is none or `object` is no object.
const CanonicalNode* find_member(const CanonicalNode& object, std::string_view name);
/// The same, but only a string (an integer) will do.
std::optional<std::string_view> find_string(const CanonicalNode& object, std::string_view name);
std::optional<std::uint64_t> find_integer(const CanonicalNode& object, std::string_view name);

/// Reads texts one after another, re-using its memory: none is allocated once it has seen texts of
/// their size. Not copyable: nodes point into it.
class CanonicalReader {
 public:
  CanonicalReader() = default;
  CanonicalReader(const CanonicalReader&) = delete;
  CanonicalReader& operator=(const CanonicalReader&) = delete;
  ~CanonicalReader() = default;

  /// Nothing when `text` is exactly one value in canonical form. `text` must outlive the use of
  /// root().
  [[nodiscard]] std::optional<CanonicalFlaw> read(std::string_view text);
  /// Of the text read last, which had no flaw. Valid until the next read.
  [[nodiscard]] const CanonicalNode& root() const { return nodes_.front(); }

 private:
  using Kind = CanonicalFlaw::Kind;
  enum class Next : std::uint8_t { value, separator, end, failed };
  struct Level {  // an open array or object
    std::uint32_t node = 0;
    std::string_view last_name;
    bool has_members = false;
  };

  [[nodiscard]] bool at(char wanted) const { return at_ < text_.size() && text_[at_] == wanted; }
  [[nodiscard]] Kind unexpected() const;
  bool fail(Kind kind);
  Next stop(Kind kind);
  CanonicalNode& add(CanonicalNode::Type type, std::size_t begin);
  Next read_value();
  Next read_separator();
  Next open_level(CanonicalNode::Type type);
  Next close_level();
  bool read_name();
  bool read_integer();
  bool read_literal(std::string_view word);
  bool read_string(std::string_view& decoded);
  bool read_sequence();
  bool read_escape();

  std::string_view text_;
  std::size_t at_ = 0;
  CanonicalFlaw flaw_{};
  std::string_view name_;  // of the member whose value is next
  std::uint32_t member_at_ = 0;
  std::vector<CanonicalNode> nodes_;
  std::string
      decoded_;  // strings that had escapes; never grows during a read, so views into it hold
  std::array<Level, kMaxCanonicalDepth> levels_{};
  std::size_t depth_ = 0;
};

}  // namespace aegis::mcp::json
