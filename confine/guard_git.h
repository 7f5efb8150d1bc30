// SPDX-License-Identifier: Apache-2.0 OR MIT
// The half of guard.cc that knows git: which repositories have a say in the folder, what their
// configuration leads to, and the user's. Configuration outside of the folder is read only, as git
// would read it; what it leads to in the folder is guarded.
//
// A place, here, is a name in the folder, or an absolute path outside of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "confine/git_config.h"
#include "confine/guard_book.h"

namespace aegis::confine {

class GitGuard {
 public:
  /// `home`: as in guard.h. Both outlive this.
  GitGuard(GuardBook& book, const std::string& home) : book_(book), home_(home) {}

  /// A folder, or a file that names one (gitrepository-layout(5)), or nothing yet.
  void add_dot_git(const std::string& place);
  /// As git does in setup.c (is_git_directory), but for what HEAD holds. Whether it is one.
  bool add_bare(const std::string& folder);
  /// The repositories whose work trees the folder may be a part of.
  void add_above();
  /// What was added, what it leads to, and what the user's configuration leads to.
  void guard_all();

 private:
  struct GitFolder {
    std::string place;  // without links where it lies in the folder
    std::string top;    // of the work tree
    bool operator==(const GitFolder&) const = default;
  };

  void add(GitFolder git);
  void add_written(const std::string& from, const std::string& written, const std::string& top);
  void guard_inside(const GitFolder& git);
  void guard_outside(const GitFolder& git);
  void guard_rows(GuardBase base, const std::string& folder, const GitConfig& config);
  void guard_common_dir(const GitFolder& git);
  std::vector<std::string> worktrees_of(const std::string& folder);

  std::string top_of(const std::string& worktree);
  GitConfig guard_by_config(std::vector<std::string> files, const GitFolder& git);
  void guard_users_config();
  GitConfig read_with_includes(std::vector<std::string> files);
  void add_includes(const GitConfig& config,
                    const std::string& from,
                    std::vector<std::string>& files);
  void guard_hook_folder(const std::string& written, const std::vector<std::string>& tops);
  void guard_hooks(const std::string& place);
  void guard_hooks_outside(const std::string& folder);

  std::string place_of(const std::string& from, const std::string& written);
  std::string settle(const std::string& place);
  std::optional<std::string> read(const std::string& place);
  std::optional<std::string> named_in(const std::string& file, std::string_view prefix);
  [[nodiscard]] std::optional<std::string> expand(const std::string& written) const;
  [[nodiscard]] bool is_there(const std::string& place) const;
  [[nodiscard]] bool is_folder(const std::string& place) const;

  GuardBook& book_;
  const std::string& home_;
  std::vector<GitFolder> git_folders_;  // the later ones still to be guarded
};

}  // namespace aegis::confine
