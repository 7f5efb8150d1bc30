// SPDX-License-Identifier: Apache-2.0 OR MIT
// What of a git configuration leads to other files that git runs or reads as configuration. It
// answers no other question about git, and takes no part of the text for granted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace aegis::confine {

struct GitConfig {
  std::vector<std::string> hook_folders;  // core.hooksPath, as written; the last one counts to git
  std::vector<std::string> includes;      // include.path and includeIf.*.path, as written
  std::vector<std::string> work_trees;    // core.worktree, as written
  bool has_worktree_config = false;       // extensions.worktreeConfig, whatever its value
};

/// Reads the syntax of git-config(1): sections and variables in any case, quotes, escapes,
/// comments, lines that go on. What git would call an error is read as far as it goes: a file that
/// git refuses runs nothing.
GitConfig parse_git_config(std::string_view text);

}  // namespace aegis::confine
