// SPDX-License-Identifier: Apache-2.0 OR MIT
// A shell string as the simple commands that a POSIX shell would run, when that can be told without
// running it (XCU 2, "Shell Command Language"): words, quotes, pipes and lists. Whatever could come
// out otherwise (expansions, substitutions, redirections elsewhere, functions, compound commands)
// is a refusal that names the word. It runs nothing and knows no policy.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace aegis::policy {

struct SimpleCommand {
  std::vector<std::string> words;  // quotes removed; at least one
  struct Redirection {
    std::string target;  // a path, quotes removed
    bool is_written;     // '>' and its kin
  };
  std::vector<Redirection> redirections = {};
};
struct ShellFault {
  std::size_t offset;  // bytes from the text's start, where the word begins
  std::string word;    // as it stands there
  std::string why;     // "its value is not known before it runs: a parameter expansion"
};
using ShellReading = std::variant<std::vector<SimpleCommand>, ShellFault>;

/// Never throws on input, uses no recursion.
ShellReading read_shell(std::string_view text);

}  // namespace aegis::policy
