// SPDX-License-Identifier: Apache-2.0 OR MIT
// CLI11 does the flags; unknown words, operands and all messages are ours, because it splits
// operands like "[a,b]" and offers no suggestion.
#include "wrap/cli.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include <CLI/CLI.hpp>

#include "wrap/log.h"
#include "wrap/out.h"
#include "wrap/suggest.h"

namespace aegis::wrap {
namespace {

constexpr int kUsageExit = 1;

std::string usage_text(std::span<const Verb> verbs) {
  std::string text = "Usage: aegis <verb> [flags] [-- <command> [args]]\n\nVerbs:\n";
  std::size_t width = 0;
  for (const Verb& verb : verbs)
    width = std::max(width, verb.name.size());
  for (const Verb& verb : verbs) {
    text.append("  ").append(verb.name).append(width + 2 - verb.name.size(), ' ');
    text.append(verb.summary) += '\n';
  }
  return text +
         "\n`aegis <verb> --help` tells the flags of one and gives an example. `aegis "
         "--version`.\n";
}

int unknown_verb(std::span<const Verb> verbs, std::string_view word) {
  std::vector<std::string> known = {"--help", "--version"};
  for (const Verb& verb : verbs)
    known.emplace_back(verb.name);
  const bool is_flag = !word.empty() && word.front() == '-';
  log(std::string(word) + (is_flag ? ": no flag of aegis" : ": no verb of aegis") +
      did_you_mean(word, known) + " (aegis --help tells them)");
  return kUsageExit;
}

/// Puts one line of usage and the examples around what CLI11 knows of the flags.
class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(const VerbText& text) : text_(text) { column_width(kColumn); }

  std::string make_help(const CLI::App* app,
                        std::string /*name*/,
                        CLI::AppFormatMode mode) const override {
    std::string help = "Usage: aegis ";
    help.append(text_.name).append(" ").append(text_.usage).append("\n\n");
    help.append(text_.about).append("\n").append(make_groups(app, mode));
    return help.append("\nExample:\n").append(text_.examples) += '\n';
  }

 private:
  static constexpr std::size_t kColumn = 28;
  VerbText text_;
};

std::string list_of(const std::vector<std::string>& choices) {
  std::string text;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) text += i + 1 == choices.size() ? " or " : ", ";
    text += choices[i];
  }
  return text;
}

bool is_flag(std::string_view word) {
  return word.size() > 1 && word.front() == '-';
}

/// Of the flag that is written so; nullptr when there is none.
const CLI::Option* find_flag(const CLI::App& app, const std::string& word) {
  return is_flag(word) ? app.get_option_no_throw(word) : nullptr;
}

bool is_switch(const CLI::Option& option) {
  return option.get_items_expected_max() == 0;
}

bool may_repeat(const CLI::Option& option) {
  return option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
}

/// Of the flag that is the word `at`: behind its '=', or as the next word.
bool has_value(const CLI::App& app, const std::vector<std::string>& words, std::size_t at) {
  const std::size_t equals = words[at].find('=');
  if (equals != std::string::npos) return equals + 1 < words[at].size();
  return at + 1 < words.size() && find_flag(app, words[at + 1]) == nullptr;
}

}  // namespace

Arguments cut_arguments(std::span<const char* const> after_verb) {
  const auto cut = std::find(after_verb.begin(), after_verb.end(), std::string_view("--"));
  Arguments arguments;
  arguments.words.assign(after_verb.begin(), cut);
  if (cut != after_verb.end()) arguments.command.emplace(std::next(cut), after_verb.end());
  return arguments;
}

int run_program(std::span<const Verb> verbs, std::span<const char* const> argv) {
  if (argv.size() < 2) {
    log("no verb is given");
    const std::string usage = usage_text(verbs);
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, usage.data(), usage.size());
    return kUsageExit;
  }
  const std::string_view word = argv[1];
  if (word == "--help" || word == "-h") return write_out(usage_text(verbs)) ? 0 : kUsageExit;
  if (word == "--version") return write_out("aegis " AEGIS_VERSION "\n") ? 0 : kUsageExit;
  const auto verb = std::find_if(
      verbs.begin(), verbs.end(), [word](const Verb& each) { return each.name == word; });
  if (verb == verbs.end()) return unknown_verb(verbs, word);
  return verb->run(cut_arguments(argv.subspan(2)));
}

Flags::Flags(const VerbText& text, Manner manner)
    : text_(text), manner_(manner), app_(std::make_unique<CLI::App>()) {
  app_->allow_extras();
  app_->set_help_flag("-h,--help", "say this");
  app_->formatter(std::make_shared<HelpFormatter>(text));
}

Flags::~Flags() = default;

void Flags::add_switch(const Flag& flag, bool& target) {
  app_->add_flag(flag.name, target, flag.help);
}

void Flags::add_value(const Flag& flag, Times times, Take take) {
  auto take_all = [this, name = std::string(flag.name), take = std::move(take)](
                      const std::vector<std::string>& values) {
    for (const std::string& value : values) {
      const std::string wrong = take(value);
      if (wrong_.empty() && !wrong.empty()) wrong_.append(name).append(": ").append(wrong);
    }
    return true;
  };
  CLI::Option* option = app_->add_option(flag.name, std::move(take_all), flag.help);
  option->type_name(flag.value)->expected(1);
  if (times == Times::several) option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void Flags::add_text(const Flag& flag, std::optional<std::string>& target) {
  add_value(flag, Times::once, [&target](const std::string& value) {
    target = value;
    return std::string();
  });
}

void Flags::add_texts(const Flag& flag, std::vector<std::string>& target) {
  add_value(flag, Times::several, [&target](const std::string& value) {
    target.push_back(value);
    return std::string();
  });
}

void Flags::add_choice(const Flag& flag, std::vector<std::string> choices, std::string& target) {
  add_value(flag, Times::once, [&target, choices = std::move(choices)](const std::string& value) {
    target = value;
    if (std::find(choices.begin(), choices.end(), value) != choices.end()) return std::string();
    return value + ": expected " + list_of(choices) + did_you_mean(value, choices);
  });
}

void Flags::add_number(const Flag& flag, Bounds bounds, std::uint64_t& target) {
  add_value(flag, Times::once, [&target, bounds](const std::string& value) {
    const char* const end = value.data() + value.size();
    const auto [stop, error] = std::from_chars(value.data(), end, target);
    const bool is_number = error == std::errc() && stop == end;
    if (is_number && target >= bounds.least && target <= bounds.most) return std::string();
    return value + ": expected a whole number from " + std::to_string(bounds.least) + " to " +
           std::to_string(bounds.most);
  });
}

std::optional<int> Flags::parse(const Arguments& arguments) {
  if (const std::optional<int> exit = run_parser(arguments.words)) return exit;
  if (const std::optional<int> exit = sort_rest(arguments)) return exit;
  if (!wrong_.empty()) return usage_error(wrong_);
  return std::nullopt;
}

/// What CLI11 would say in words of its own, or let pass: a flag in the place of a value. Empty
/// when nothing is wrong.
std::string Flags::wrong_flag(const std::vector<std::string>& words) const {
  std::set<std::string> given;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::size_t equals = words[at].find('=');
    const std::string name = words[at].substr(0, equals);
    const CLI::Option* option = find_flag(*app_, name);
    if (option == nullptr) continue;
    if (is_switch(*option)) {
      if (equals != std::string::npos) return name + ": it takes no value";
      continue;
    }
    if (!has_value(*app_, words, at))
      return name + ": a value is missing: " + option->get_type_name();
    if (equals == std::string::npos) ++at;
    if (!given.insert(name).second && !may_repeat(*option))
      return name + ": it can be given once only";
  }
  return {};
}

std::optional<int> Flags::run_parser(const std::vector<std::string>& words) {
  if (const std::string wrong = wrong_flag(words); !wrong.empty()) return usage_error(wrong);
  try {
    app_->parse(std::vector<std::string>(words.rbegin(), words.rend()));  // it takes the last first
  } catch (const CLI::CallForHelp&) {
    return write_out(app_->help()) ? 0 : manner_.usage_exit;
  } catch (const CLI::ParseError& error) {
    return usage_error(error.what());
  }
  return std::nullopt;
}

/// What CLI11 made nothing of.
std::optional<int> Flags::sort_rest(const Arguments& arguments) {
  operands_ = app_->remaining();
  const auto flag = std::find_if(operands_.begin(), operands_.end(), is_flag);
  switch (manner_.operands) {
    case Operands::command:
    case Operands::maybe_command:
      if (const std::optional<int> exit = check_command(arguments)) return exit;
      break;
    case Operands::words:
      if (flag != operands_.end()) return usage_error(unknown_flag(*flag));
      if (!arguments.command) break;
      operands_.insert(operands_.end(), arguments.command->begin(), arguments.command->end());
      break;
    case Operands::none:
      if (flag != operands_.end()) return usage_error(unknown_flag(*flag));
      if (arguments.command) return usage_error("--: no command is expected");
      if (!operands_.empty()) return usage_error(operands_.front() + ": no operand is expected");
      break;
  }
  return std::nullopt;
}

/// A forgotten `--` is said before the command's own flags are called unknown.
std::optional<int> Flags::check_command(const Arguments& arguments) {
  const auto flag = std::find_if(operands_.begin(), operands_.end(), is_flag);
  const auto word = std::find_if_not(operands_.begin(), operands_.end(), is_flag);
  const std::string how = "write: aegis " + std::string(text_.name) + " [flags] -- ";
  if (!arguments.command && word != operands_.end()) {
    return usage_error(*word + ": a `--` must stand before the command; " + how + *word);
  }
  if (flag != operands_.end()) return usage_error(unknown_flag(*flag));
  if (word != operands_.end()) return usage_error(*word + ": no flag, and not behind the `--`");
  const bool has_command = arguments.command && !arguments.command->empty();
  if (!has_command && manner_.operands == Operands::command)
    return usage_error("no command is given; " + how + "<command>");
  return std::nullopt;
}

std::string Flags::unknown_flag(const std::string& word) const {
  const std::string name = word.substr(0, word.find('='));
  std::vector<std::string> known;
  for (const CLI::Option* option : std::as_const(*app_).get_options()) {
    for (const std::string& each : option->get_lnames())
      known.push_back("--" + each);
    for (const std::string& each : option->get_snames())
      known.push_back("-" + each);
  }
  return name + ": no flag of this verb" + did_you_mean(name, known);
}

int Flags::usage_error(std::string_view what) const {
  std::string line(text_.name);
  line.append(": ").append(what);
  log(line.append(" (aegis ").append(text_.name).append(" --help tells more)"));
  return manner_.usage_exit;
}

}  // namespace aegis::wrap
