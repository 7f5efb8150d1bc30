// SPDX-License-Identifier: Apache-2.0 OR MIT
// From argv to a verb, and from a verb's words to its flags. The one place that knows CLI11.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's name
class App;
}  // namespace CLI

namespace aegis::wrap {

/// What follows the verb. Cut at the first `--` before any parser sees it: what stands behind
/// belongs to somebody else and must cross as it is.
struct Arguments {
  std::vector<std::string> words = {};
  std::optional<std::vector<std::string>> command = {};  // nothing: there was no `--`
};
Arguments cut_arguments(std::span<const char* const> after_verb);

struct Verb {
  std::string_view name;
  std::string_view summary;  // one line, for `aegis --help`
  int (*run)(const Arguments& arguments);
};
/// The whole of main but its table: --help, --version, the verb, or what is wrong with the words.
int run_program(std::span<const Verb> verbs, std::span<const char* const> argv);

/// What stands on a verb's line besides flags.
enum class Operands : std::uint8_t {
  none,
  words,          // before or behind `--`
  command,        // a `--` and at least one word behind it
  maybe_command,  // the same, or nothing: the verb says with which flags it needs none
};

struct VerbText {  // literals
  std::string_view name;
  std::string_view usage;  // what follows "aegis <name> "
  std::string_view about;
  std::string_view examples;  // whole lines, indented, the last one without its newline
};

/// A verb's flags. Targets must outlive parse(); one whose flag is not given keeps its value.
class Flags {
 public:
  struct Manner {
    Operands operands;
    int usage_exit;  // the exit code of what is wrong with the words
  };
  Flags(const VerbText& text, Manner manner);
  ~Flags();
  Flags(const Flags&) = delete;
  Flags& operator=(const Flags&) = delete;

  struct Flag {
    const char* name;   // "--policy"
    const char* value;  // what stands for it in the help: "FILE"; ignored for a switch
    const char* help;
  };
  void add_switch(const Flag& flag, bool& target);
  void add_text(const Flag& flag, std::optional<std::string>& target);
  /// May be given several times, one value each.
  void add_texts(const Flag& flag, std::vector<std::string>& target);
  /// One of `choices`.
  void add_choice(const Flag& flag, std::vector<std::string> choices, std::string& target);
  struct Bounds {
    std::uint64_t least = 0;
    std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  };
  /// Decimal digits.
  void add_number(const Flag& flag, Bounds bounds, std::uint64_t& target);

  /// An exit code when the verb ends here: after --help, or after a usage error, which it has said.
  [[nodiscard]] std::optional<int> parse(const Arguments& arguments);
  /// As parse() found them; none for Operands::command, whose words are in Arguments.
  [[nodiscard]] const std::vector<std::string>& operands() const { return operands_; }
  /// Says what is wrong, points to --help, and gives the exit code back.
  [[nodiscard]] int usage_error(std::string_view what) const;

 private:
  using Take = std::function<std::string(const std::string& value)>;  // what is wrong, or nothing
  enum class Times : std::uint8_t { once, several };
  void add_value(const Flag& flag, Times times, Take take);
  [[nodiscard]] std::string wrong_flag(const std::vector<std::string>& words) const;
  [[nodiscard]] std::optional<int> run_parser(const std::vector<std::string>& words);
  [[nodiscard]] std::optional<int> sort_rest(const Arguments& arguments);
  [[nodiscard]] std::optional<int> check_command(const Arguments& arguments);
  [[nodiscard]] std::string unknown_flag(const std::string& word) const;

  VerbText text_;
  Manner manner_;
  std::unique_ptr<CLI::App> app_;
  std::string wrong_;  // with a value, the first that was found
  std::vector<std::string> operands_;
};

}  // namespace aegis::wrap
