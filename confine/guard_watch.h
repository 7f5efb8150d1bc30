// SPDX-License-Identifier: Apache-2.0 OR MIT
// The other half of the guard: names that were not there at start are moved out of the folder when
// they appear, and mounts that somebody on the host has loosened are told. Runs in aegis's own
// process, which nothing confines, against a folder that a hostile program writes: it opens nothing
// that it does not know, follows no link, never walks into what it moves, and blocks on nothing.
//
// A name can exist for some milliseconds before it is moved: inotify(7) tells, it does not ask.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "confine/fd.h"
#include "confine/guard.h"
#include "confine/quarantine.h"
#include "confine/result.h"

namespace aegis::confine {

struct GuardFinding {
  enum class Kind : std::uint8_t {
    moved,    // it appeared, and is now `moved_to`
    stuck,    // it appeared, and cannot be moved: `code`
    blind,    // a folder that names can appear in cannot be watched: `code`
    replaced  // it was read-only or self-bound, and another file stands there now, or none: the
              // host's renaming onto a mount point takes the mount away (namespaces(7) does not
              // tell; fs/namespace.c: detach_mounts), and the program may write there
  };
  Kind kind = Kind::moved;
  std::string path = {};      // absolute
  std::string moved_to = {};  // absolute
  int code = 0;               // errno
  /// With all but moved the folder is not guarded any more: the sandbox must end.
  [[nodiscard]] bool is_guard_lost() const { return kind != Kind::moved; }
};
/// One line without a newline: what happened and what to do about it.
std::string describe(const GuardFinding& finding);

class GuardWatch {
 public:
  /// Before the program runs. An error means that there is no guard: the user's limit of inotify
  /// instances, most often. `quarantine` is a folder outside of what the program can reach, made
  /// when it is needed.
  static Result<GuardWatch> start(GuardPlan plan, std::string quarantine);

  /// Readable when on_event() has something to do.
  [[nodiscard]] int fd() const { return inotify_.get(); }
  /// The folder itself, open with O_PATH: for space.h.
  [[nodiscard]] int folder_fd() const { return plan_.root.get(); }
  /// Looks at every name, whatever the event says: events can be lost, merged and forged. Call it
  /// once right after the program has started, too.
  std::vector<GuardFinding> on_event();
  /// So much appeared that the program works at it: the sandbox must end.
  [[nodiscard]] bool is_overrun() const { return moved_ >= kMaxMoved; }
  /// The last look, when every process of the program is gone; and the `commondir`s that plan_guard
  /// made go.
  std::vector<GuardFinding> finish();

  static constexpr std::size_t kMaxMoved = 256;

 private:
  GuardWatch(GuardPlan plan, std::string quarantine);

  struct Folder {
    std::string name;
    int watch = -1;  // inotify's number of what it was when last looked at
  };

  void arm(std::vector<GuardFinding>& findings);
  int arm_folder(Folder& folder) const;
  void drain() const;
  std::vector<GuardFinding> look();
  void look_for(const std::string& name, std::vector<GuardFinding>& findings);
  void move_away(const Quarantine::Source& source,
                 const std::string& path,
                 std::vector<GuardFinding>& findings);
  void tell_once(GuardFinding finding, std::vector<GuardFinding>& findings);
  void compare(const GuardPlan::Held& held, std::vector<GuardFinding>& findings);

  GuardPlan plan_;
  Quarantine quarantine_;
  std::vector<Folder> folders_;    // that names can appear in; they may not be there
  std::vector<std::string> told_;  // paths whose loss has been told
  Fd inotify_;
  std::size_t moved_ = 0;
};

}  // namespace aegis::confine
