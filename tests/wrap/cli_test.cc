// SPDX-License-Identifier: Apache-2.0 OR MIT
// Words to verbs and flags, and what is said about words that are neither.
#include "wrap/cli.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "tests/wrap/child.h"

namespace {

using aegis::test::Ended;
using aegis::test::run_in_child;
using aegis::wrap::Arguments;
using aegis::wrap::cut_arguments;
using aegis::wrap::Flags;
using aegis::wrap::Operands;
using aegis::wrap::run_program;
using aegis::wrap::Verb;
using aegis::wrap::VerbText;

using Words = std::vector<std::string>;

constexpr VerbText kText = {"try", "[flags]", "Tries flags.", "  aegis try --text x"};
constexpr int kUsageExit = 42;

/// All kinds of flags.
struct Target {
  bool is_on = false;
  std::optional<std::string> text;
  std::vector<std::string> texts;
  std::string choice = "one";
  std::uint64_t number = 5;
};

void add_all(Flags& flags, Target& target) {
  flags.add_switch({"--on", nullptr, "a switch"}, target.is_on);
  flags.add_text({"--text", "TEXT", "a text"}, target.text);
  flags.add_texts({"--texts", "TEXT", "texts"}, target.texts);
  flags.add_choice({"--choice", "WHICH", "a choice"}, {"one", "two"}, target.choice);
  flags.add_number({"--number", "N", "a number"}, {1, 10}, target.number);
}

/// Parses in this process: nothing may be wrong with the words.
Target good(const Words& words, Operands operands = Operands::none) {
  Target target;
  Flags flags(kText, {operands, kUsageExit});
  add_all(flags, target);
  CHECK_FALSE(flags.parse({words}));
  return target;
}

/// What is said about them, in a child; the exit code is the one that parse() gave.
Ended tried(const Arguments& arguments, Operands operands = Operands::none) {
  return run_in_child([&] {
    Target target;
    Flags flags(kText, {operands, kUsageExit});
    add_all(flags, target);
    return flags.parse(arguments).value_or(0);
  });
}

TEST_CASE("argv is cut at its first --, and what stands behind crosses as it is") {
  const char* const words[] = {"--policy", "p", "--", "node", "--", "[a,b]", "[]", "", "--help"};
  const Arguments cut = cut_arguments(words);
  CHECK(cut.words == Words{"--policy", "p"});
  REQUIRE(cut.command);
  CHECK(*cut.command == Words{"node", "--", "[a,b]", "[]", "", "--help"});
  CHECK_FALSE(cut_arguments(std::span(words).first(2)).command);
  CHECK(cut_arguments(std::span(words).first(3)).command == Words{});
}

TEST_CASE("flags of every kind are taken, and what is not given stays") {
  const Target all =
      good({"--on", "--text=x", "--texts", "a", "--choice", "two", "--number", "10", "--texts=b"});
  CHECK(all.is_on);
  CHECK(all.text == "x");
  CHECK(all.texts == Words{"a", "b"});
  CHECK(all.choice == "two");
  CHECK(all.number == 10);
  const Target none = good({});
  CHECK_FALSE(none.is_on);
  CHECK_FALSE(none.text);
  CHECK(none.texts.empty());
  CHECK(none.choice == "one");
  CHECK(none.number == 5);
}

TEST_CASE("values cross byte for byte") {
  for (const char* value : {"[a,b]", "[]", "{}", "a b", "\"a\"", "%%", "a=b", "-", "\xff", "'"}) {
    CAPTURE(value);
    CHECK(good({"--text", value}).text == value);
    CHECK(good({"--texts", value, "--texts", value}).texts == Words{value, value});
    CHECK(good({std::string("--text=") + value}).text == value);
  }
}

TEST_CASE("operands are kept in order, from before and behind --") {
  Flags flags(kText, {Operands::words, kUsageExit});
  Target target;
  add_all(flags, target);
  CHECK_FALSE(flags.parse({{"[a,b]", "--on", "-", "c"}, Words{"--text", "[]"}}));
  CHECK(flags.operands() == Words{"[a,b]", "-", "c", "--text", "[]"});
  CHECK(target.is_on);
}

TEST_CASE("each wrong word is said, with a suggestion when one is near") {
  struct Row {
    std::string_view name;
    Arguments arguments;
    Operands operands;
    std::string_view says;
  };
  const Row rows[] = {
      {"unknown flag",
       {{"--txet", "x"}},
       Operands::words,
       "--txet: no flag of this verb; did you mean --text?"},
      {"unknown flag with a value",
       {{"--txet=x"}},
       Operands::none,
       "--txet: no flag of this verb; did you mean --text?"},
      {"far from any",
       {{"--something-else"}},
       Operands::none,
       "--something-else: no flag of this verb ("},
      {"unknown letter", {{"-x"}}, Operands::words, "-x: no flag of this verb"},
      {"no value", {{"--text"}}, Operands::none, "--text: a value is missing: TEXT ("},
      {"a flag for a value",
       {{"--text", "--number", "5"}},
       Operands::none,
       "--text: a value is missing: TEXT ("},
      {"no value before a command",
       {{"--number"}, Words{"x"}},
       Operands::command,
       "--number: a value is missing: N ("},
      {"twice", {{"--text", "a", "--text=b"}}, Operands::none, "--text: it can be given once only"},
      {"a switch with a value", {{"--on=maybe"}}, Operands::none, "--on: it takes no value"},
      {"a switch turned off", {{"--on=false"}}, Operands::none, "--on: it takes no value"},
      {"a choice that is none",
       {{"--choice", "twoo"}},
       Operands::none,
       "--choice: twoo: expected one or two; did you mean two?"},
      {"a choice cut short",
       {{"--choice="}},
       Operands::none,
       "--choice: a value is missing: WHICH ("},
      {"a number too small",
       {{"--number", "0"}},
       Operands::none,
       "--number: 0: expected a whole number from 1 to 10"},
      {"a number too large", {{"--number", "11"}}, Operands::none, "from 1 to 10"},
      {"a number that overflows",
       {{"--number", "99999999999999999999"}},
       Operands::none,
       "from 1 to 10"},
      {"a number with more behind", {{"--number", "5s"}}, Operands::none, "--number: 5s: expected"},
      {"a negative number", {{"--number", "-5"}}, Operands::none, "--number: -5: expected"},
      {"a word", {{"word"}}, Operands::none, "word: no operand is expected"},
      {"a command", {{}, Words{"ls"}}, Operands::none, "--: no command is expected"},
      {"no command", {{}}, Operands::command, "no command is given; write: aegis try [flags] -- "},
      {"an empty command", {{}, Words{}}, Operands::command, "no command is given"},
      {"no --",
       {{"--on", "node", "--inspect", "x"}},
       Operands::command,
       "node: a `--` must stand before the command; write: aegis try [flags] -- node"},
      {"a word before --",
       {{"node"}, Words{"x"}},
       Operands::command,
       "node: no flag, and not behind the `--`"},
      {"an unknown flag before --",
       {{"--onn"}, Words{"x"}},
       Operands::command,
       "--onn: no flag of this verb; did you mean --on?"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const Ended ended = tried(row.arguments, row.operands);
    CAPTURE(ended.err);
    CHECK(ended.exit == kUsageExit);
    CHECK(ended.out.empty());
    CHECK(ended.err.find("aegis: try: ") == 0);
    CHECK(ended.err.find(row.says) != std::string::npos);
    CHECK(ended.err.find("(aegis try --help tells more)\n") != std::string::npos);
    CHECK(std::count(ended.err.begin(), ended.err.end(), '\n') == 1);
  }
}

TEST_CASE("a command may be anything, and its flags are its own") {
  CHECK(tried({{"--on"}, Words{"--help"}}, Operands::command).exit == 0);
  CHECK(tried({{}, Words{"[a,b]", "--text"}}, Operands::command).out.empty());
}

TEST_CASE("a command that may be missing is checked like any other when it is there") {
  CHECK(tried({{"--on"}}, Operands::maybe_command).exit == 0);
  CHECK(tried({{}, Words{}}, Operands::maybe_command).exit == 0);
  CHECK(tried({{}, Words{"node", "--on"}}, Operands::maybe_command).exit == 0);
  const Ended no_cut = tried({{"node"}}, Operands::maybe_command);
  CHECK(no_cut.exit == kUsageExit);
  CHECK(no_cut.err.find("node: a `--` must stand before the command") != std::string::npos);
}

TEST_CASE("--help tells usage, flags and an example on stdout") {
  for (const char* word : {"--help", "-h"}) {
    const Ended ended = tried({{word}});
    CHECK(ended.exit == 0);
    CHECK(ended.err.empty());
    for (const char* part : {"Usage: aegis try [flags]\n",
                             "Tries flags.",
                             "--text TEXT",
                             "a number",
                             "Example:\n  aegis try --text x\n"}) {
      CAPTURE(part);
      CHECK(ended.out.find(part) != std::string::npos);
    }
  }
}

int count_words(const Arguments& arguments) {
  return static_cast<int>(arguments.words.size()) +
         (arguments.command ? 10 * static_cast<int>(arguments.command->size()) : 0);
}
constexpr Verb kVerbs[] = {{"count", "counts words", count_words},
                           {"other", "is not called", nullptr}};

Ended run(std::vector<const char*> words) {
  words.insert(words.begin(), "aegis");
  return run_in_child([&] { return run_program(kVerbs, words); });
}

TEST_CASE("the first word names the verb, which gets the rest and gives the exit code") {
  CHECK(run({"count"}).exit == 0);
  CHECK(run({"count", "a", "--b"}).exit == 2);
  CHECK(run({"count", "a", "--", "b", "--", "--help"}).exit == 31);
}

TEST_CASE("without a verb, or with an unknown one, usage is an error") {
  const Ended none = run({});
  CHECK(none.exit == 1);
  CHECK(none.out.empty());
  CHECK(none.err.find("count") != std::string::npos);
  const Ended unknown = run({"cuont"});
  CHECK(unknown.exit == 1);
  CHECK(unknown.err.find("aegis: cuont: no verb of aegis; did you mean count?") == 0);
  const Ended flag = run({"--hepl"});
  CHECK(flag.exit == 1);
  CHECK(flag.err.find("aegis: --hepl: no flag of aegis; did you mean --help?") == 0);
  CHECK(run({""}).exit == 1);
}

TEST_CASE("aegis --help lists every verb, --version tells the version") {
  const Ended help = run({"--help"});
  CHECK(help.exit == 0);
  CHECK(help.out.find("  count  counts words\n") != std::string::npos);
  CHECK(help.out.find("  other  is not called\n") != std::string::npos);
  const Ended version = run({"--version"});
  CHECK(version.exit == 0);
  CHECK(version.out == "aegis " AEGIS_VERSION "\n");
}

TEST_CASE("an answer that cannot be written is an error with a message") {
  const Ended ended = run_in_child([] {
    const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
    ::dup2(full, STDOUT_FILENO);
    const char* const words[] = {"aegis", "--version"};
    return run_program(kVerbs, words);
  });
  CHECK(ended.exit == 1);
  CHECK(ended.err == "aegis: write the answer: stdout: No space left on device\n");
}

}  // namespace
