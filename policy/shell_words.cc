// SPDX-License-Identifier: Apache-2.0 OR MIT
// See shell_words.h. Where dash and bash differ, and POSIX leaves it to them, the text is refused.
#include "policy/shell_words.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "mcp/json/utf8.h"

namespace aegis::policy {
namespace {

constexpr std::string_view kContinuation = "\\\n";
constexpr std::string_view kWordEnds = " \t\n|&;<>()";
constexpr const char* kUnterminated = "its quotes are not closed";
constexpr const char* kExpansion =
    "its value is not known before it runs: an expansion ($); single quotes keep a '$' as it is";
constexpr const char* kSubstitution =
    "its value is not known before it runs: a command substitution (`); single quotes keep a '`' "
    "as it is";

using Kind = ShellToken::Kind;
struct Operator {
  std::string_view text;
  Kind kind;
  const char* why;  // it is refused; null when it is not
};
/// XCU 2.10.2, and what other shells added (bash(1), GRAMMAR and REDIRECTION). The longer ones
/// first.
constexpr Operator kOperators[] = {
    {"<<<", Kind::redirection, "a here-string is not of POSIX; write the text into a file"},
    {"&>>", Kind::redirection, "shells differ about it; write >>FILE 2>&1"},
    {";;&", Kind::control, "it belongs to a compound command"},
    {"<<", Kind::redirection, "a here-document is not read here; write the text into a file"},
    {"<(", Kind::redirection, "what a process substitution runs is not known to POSIX shells"},
    {">(", Kind::redirection, "what a process substitution runs is not known to POSIX shells"},
    {"&>", Kind::redirection, "shells differ about it; write >FILE 2>&1"},
    {"|&", Kind::control, "shells differ about it; write 2>&1 |"},
    {";;", Kind::control, "it belongs to a compound command"},
    {";&", Kind::control, "it belongs to a compound command"},
    {"&&", Kind::control, nullptr},
    {"||", Kind::control, nullptr},
    {">>", Kind::redirection, nullptr},
    {">|", Kind::redirection, nullptr},
    {"<>", Kind::redirection, nullptr},
    {"<&", Kind::redirection, nullptr},
    {">&", Kind::redirection, nullptr},
    {"&", Kind::control, nullptr},
    {"|", Kind::control, nullptr},
    {";", Kind::control, nullptr},
    {"\n", Kind::control, nullptr},
    {"<", Kind::redirection, nullptr},
    {">", Kind::redirection, nullptr},
    {"(", Kind::control, "subshells, functions and arithmetic are not read here"},
    {")", Kind::control, "subshells, functions and arithmetic are not read here"},
};

bool is_control(char byte) {
  return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F;
}
bool is_digit(char byte) {
  return byte >= '0' && byte <= '9';
}

/// What a shell would make of bytes that are not quoted.
const char* find_expansion(std::string_view bare) {
  if (bare == "[" || bare == "{}") return nullptr;  // test(1), and a word of find(1)
  if (bare.find_first_of("*?[") != std::string_view::npos)
    return "which files it stands for is not known before it runs; quote it, or name the files";
  if (bare.find('{') != std::string_view::npos)
    return "shells differ about braces; quote them, or write the words out";
  for (std::size_t at = bare.find('~'); at != std::string_view::npos; at = bare.find('~', at + 1)) {
    if (at == 0 || bare[at - 1] == '=' || bare[at - 1] == ':')
      return "which folder '~' stands for is not known before it runs; quote it";
  }
  return nullptr;
}

void append_quoted(std::string_view part, ShellToken& word) {
  word.text += part;
  word.bare.append(part.size(), '"');
}

}  // namespace

std::optional<ShellFault> ShellWords::find_odd_byte() const {
  for (std::size_t at = 0; at < text_.size();) {
    const std::size_t size = mcp::json::utf8_sequence_size(text_.substr(at));
    if (size == 0) return ShellFault{at, std::string(text_.substr(at, 1)), "it is no UTF-8"};
    const char byte = text_[at];
    if (is_control(byte) && byte != '\t' && byte != '\n')
      return ShellFault{at, std::string(text_.substr(at, 1)), "it is a control character"};
    at += size;
  }
  return std::nullopt;
}

ShellFault ShellWords::fault(std::size_t offset, std::string why) const {
  const std::size_t begin = std::max(offset, std::min(at_, text_.size()));
  const std::size_t end = std::min(text_.find_first_of(kWordEnds, begin), text_.size());
  const std::size_t size = std::max<std::size_t>(end - offset, 1);
  return {offset, std::string(text_.substr(offset, size)), std::move(why)};
}

std::variant<ShellToken, ShellFault> ShellWords::next() {
  skip_blanks();
  if (at_ == text_.size()) return ShellToken{Kind::end, at_};
  if (kWordEnds.find(text_[at_]) != std::string_view::npos) return read_operator();
  return read_word();
}

/// Comments too, which a continuation does not prolong (2.3, rule 9).
void ShellWords::skip_blanks() {
  for (;;) {
    if (starts_with(kContinuation)) {
      at_ += kContinuation.size();
    } else if (starts_with(" ") || starts_with("\t")) {
      ++at_;
    } else if (starts_with("#")) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

std::variant<ShellToken, ShellFault> ShellWords::read_operator() {
  const auto* found = std::find_if(std::begin(kOperators),
                                   std::end(kOperators),
                                   [this](const Operator& each) { return starts_with(each.text); });
  const std::size_t offset = at_;
  at_ += found->text.size();
  if (found->why != nullptr)
    return ShellFault{offset, std::string(found->text), std::string(found->why)};
  std::size_t behind = at_;
  while (text_.substr(behind).starts_with(kContinuation))
    behind += kContinuation.size();
  const bool may_go_on = behind != at_ && found->text != "\n";
  if (may_go_on && behind < text_.size() &&
      std::string_view("|&;<>(").find(text_[behind]) != std::string_view::npos) {
    return ShellFault{offset, std::string(found->text), "the line is continued within an operator"};
  }
  ShellToken token{found->kind, offset};
  token.text = found->text;
  return token;
}

std::variant<ShellToken, ShellFault> ShellWords::read_word() {
  ShellToken word{Kind::word, at_};
  has_continuation_ = false;
  while (at_ < text_.size() && kWordEnds.find(text_[at_]) == std::string_view::npos) {
    if (auto found = read_part(word)) return *std::move(found);
  }
  if (auto found = judge_word(word)) return *std::move(found);
  const bool is_redirected = starts_with("<") || starts_with(">");
  const bool is_number = std::all_of(word.bare.begin(), word.bare.end(), is_digit);
  if (!is_redirected || !is_number || word.has_quotes) return word;
  // dash knows one digit, bash any number of them.
  if (word.text.size() > 1 || has_continuation_)
    return fault(word.offset, "shells differ about which descriptor it is; use one digit");
  word.kind = Kind::descriptor;
  return word;
}

ShellWords::Step ShellWords::read_part(ShellToken& word) {
  switch (text_[at_]) {
    case '\\':
      return read_backslash(word);
    case '\'':
      return read_single_quotes(word);
    case '"':
      return read_double_quotes(word);
    case '$':
      return fault(word.offset, kExpansion);
    case '`':
      return fault(word.offset, kSubstitution);
    default:
      word.text += text_[at_];
      word.bare += text_[at_];
      ++at_;
      return std::nullopt;
  }
}

ShellWords::Step ShellWords::read_backslash(ShellToken& word) {
  if (at_ + 1 == text_.size()) return fault(word.offset, "nothing stands behind its backslash");
  if (text_[at_ + 1] == '\n') {
    has_continuation_ = true;
  } else {
    append_quoted(text_.substr(at_ + 1, 1), word);
    word.has_quotes = true;
  }
  at_ += 2;
  return std::nullopt;
}

ShellWords::Step ShellWords::read_single_quotes(ShellToken& word) {
  const std::size_t end = text_.find('\'', at_ + 1);
  if (end == std::string_view::npos) return fault(word.offset, kUnterminated);
  append_quoted(text_.substr(at_ + 1, end - at_ - 1), word);
  word.has_quotes = true;
  at_ = end + 1;
  return std::nullopt;
}

ShellWords::Step ShellWords::read_double_quotes(ShellToken& word) {
  constexpr std::string_view kEscapable = "$`\"\\";  // 2.2.3
  word.has_quotes = true;
  ++at_;
  for (;;) {
    const std::size_t end = text_.find_first_of(kEscapable, at_);
    if (end == std::string_view::npos) return fault(word.offset, kUnterminated);
    append_quoted(text_.substr(at_, end - at_), word);
    at_ = end;
    switch (text_[at_]) {
      case '$':
        return fault(word.offset, kExpansion);
      case '`':
        return fault(word.offset, kSubstitution);
      case '"':
        ++at_;
        return std::nullopt;
      default:
        break;
    }
    if (at_ + 1 == text_.size()) return fault(word.offset, kUnterminated);
    if (starts_with(kContinuation)) {
      at_ += 2;
    } else if (kEscapable.find(text_[at_ + 1]) != std::string_view::npos) {
      append_quoted(text_.substr(at_ + 1, 1), word);
      at_ += 2;
    } else {  // a backslash like another character
      append_quoted(text_.substr(at_, 1), word);
      ++at_;
    }
  }
}

ShellWords::Step ShellWords::judge_word(const ShellToken& word) const {
  if (const char* why = find_expansion(word.bare)) return fault(word.offset, why);
  return std::nullopt;
}

}  // namespace aegis::policy
