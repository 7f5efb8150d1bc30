// SPDX-License-Identifier: Apache-2.0 OR MIT
// A shell string cut into tokens (XCU 2.3) and its words freed of quotes (2.2), as long as neither
// the state nor the make of the shell matters. Which tokens make commands is shell.cc's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "policy/shell.h"

namespace aegis::policy {

struct ShellToken {
  enum class Kind : std::uint8_t {
    word,
    descriptor,  // the digit of "2>"
    control,     // | & ; && || and the newline
    redirection,
    end
  };
  Kind kind = Kind::end;
  std::size_t offset = 0;
  std::string text = {};  // of a word: without its quotes; else as it stands there
  std::string bare = {};  // of a word: the same, with a '"' for each byte that was quoted
  bool has_quotes = false;

  [[nodiscard]] bool is(std::string_view wanted) const {
    return kind != Kind::word && text == wanted;
  }
  /// The word as a shell compares it with its reserved ones; empty when it has quotes.
  [[nodiscard]] std::string_view unquoted() const {
    return has_quotes ? std::string_view() : std::string_view(text);
  }
};

class ShellWords {
 public:
  /// `text` must outlive this.
  explicit ShellWords(std::string_view text) : text_(text) {}

  /// Bytes that no word may hold, quoted or not. To be asked first.
  [[nodiscard]] std::optional<ShellFault> find_odd_byte() const;
  std::variant<ShellToken, ShellFault> next();
  /// A fault at a token, with all of it.
  [[nodiscard]] ShellFault fault(std::size_t offset, std::string why) const;

 private:
  using Step = std::optional<ShellFault>;

  [[nodiscard]] bool starts_with(std::string_view wanted) const {
    return text_.substr(at_).starts_with(wanted);
  }
  void skip_blanks();
  std::variant<ShellToken, ShellFault> read_operator();
  std::variant<ShellToken, ShellFault> read_word();
  Step read_part(ShellToken& word);
  Step read_backslash(ShellToken& word);
  Step read_single_quotes(ShellToken& word);
  Step read_double_quotes(ShellToken& word);
  [[nodiscard]] Step judge_word(const ShellToken& word) const;

  std::string_view text_;
  std::size_t at_ = 0;
  bool has_continuation_ = false;  // in the word that is read
};

}  // namespace aegis::policy
