// SPDX-License-Identifier: Apache-2.0 OR MIT
// The strict scanner judges the text while it is walked, so nothing is read that has two readings.
#include "mcp/request_fields.h"

#include <charconv>

#include "mcp/json/printable.h"
#include "mcp/json/text.h"

namespace aegis::mcp {
namespace {

using json::Defect;
using json::Rules;
using json::Scanner;
using json::Text;
using json::Type;
using json::Value;

/// What is shown of names that somebody else chose.
constexpr std::size_t kShownName = 64;   // bytes
constexpr std::size_t kShownPath = 256;  // bytes

/// A name as people and programs read a path of members.
void append_shown(std::string_view decoded, std::string& out) {
  std::string shown;
  std::string_view rest = decoded;
  while (!rest.empty() && shown.size() < kShownName)
    rest.remove_prefix(json::append_printable_front(rest, json::Backslash::twice, shown));
  out += shown;
  if (!rest.empty()) out += "...";
}

/// Where the scanner's words are about frames: those for a document, or a tool's arguments.
std::string_view own_words(Defect::Kind kind) {
  if (kind == Defect::Kind::empty) return "there is nothing in it";
  if (kind == Defect::Kind::syntax) return "not valid JSON";
  return kind == Defect::Kind::trailing ? "something follows the object" : "";
}

std::string describe_here(const Defect& defect) {
  const std::string_view words = own_words(defect.kind);
  if (words.empty()) return describe(defect);
  std::string sentence{words};
  sentence += " (at byte ";
  sentence += std::to_string(defect.offset);
  return sentence += "); write one object, as JSON (RFC 8259)";
}

/// One container that stands open around a place.
struct Step {
  Type type;
  Text name = {};         // of the member come to, in an object
  std::size_t index = 0;  // of the element come to, in an array, from 1
};

void append_step(const Step& step, std::string& out) {
  if (step.type == Type::array) {
    if (step.index != 0) out += '[' + std::to_string(step.index - 1) + ']';
    return;
  }
  if (step.name.raw.empty()) return;
  if (!out.empty()) out += '.';
  std::string decoded;
  json::append_decoded(step.name.raw, decoded);
  append_shown(decoded, out);
}

/// To the next member or element of the innermost container that has one; leaves the others. False
/// behind the last, and where the text breaks between two: then what holds them is kept.
bool advance(Scanner& scanner, std::vector<Step>& steps) {
  while (!steps.empty()) {
    Step& step = steps.back();
    if (step.type == Type::array && scanner.next_element()) {
      ++step.index;
      return true;
    }
    if (step.type == Type::object && scanner.next_member()) {
      step.name = scanner.name();
      return true;
    }
    steps.pop_back();
    if (scanner.defect()) return false;
  }
  return false;
}

/// Where in `text` the byte at `offset` stands: "parameters.args[3]". Only faults pay for this.
std::string find_member(std::string_view text, std::size_t offset) {
  Scanner scanner;
  scanner.start(text, Rules::lenient);
  std::vector<Step> steps;
  Value ignored;
  while (scanner.offset() <= offset) {
    const std::optional<Type> type = scanner.peek();
    if (!type) break;
    if (*type == Type::object && scanner.enter_object()) {
      steps.push_back({Type::object});
    } else if (*type == Type::array && scanner.enter_array()) {
      steps.push_back({Type::array});
    } else if (!scanner.take(ignored)) {
      break;
    }
    if (scanner.offset() > offset || !advance(scanner, steps)) break;
  }
  std::string member;
  for (const Step& step : steps) {
    append_step(step, member);
    if (member.size() > kShownPath) return member + "...";
  }
  return member;
}

/// Digits alone: no sign, fraction or exponent, which readers round differently.
std::optional<std::uint64_t> read_whole(const Value& value) {
  if (value.type != Type::number) return std::nullopt;
  std::uint64_t number = 0;
  const char* const end = value.lexeme.data() + value.lexeme.size();
  const auto [behind, code] = std::from_chars(value.lexeme.data(), end, number);
  if (code != std::errc{} || behind != end) return std::nullopt;
  return number;
}

std::string expect(const TextRule& rule) {
  std::string text{rule.what};
  text += " is expected: a string of ";
  if (rule.least != 0) text += std::to_string(rule.least) + " to ";
  if (rule.least == 0) text += "at most ";
  return text + std::to_string(rule.most) + " bytes";
}

}  // namespace

Fields::Fields(std::string_view text, std::string_view prefix) : text_(text), prefix_(prefix) {
  scanner_.start(text, Rules::strict);
  const std::optional<Type> type = scanner_.peek();
  if (!type) {
    refuse_defect(*scanner_.defect());
  } else if (*type != Type::object) {
    refuse({}, "an object is expected");
  } else {
    scanner_.enter_object();
  }
}

bool Fields::next() {
  if (fault_ || !scanner_.next_member()) return false;
  const Text& name = scanner_.name();
  name_.clear();
  json::append_decoded(name.raw, name_);
  return true;
}

bool Fields::take(Value& value) {
  if (fault_) return false;
  if (scanner_.take(value)) return true;
  refuse_defect(*scanner_.defect());
  return false;
}

void Fields::take_number(const NumberRule& rule, std::optional<std::uint64_t>& number) {
  Value value;
  if (!take(value)) return;
  number = read_whole(value);
  if (number && *number >= rule.least && *number <= rule.most) return;
  refuse_here("a whole number from " + std::to_string(rule.least) + " to " +
              std::to_string(rule.most) + ", in digits alone, is expected");
}

void Fields::take_truth(bool& truth) {
  Value value;
  if (!take(value)) return;
  truth = value.lexeme == "true";
  if (value.type != Type::boolean) refuse_here("true or false is expected");
}

void Fields::take_text(const TextRule& rule, std::optional<std::string>& text) {
  Value value;
  if (!take(value)) return;
  if (!decode(value, rule, text.emplace())) refuse_here(expect(rule) + ", without NUL");
}

void Fields::take_texts(const ListRule& rule, std::optional<std::vector<std::string>>& texts) {
  texts.emplace();
  if (scanner_.peek() == Type::array) {
    scanner_.enter_array();
    while (texts->size() < rule.most && scanner_.next_element()) {
      if (!take_item(rule.item, *texts)) return;
    }
    const bool is_full = texts->size() == rule.most && scanner_.next_element();
    if (scanner_.defect()) return;  // finish() tells it
    if (!is_full && texts->size() >= rule.least) return;
  }
  refuse_here("a list of " + std::to_string(rule.least) + " to " + std::to_string(rule.most) +
              " strings is expected");
}

bool Fields::take_item(const TextRule& rule, std::vector<std::string>& texts) {
  Value value;
  if (!take(value)) return false;
  if (decode(value, rule, texts.emplace_back())) return true;
  name_ += '[' + std::to_string(texts.size() - 1) + ']';
  refuse_here(expect(rule) + ", without NUL");
  return false;
}

void Fields::take_object(std::optional<std::string_view>& object) {
  Value value;
  if (!take(value)) return;
  object = value.lexeme;
  if (value.type != Type::object) refuse_here("an object is expected");
}

bool Fields::decode(const Value& value, const TextRule& rule, std::string& text) {
  if (value.type != Type::string) return false;
  json::append_decoded(value.text().raw, text);
  return text.size() >= rule.least && text.size() <= rule.most &&
         text.find('\0') == std::string::npos;
}

void Fields::refuse_unknown(std::string_view known) {
  refuse_here("there is no such member; those that there are: " + std::string{known});
}

void Fields::refuse_here(std::string message) {
  if (fault_) return;
  std::string member{prefix_};
  append_shown(name_, member);
  fault_ = RequestFault{std::move(member), std::move(message)};
}

void Fields::refuse(std::string_view member, std::string_view message) {
  if (fault_) return;
  std::string whole{prefix_};
  whole += member;
  if (member.empty() && whole.ends_with('.')) whole.pop_back();
  fault_ = RequestFault{std::move(whole), std::string{message}};
}

void Fields::refuse_defect(const Defect& defect) {
  if (fault_) return;
  const std::string member = find_member(text_, defect.offset);
  fault_ =
      RequestFault{member.empty() ? member : std::string{prefix_} + member, describe_here(defect)};
}

void Fields::finish() {
  if (!fault_ && !scanner_.finish()) refuse_defect(*scanner_.defect());
}

}  // namespace aegis::mcp
