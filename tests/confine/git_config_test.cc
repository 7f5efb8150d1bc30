// SPDX-License-Identifier: Apache-2.0 OR MIT
// Which files a git configuration leads to.
#include "confine/git_config.h"

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace aegis::confine {

TEST_CASE("core.hooksPath is found however it is written") {
  struct Row {
    std::string_view what;
    std::string_view text;
    std::string value;
  };
  const Row rows[] = {
      {"plain", "[core]\n\thooksPath = .husky/_\n", ".husky/_"},
      {"any case, no blanks", "[CORE]\nHOOKSPATH=h\n", "h"},
      {"on the section's line", "[core] hooksPath = h", "h"},
      {"behind other sections", "[user]\nname = x\n[core]\nbare\nhooksPath = h\n", "h"},
      {"quoted, with a comment sign", "[core]\nhooksPath = \"a # b\" ; c\n", "a # b"},
      {"half quoted", "[core]\nhooksPath = a\" b\"c\n", "a bc"},
      {"blanks inside and behind", "[core]\nhooksPath =  a  b  \n", "a  b"},
      {"escapes", "[core]\nhooksPath = \"a\\\"b\\\\c\"\n", "a\"b\\c"},
      {"a line that goes on", "[core]\nhooksPath = a\\\nb\n", "ab"},
      {"CRLF", "[core]\r\nhooksPath = a\r\n", "a"},
      {"a byte-order mark", "\xEF\xBB\xBF[core]\nhooksPath = a\n", "a"},
      {"a bracket in another section's name", "[x \"]\"]\ny = z\n[core]\nhooksPath = a\n", "a"},
      {"the end of the text", "[core]\nhooksPath = a", "a"},
      {"a backslash at the end", "[core]\nhooksPath = a\\", "a"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    CHECK(parse_git_config(row.text).hook_folders == std::vector<std::string>{row.value});
  }
}

TEST_CASE("what is not core.hooksPath is not taken for it") {
  for (const std::string_view text : {"[core]\n# hooksPath = a\n",
                                      "[corex]\nhooksPath = a\n",
                                      "[x]\nhooksPath = a\n",
                                      "[core]\nhooksPathX = a\n",
                                      "[core]\nx = hooksPath = a\n",
                                      "hooksPath = a\n",
                                      ""}) {
    CAPTURE(text);
    CHECK(parse_git_config(text).hook_folders.empty());
  }
}

TEST_CASE("includes with and without a condition are found, and who wants a worktree's own") {
  const GitConfig config = parse_git_config(
      "[include]\n\tpath = ../.gitconfig\n[includeIf \"gitdir:~/x/\"]\n\tpath = y\n"
      "[extensions]\n\tworktreeConfig = true\n");
  CHECK(config.includes == std::vector<std::string>{"../.gitconfig", "y"});
  CHECK(config.has_worktree_config);
  CHECK_FALSE(parse_git_config("[extensions]\nx = y\n").has_worktree_config);
}

}  // namespace aegis::confine
