// SPDX-License-Identifier: Apache-2.0 OR MIT
// The guard against poisoned configuration: a program that may write a folder must not write what
// some other program of the user's then runs (guarded_names.h). What is there at start becomes
// read-only mounts; this decides which. What is not there is watched (guard_watch.h).
//
// It does not guard projects nested in the folder: a repository below it, or a submodule, can carry
// a configuration of its own, and git runs that when it is asked about the folder above too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "confine/common_dir.h"
#include "confine/fd.h"
#include "confine/grants.h"
#include "confine/result.h"

namespace aegis::confine {

struct GuardOptions {
  std::string folder;     // writable to the program: absolute, resolved, there
  std::string home = {};  // the user's home folder: absolute and resolved, or empty
};

/// Names are relative to the folder and have no link in them; a name may be a link's own.
struct GuardPlan {
  struct Held {
    std::string name;
    FileId id = {};
  };
  std::string folder;
  Fd root;                          // O_PATH on the folder
  std::vector<Held> self_bound;     // folders; one stands before what lies in it
  std::vector<Held> read_only;      // none lies in another
  std::vector<std::string> absent;  // to be watched
  std::vector<CommonDir> common_dirs;
  std::vector<std::string> notes;  // what the user should know, a line each

  /// Absolute, in the order of mounting: first each of these onto itself, or a rename of the folder
  /// around a guarded name would leave the name free (a mount point cannot be renamed: EBUSY) …
  [[nodiscard]] std::vector<std::string> self_bound_paths() const;
  /// … then each of these onto itself, read-only, recursively. A link among them is mounted as
  /// itself, never followed.
  [[nodiscard]] std::vector<std::string> read_only_paths() const;
};

/// Looks at the folder, on the host, before the program runs. Follows no link unseen: one among the
/// guarded names is held itself, and what it points to is guarded too when it lies in the folder.
/// Makes in each git folder what could otherwise be made by the program: an empty `hooks`, a
/// `commondir` holding "." (to git what it is without one), an empty `config.worktree` where the
/// configuration asks for one; where the user may not, neither may the program, and it is watched.
/// Errors: something there cannot be judged. Only who calls can tell how to go without the guard.
Result<GuardPlan> plan_guard(const GuardOptions& options);

/// Whether `path`, relative, bears a guarded name, lies in something that does, or stands on the
/// way to one ("a/.vscode", ".git/hooks/x", ".config"): a folder of its own that may be written
/// would be guarded without that name. ASCII letters count in either case.
bool leads_to_guarded(std::string_view path);

}  // namespace aegis::confine
