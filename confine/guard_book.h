// SPDX-License-Identifier: Apache-2.0 OR MIT
// The half of guard.cc that knows nothing of git: follows a name in the folder without being led
// astray, and books it as held or as absent.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "confine/beneath.h"
#include "confine/guard.h"
#include "confine/guarded_names.h"
#include "confine/result.h"

namespace aegis::confine {

/// The first thing that cannot be judged is what finish() answers; until then all is done as if
/// that thing were outside.
class GuardBook {
 public:
  explicit GuardBook(std::string folder);

  struct Wanted {
    std::string name;
    WhenMissing when_missing = WhenMissing::watch;
    std::string_view content = {};  // of a file that is made
  };
  /// Where a name leads.
  struct Found {
    bool is_inside = false;  // else the rest does not matter
    std::string name = {};   // without links
    std::optional<struct stat> status = {};
    [[nodiscard]] bool is_folder() const { return status && S_ISDIR(status->st_mode); }
  };

  /// Goes to `name`, component by component. A link on the way or at the end is held, and the way
  /// goes on where it points.
  Found follow(const std::string& name);
  /// Holds what `wanted` leads to, or sees to its absence. What the links in a folder that is held
  /// lead to, at any depth, is guarded with it.
  Found guard(const Wanted& wanted);
  /// Makes `name` read-only, and keeps every folder above it in its place.
  void hold(const std::string& name);
  /// Keeps `name` and every folder above it in their places.
  void self_bind(const std::string& name);
  void watch(const std::string& name) { plan_.absent.push_back(name); }
  void keep(CommonDir common_dir) { plan_.common_dirs.push_back(std::move(common_dir)); }
  /// The name of `written`, found in `from`; nothing when it is outside, or cannot be judged. A way
  /// that leaves the folder, or begins outside, is gone on the host: it may come back.
  std::optional<std::string> name_of(const std::string& from, const std::string& written);

  void fail(Error error);
  /// "<name>: <why>".
  void refuse(const std::string& name, std::string_view why);

  /// Sorted, each once, and nothing below what is read-only as a whole.
  Result<GuardPlan> finish() &&;

  [[nodiscard]] int root() const { return plan_.root.get(); }
  /// Of a name in the folder, or of what is absolute already.
  [[nodiscard]] std::string absolute(const std::string& name) const;
  [[nodiscard]] const std::string& folder() const { return plan_.folder; }

 private:
  struct Stop;
  Stop walk(const std::string& name);
  bool make(const std::string& name, const Wanted& wanted);
  void look_into_folders();
  void look_at_entry(const std::string& name);
  void note_other_name(const std::string& name, const struct stat& status);
  /// `code` is the errno of what was done with `name`.
  void fail_at(const std::string& name, int code);

  GuardPlan plan_;
  std::vector<std::string> folders_;  // held; the later ones still to be looked into
  std::optional<Error> error_;
};

/// "a/b" of "a/b/c", "" of "a".
std::string folder_of(const std::string& name);

}  // namespace aegis::confine
