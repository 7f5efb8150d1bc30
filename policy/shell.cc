// SPDX-License-Identifier: Apache-2.0 OR MIT
// Tokens into simple commands (XCU 2.9, 2.10): pipelines and lists of them, nothing compound.
#include "policy/shell.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include "policy/shell_words.h"

namespace aegis::policy {
namespace {

using Kind = ShellToken::Kind;

/// XCU 2.4, and those of bash, ksh and zsh.
constexpr std::string_view kReserved[] = {
    "{",         "}",         "[[",     "]]",     "case", "coproc",  "do",       "done", "elif",
    "else",      "end",       "esac",   "fi",     "for",  "foreach", "function", "if",   "in",
    "namespace", "nocorrect", "repeat", "select", "then", "time",    "until",    "while"};
/// The shell's own commands (XCU 2.14, and utilities that only a shell can have) that change what
/// the words behind them, or the commands after them, mean.
constexpr std::string_view kBuiltins[] = {
    ".",        "alias",   "bind",   "break",   "builtin", "cd",     "chdir", "command",
    "continue", "declare", "enable", "eval",    "exec",    "export", "fc",    "getopts",
    "hash",     "let",     "local",  "mapfile", "popd",    "pushd",  "read",  "readarray",
    "readonly", "return",  "set",    "shift",   "shopt",   "source", "trap",  "type",
    "typeset",  "ulimit",  "umask",  "unalias", "unset"};

template <std::size_t Size>
bool is_one_of(std::string_view text, const std::string_view (&all)[Size]) {
  return std::find(std::begin(all), std::end(all), text) != std::end(all);
}

bool is_name_byte(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' ||
         (byte >= '0' && byte <= '9');
}
/// NAME=VALUE, or NAME+=VALUE, which POSIX does not have.
bool is_assignment(std::string_view bare) {
  const auto end = std::find_if_not(bare.begin(), bare.end(), is_name_byte);
  const std::string_view rest = bare.substr(static_cast<std::size_t>(end - bare.begin()));
  return end != bare.begin() && (rest.starts_with('=') || rest.starts_with("+="));
}

class ShellReader {
 public:
  explicit ShellReader(std::string_view text) : words_(text) {}

  ShellReading read() {
    if (auto odd = words_.find_odd_byte()) return *std::move(odd);
    for (;;) {
      auto next = words_.next();
      if (auto* fault = std::get_if<ShellFault>(&next)) return std::move(*fault);
      const ShellToken token = std::get<ShellToken>(std::move(next));
      if (auto fault = take(token)) return *std::move(fault);
      if (token.kind == Kind::end) return std::move(commands_);
    }
  }

 private:
  using Step = std::optional<ShellFault>;
  /// What stands before the place where a command may begin.
  enum class After : std::uint8_t { separator, connector, pipe, bang };

  Step take(const ShellToken& token);
  Step take_word(const ShellToken& word);
  Step take_redirection(const ShellToken& token);
  Step take_control(const ShellToken& token);
  Step finish(const ShellToken& behind);

  ShellWords words_;
  std::vector<SimpleCommand> commands_;
  SimpleCommand command_;  // that is read
  bool is_begun_ = false;  // it has a word or a redirection
  After after_ = After::separator;
};

ShellReader::Step ShellReader::take(const ShellToken& token) {
  switch (token.kind) {
    case Kind::word:
      return take_word(token);
    case Kind::descriptor:
    case Kind::redirection:
      return take_redirection(token);
    case Kind::control:
      return take_control(token);
    case Kind::end:
      break;
  }
  if (auto fault = finish(token)) return fault;
  if (after_ != After::separator) return words_.fault(token.offset, "a command is missing here");
  if (commands_.empty()) return words_.fault(token.offset, "there is no command in it");
  return std::nullopt;
}

ShellReader::Step ShellReader::take_word(const ShellToken& word) {
  if (!command_.words.empty()) {
    command_.words.push_back(word.text);
    return std::nullopt;
  }
  if (word.unquoted() == "!") {
    const bool may_stand = after_ == After::separator || after_ == After::connector;
    if (!may_stand || is_begun_)
      return words_.fault(word.offset, "a '!' stands only before a whole pipeline, and once");
    after_ = After::bang;
    return std::nullopt;
  }
  if (is_one_of(word.unquoted(), kReserved))
    return words_.fault(word.offset, "compound commands are not read here; write simple ones");
  if (is_assignment(word.bare)) {
    return words_.fault(word.offset,
                        "a variable set before a command can change what the command is and does");
  }
  if (is_one_of(word.text, kBuiltins)) {
    return words_.fault(word.offset,
                        "a command of the shell's own, which changes what the words after it mean");
  }
  is_begun_ = true;
  command_.words.push_back(word.text);
  return std::nullopt;
}

/// `token` is the operator or the descriptor before it.
ShellReader::Step ShellReader::take_redirection(const ShellToken& token) {
  auto next = words_.next();
  if (auto* fault = std::get_if<ShellFault>(&next)) return std::move(*fault);
  ShellToken target = std::get<ShellToken>(std::move(next));
  std::string sign = token.text;
  is_begun_ = true;
  if (token.kind == Kind::descriptor) {
    sign = target.text;  // it stood right behind
    next = words_.next();
    if (auto* fault = std::get_if<ShellFault>(&next)) return std::move(*fault);
    target = std::get<ShellToken>(std::move(next));
  }
  if (target.kind != Kind::word || target.text.empty())
    return words_.fault(token.offset, "the redirection leads nowhere");
  if (sign == "<&" || sign == ">&") {
    const std::string_view digit = target.unquoted();
    const bool is_known = digit == "-" || (digit.size() == 1 && digit[0] >= '0' && digit[0] <= '9');
    if (is_known) return std::nullopt;
    return words_.fault(token.offset, "shells differ about it; copy one descriptor by its digit");
  }
  command_.redirections.push_back({std::move(target.text), sign != "<"});
  return std::nullopt;
}

ShellReader::Step ShellReader::take_control(const ShellToken& token) {
  const bool is_newline = token.is("\n");
  if (!is_begun_) {
    // A newline may stand wherever a command may begin, but not behind a '!'.
    if (is_newline && after_ != After::bang) return std::nullopt;
    return words_.fault(token.offset, "a command is missing before it");
  }
  if (auto fault = finish(token)) return fault;
  if (token.is("|")) {
    after_ = After::pipe;
  } else if (token.is("&&") || token.is("||")) {
    after_ = After::connector;
  }
  return std::nullopt;
}

ShellReader::Step ShellReader::finish(const ShellToken& behind) {
  if (!is_begun_) return std::nullopt;
  if (command_.words.empty())
    return words_.fault(behind.offset, "a redirection stands before it without a command");
  commands_.push_back(std::exchange(command_, {}));
  is_begun_ = false;
  after_ = After::separator;
  return std::nullopt;
}

}  // namespace

ShellReading read_shell(std::string_view text) {
  return ShellReader(text).read();
}

}  // namespace aegis::policy
