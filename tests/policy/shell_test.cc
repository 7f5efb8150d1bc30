// SPDX-License-Identifier: Apache-2.0 OR MIT
// Shell strings: what is read, held against dash itself, and what is refused with which word.
#include "policy/shell.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace aegis::policy {
namespace {

using Commands = std::vector<SimpleCommand>;

/// Each command as [word][word] with its redirections, commands parted by newlines.
std::string shown(const ShellReading& reading) {
  if (const auto* fault = std::get_if<ShellFault>(&reading))
    return "fault at " + std::to_string(fault->offset) + ": " + fault->word;
  std::string out;
  for (const SimpleCommand& command : std::get<Commands>(reading)) {
    if (!out.empty()) out += '\n';
    for (const std::string& word : command.words)
      out += '[' + word + ']';
    for (const SimpleCommand::Redirection& each : command.redirections)
      out += (each.is_written ? '>' : '<') + each.target;
  }
  return out;
}

struct Row {
  std::string_view text;
  std::string_view expected;
};

constexpr Row kRead[] = {
    // words
    {"ls", "[ls]"},
    {"  ls\t-la  a ", "[ls][-la][a]"},
    {"ls 'a b' \"c d\" e\\ f", "[ls][a b][c d][e f]"},
    {"ls a'b'\"c\"d", "[ls][abcd]"},
    {"ls '' \"\" x''", "[ls][][][x]"},
    {"ls '$x' '`y`' '*?[' '~' '{a,b}'", "[ls][$x][`y`][*?[][~][{a,b}]"},
    {R"(ls \$x \* \~ \{a \# \\ \' \")", R"([ls][$x][*][~][{a][#][\][']["])"},
    {R"(ls "\$x \` \" \\ \n a")", R"([ls][$x ` " \ \n a])"},
    {R"(ls '\$x')", R"([ls][\$x])"},
    {"ls \"a'b\" 'c\"d'", "[ls][a'b][c\"d]"},
    {"ls 'a\nb' \"c\td\"", "[ls][a\nb][c\td]"},
    {"ls a~ a~b -x~ ''a~", "[ls][a~][a~b][-x~][a~]"},
    {"ls a} ] ! a!b", "[ls][a}][]][!][a!b]"},
    {"ls \xC3\xA4\xE2\x82\xAC", "[ls][\xC3\xA4\xE2\x82\xAC]"},
    {"ls {} if do esac", "[ls][{}][if][do][esac]"},
    {"[ -f a ]", "[[][-f][a][]]"},
    {"ls a=b --c=d", "[ls][a=b][--c=d]"},
    {"\\if 'while' \"!\"", "[if][while][!]"},
    // continuation and comments
    {"ls \\\n -l", "[ls][-l]"},
    {"l\\\ns a\\\nb", "[ls][ab]"},
    {"ls\n\\\n<in a", "[ls]\n[a]<in"},
    {"ls \"a\\\nb\" 'c\\\nd'", "[ls][ab][c\\\nd]"},
    {"ls # a $x `y` \"", "[ls]"},
    {"ls a#b # c\nwc", "[ls][a#b]\n[wc]"},
    {"ls #c \\\nwc", "[ls]\n[wc]"},
    {"# only\nls", "[ls]"},
    {"ls;#c", "[ls]"},
    // pipes and lists
    {"ls|wc", "[ls]\n[wc]"},
    {"ls ./data | wc -l", "[ls][./data]\n[wc][-l]"},
    {"a&&b||c;d&e\nf", "[a]\n[b]\n[c]\n[d]\n[e]\n[f]"},
    {"a &&\n\n b |\n c", "[a]\n[b]\n[c]"},
    {"a;", "[a]"},
    {"a &", "[a]"},
    {"\n\na\n\n\nb\n", "[a]\n[b]"},
    {"! a | b && ! c", "[a]\n[b]\n[c]"},
    {"a && # c\n b", "[a]\n[b]"},
    // redirections
    {"a <in >out", "[a]<in>out"},
    {"a>out>>more>|forced<>both", "[a]>out>more>forced>both"},
    {"<in a b", "[a][b]<in"},
    {"a 2>err 1> out 0<in", "[a]>err>out<in"},
    {"a 2>&1 >&2 2>&- <&0 2>& 1", "[a]"},
    {"a 2 >x a2>y '2'>z \\2>w", "[a][2][a2][2][2]>x>y>z>w"},
    {"a > 'b c' > \"d\"e", "[a]>b c>de"},
    {"a >\\\nb", "[a]>b"},
    {"a>b|c<d&&e", "[a]>b\n[c]<d\n[e]"},
};

/// What a shell makes of `text` when every command is a function that prints its words; the shell
/// must know no other command.
std::string by_dash(const std::string& text) {
  const std::string show = "wc() { :; }; show() { printf '[%s]' \"$@\"; printf '\\n'; }; ";
  std::string quoted = "'";
  for (const char byte : show + text) {
    if (byte == '\'') {
      quoted += "'\\''";
    } else {
      quoted += byte;
    }
  }
  const std::string command = "exec /bin/dash -c " + quoted + "' 2>/dev/null </dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "re"), ::pclose);
  REQUIRE(pipe != nullptr);
  std::string out;
  std::array<char, 4096> buffer{};
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe.get()))
    out.append(buffer.data(), got);
  return out;
}

}  // namespace

TEST_CASE("words, quotes, lists and redirections are read") {
  for (const Row& row : kRead) {
    CAPTURE(row.text);
    CHECK(shown(read_shell(row.text)) == row.expected);
  }
}

TEST_CASE("what has a value, or a meaning, only at run time is refused with its word") {
  const Row rows[] = {
      {"", "fault at 0: "},
      {"  \n # c", "fault at 7: "},
      // expansions
      {"ls $HOME", "fault at 3: $HOME"},
      {"ls a${x}b c", "fault at 3: a${x}b"},
      {"ls \"a $x\"", "fault at 3: \"a $x\""},
      {"ls $(pwd)", "fault at 3: $"},
      {"ls $((1+1))", "fault at 3: $"},
      {"ls $'a'", "fault at 3: $'a'"},
      {"ls $", "fault at 3: $"},
      {"$x", "fault at 0: $x"},
      {"ls `pwd`", "fault at 3: `pwd`"},
      {"ls \"`pwd`\"", "fault at 3: \"`pwd`\""},
      {"ls ~", "fault at 3: ~"},
      {"ls ~root/x", "fault at 3: ~root/x"},
      {"ls a=~", "fault at 3: a=~"},
      {"ls a:~/x", "fault at 3: a:~/x"},
      {"ls *", "fault at 3: *"},
      {"ls a?c", "fault at 3: a?c"},
      {"ls [ab]", "fault at 3: [ab]"},
      {"ls 'a'*'b'", "fault at 3: 'a'*'b'"},
      {"ls a[", "fault at 3: a["},
      {"ls {a,b}", "fault at 3: {a,b}"},
      {"ls {} if do esac {", "fault at 17: {"},
      {"ls a{1..3}", "fault at 3: a{1..3}"},
      {"ls >*", "fault at 4: *"},
      // compound commands and functions
      {"{ ls; }", "fault at 0: {"},
      {"(ls)", "fault at 0: ("},
      {"ls)", "fault at 2: )"},
      {"if true; then ls; fi", "fault at 0: if"},
      {"ls; while", "fault at 4: while"},
      {"ls | for", "fault at 5: for"},
      {"case a in b) ls;; esac", "fault at 0: case"},
      {"[[ -f a ]]", "fault at 0: [["},
      {"time ls", "fault at 0: time"},
      {"f() ls", "fault at 1: ("},
      {"function f", "fault at 0: function"},
      {"((1))", "fault at 0: ("},
      {"i\\\nf", "fault at 0: i\\\nf"},
      // what changes the meaning of what follows
      {"A=b ls", "fault at 0: A=b"},
      {"A=b", "fault at 0: A=b"},
      {"A+=b ls", "fault at 0: A+=b"},
      {"A=\"x y\" ls", "fault at 0: A=\"x y\""},
      {"A\\\n=b ls", "fault at 0: A\\\n=b"},
      {"<in A=b ls", "fault at 4: A=b"},
      {"PATH=. ls", "fault at 0: PATH=."},
      {"cd x && ls", "fault at 0: cd"},
      {"ls && 'cd' x", "fault at 6: 'cd'"},
      {". ./x", "fault at 0: ."},
      {"eval ls", "fault at 0: eval"},
      {"\\exec ls", "fault at 0: \\exec"},
      {"command ls", "fault at 0: command"},
      {"alias ls=x", "fault at 0: alias"},
      {"set -- a", "fault at 0: set"},
      // redirections
      {"cat <<x", "fault at 4: <<"},
      {"cat <<<x", "fault at 4: <<<"},
      {"cat <(ls)", "fault at 4: <("},
      {"cat >(ls)", "fault at 4: >("},
      {"cat &>x", "fault at 4: &>"},
      {"cat >&x", "fault at 4: >&x"},
      {"cat 2>&1x", "fault at 4: 2>&1x"},
      {"cat <&3-", "fault at 4: <&3-"},
      {"cat 10>x", "fault at 4: 10"},
      {"cat 2\\\n>x", "fault at 4: 2\\\n"},
      {"cat >", "fault at 4: >"},
      {"cat > | x", "fault at 4: > |"},
      {"cat > 2>x", "fault at 4: > 2"},
      {"cat >''", "fault at 4: >''"},
      {">x", "fault at 2: "},
      {"2>&1 | cat", "fault at 5: |"},
      // nothing where a command should be
      {"; ls", "fault at 0: ;"},
      {"ls;;ls", "fault at 2: ;;"},
      {"ls ; ; ls", "fault at 5: ;"},
      {"ls |", "fault at 4: "},
      {"ls && || wc", "fault at 6: ||"},
      {"ls & ; wc", "fault at 5: ;"},
      {"ls |& wc", "fault at 3: |&"},
      {"!", "fault at 1: "},
      {"! ! ls", "fault at 2: !"},
      {"ls | ! wc", "fault at 5: !"},
      {"! \n ls", "fault at 2: \n"},
      {"ls &\\\n& wc", "fault at 3: &"},
      // what is no text, or has no end
      {"ls 'a b", "fault at 3: 'a"},
      {"ls \"a", "fault at 3: \"a"},
      {"ls \"a\\", "fault at 3: \"a\\"},
      {"ls a\\", "fault at 3: a\\"},
      {"ls \x01", "fault at 3: \x01"},
      {"ls '\r'", "fault at 4: \r"},
      {"ls \x7F", "fault at 3: \x7F"},
      {"ls \xC3", "fault at 3: \xC3"},
      {std::string_view("ls \0", 4), std::string_view("fault at 3: \0", 13)},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const ShellReading reading = read_shell(row.text);
    CHECK(shown(reading) == row.expected);
    const auto* fault = std::get_if<ShellFault>(&reading);
    if (fault != nullptr) CHECK(fault->why.size() > 10);
  }
}

TEST_CASE("dash splits the same words") {
  if (::access("/bin/dash", X_OK) != 0) {
    MESSAGE("skipped: /bin/dash is missing");
    return;
  }
  struct Same {
    std::string_view text;  // of commands that are called "show"
    std::string_view expected;
  };
  std::size_t compared = 0;
  for (const Row& row : kRead) {
    // Only words: redirections would make files, and other names are no commands.
    if (row.text.find_first_of("<>|&") != std::string_view::npos) continue;
    if (row.text.find("\n\na") != std::string_view::npos || !row.text.starts_with("ls ")) continue;
    const ShellReading reading = read_shell(row.text);
    const auto* commands = std::get_if<Commands>(&reading);
    if (commands == nullptr) continue;
    CAPTURE(row.text);
    std::string expected;
    for (std::size_t at = 1; at < commands->front().words.size(); ++at)
      expected += '[' + commands->front().words[at] + ']';
    // printf without words still prints its format once.
    if (expected.empty()) expected = "[]";
    const std::string out = by_dash("show" + std::string(row.text.substr(2)));
    CHECK(out.substr(0, out.rfind('\n')) == expected);
    ++compared;
  }
  CHECK(compared >= 15);
  const Same rows[] = {
      {"show a | cat; show b && show c || show d; ! show e; show f >/dev/null",
       "[a]\n[b]\n[c]\n[e]\n"},
      {"show a 2>&1 >/dev/null; show b 2>&- # c\nshow 2 a2", "[b]\n[2][a2]\n"},
      {"show \\\n'x\\\ny' \"z\\\nw\"", "[x\\\ny][zw]\n"},
      {"show a&&\n\nshow b |\ncat", "[a]\n[b]\n"},
  };
  for (const Same& row : rows) {
    CAPTURE(row.text);
    CHECK(std::holds_alternative<Commands>(read_shell(row.text)));
    CHECK(by_dash(std::string(row.text)) == row.expected);
  }
}

TEST_CASE("a long text takes no time to speak of") {
  std::string text;
  while (text.size() < (1UL << 20U))
    text += "ls 'a b' \"c\" d\\ e >x | ";
  const auto start = std::chrono::steady_clock::now();
  CHECK(std::holds_alternative<ShellFault>(read_shell(text)));
  CHECK(std::holds_alternative<Commands>(read_shell(text + "ls")));
  CHECK(std::holds_alternative<Commands>(read_shell(std::string(1UL << 20U, '\''))));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
}

}  // namespace aegis::policy
