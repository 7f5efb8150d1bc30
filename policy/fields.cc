// SPDX-License-Identifier: Apache-2.0 OR MIT
// Types and limits of single members, and the words for what is wrong with one.
#include "policy/fields.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "policy/text.h"

namespace aegis::policy {
namespace {

using Node = Document::Node;
using Kind = Document::Kind;

/// YAML's ways to say null (core schema). Elsewhere one of them may as well be a name that was
/// meant.
bool is_null(Node scalar) {
  constexpr std::array<std::string_view, 5> kNulls = {"", "~", "null", "Null", "NULL"};
  return scalar.is_plain() &&
         std::find(kNulls.begin(), kNulls.end(), scalar.text()) != kNulls.end();
}

std::string found(Node node) {
  switch (node.kind()) {
    case Kind::list:
      return "a list";
    case Kind::map:
      return "a map";
    case Kind::scalar:
      break;
  }
  if (is_null(node)) return node.text().empty() ? "nothing" : std::string(node.text());
  return node.is_plain() ? quoted(node.text()) : "the quoted text " + quoted(node.text());
}

std::string join(std::span<const std::string_view> words, std::string_view last) {
  std::string out;
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (at != 0) out += at + 1 == words.size() ? last : ", ";
    out += words[at];
  }
  return out;
}

bool is_digit(char byte) {
  return byte >= '0' && byte <= '9';
}

/// Exactly -?(0|[1-9][0-9]*), but not -0: no octal, hexadecimal, sexagesimal, exponent, '+' or '_',
/// which readers of YAML 1.1, YAML 1.2 and JSON take for different numbers.
bool is_plain_decimal(std::string_view text) {
  const bool is_negative = !text.empty() && text.front() == '-';
  if (is_negative) text.remove_prefix(1);
  if (text.empty() || (text.front() == '0' && (text.size() > 1 || is_negative))) return false;
  return std::all_of(text.begin(), text.end(), is_digit);
}

/// What to do about a scalar where a number is wanted; empty when nobody can tell.
std::string_view number_hint(Node scalar) {
  const std::string_view text = scalar.text();
  if (is_plain_decimal(text)) return scalar.is_plain() ? "" : "; leave the quotes out";
  const bool looks_like_one = std::any_of(text.begin(), text.end(), is_digit);
  return looks_like_one ? "; write it in plain decimal digits" : "";
}

/// Two kinds of policy are taken for each other: a member of one that stands in the other tells.
std::string_view elsewhere_hint(Node name) {
  if (name.kind() != Kind::scalar) return "";
  if (name.text() == "rules") return "; rules are for wrap --policy and recheck";
  if (name.text() == "workspace_root")
    return "; a broker's policy is for mcp, run, check and wrap --broker";
  return "";
}

}  // namespace

bool FieldReader::gather(Node map,
                         std::span<const std::string_view> names,
                         std::span<Field> fields) {
  if (map.kind() != Kind::map) {
    error(map, "expected a map of " + join(names, " and ") + ", found " + found(map));
    return false;
  }
  for (const Document::Member& member : map.members())
    gather_member(member, names, fields);
  return true;
}

void FieldReader::gather_member(Document::Member member,
                                std::span<const std::string_view> names,
                                std::span<Field> fields) {
  const bool is_scalar = member.name.kind() == Kind::scalar;
  const auto name =
      is_scalar ? std::find(names.begin(), names.end(), member.name.text()) : names.end();
  if (name == names.end()) {
    std::string message = "unknown field; expected one of " + join(names, ", ");
    error(member.name, message.append(elsewhere_hint(member.name)));
    return;
  }
  Field& field = fields[static_cast<std::size_t>(name - names.begin())];
  if (field) {
    error(member.name,
          "the field stands twice; its first value is on line " + std::to_string(field->at().line));
    return;
  }
  field = member.value;
}

std::optional<std::vector<Node>> FieldReader::read_list(Node list) {
  if (list.kind() == Kind::list) return list.items();
  error(list, "expected a list, found " + found(list));
  return std::nullopt;
}

std::optional<std::string> FieldReader::read_text(Node scalar, std::size_t max_bytes) {
  if (scalar.kind() != Kind::scalar) {
    error(scalar, "expected a text, found " + found(scalar));
  } else if (is_null(scalar)) {
    error(scalar,
          "expected a text, found " + found(scalar) +
              "; leave the field out, or put the text in quotes");
  } else if (scalar.text().size() > max_bytes) {
    error(scalar,
          "expected a text of at most " + std::to_string(max_bytes) + " bytes, found " +
              std::to_string(scalar.text().size()));
  } else if (scalar.text().find('\0') != std::string_view::npos) {
    error(scalar, "expected a text without NUL, found " + found(scalar));
  } else {
    return std::string(scalar.text());
  }
  return std::nullopt;
}

std::optional<std::int64_t> FieldReader::read_number(Node scalar, NumberRange range) {
  const std::string expected =
      range.first == range.last ? "expected the number " + std::to_string(range.first) + ", found "
                                : "expected a whole number from " + std::to_string(range.first) +
                                      " to " + std::to_string(range.last) + ", found ";
  if (scalar.kind() != Kind::scalar) {
    error(scalar, expected + found(scalar));
    return std::nullopt;
  }
  const std::string_view text = scalar.text();
  std::int64_t number = 0;
  const bool is_number =
      scalar.is_plain() && is_plain_decimal(text) &&
      std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc{};
  if (is_number && number >= range.first && number <= range.last) return number;
  error(scalar, expected + found(scalar) + std::string(number_hint(scalar)));
  return std::nullopt;
}

std::optional<bool> FieldReader::read_truth(Node scalar) {
  const bool is_plain = scalar.kind() == Kind::scalar && scalar.is_plain();
  if (is_plain && scalar.text() == "true") return true;
  if (is_plain && scalar.text() == "false") return false;
  error(scalar, "expected true or false, found " + found(scalar));
  return std::nullopt;
}

std::optional<std::size_t> FieldReader::read_word(Node scalar,
                                                  std::span<const std::string_view> words) {
  if (scalar.kind() == Kind::scalar) {
    const auto word = std::find(words.begin(), words.end(), scalar.text());
    if (word != words.end()) return static_cast<std::size_t>(word - words.begin());
  }
  error(scalar, "expected " + join(words, " or ") + ", found " + found(scalar));
  return std::nullopt;
}

void FieldReader::error(Node node, std::string message) {
  add(Diagnostic::Severity::error, node, std::move(message));
}

void FieldReader::warn(Node node, std::string message) {
  add(Diagnostic::Severity::warning, node, std::move(message));
}

void FieldReader::add(Diagnostic::Severity severity, Node node, std::string message) {
  // A path takes a walk over all that stands before it: a text of nothing but errors would take
  // minutes.
  std::string path = findings_.is_full() ? std::string() : document_.path_to(node);
  findings_.add({severity, node.at().line, node.at().column, std::move(path), std::move(message)});
}

void FieldReader::missing(Node map, std::string_view name, std::string_view expected) {
  std::string path = findings_.is_full() ? std::string() : document_.path_to(map);
  if (!path.empty()) path += '.';
  path += name;
  findings_.add({Diagnostic::Severity::error,
                 map.at().line,
                 map.at().column,
                 std::move(path),
                 "the field is missing; expected " + std::string(expected)});
}

}  // namespace aegis::policy
