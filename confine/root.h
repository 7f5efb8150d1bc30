// SPDX-License-Identifier: Apache-2.0 OR MIT
// The private root of tier full: what exists for the program, or, for one that is watched and not
// confined, what it sees of the host (HostView). Planned before the fork, built after
// it inside the new namespaces from a tmpfs and the trees that were granted. What it allows is
// Landlock's (landlock.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "confine/child.h"
#include "confine/landlock.h"

namespace aegis::confine {

/// Bytes of a tmpfs that holds it.
std::uint64_t size_of_copy(const Snapshot& copy);

class RootPlan {
 public:
  /// Whose passwd(5) entry the program finds.
  struct User {
    uid_t uid;
    gid_t gid;
  };
  /// `spec` must outlive the plan.
  RootPlan(const Spec& spec, User user);

  /// In the first process of new user, mount and pid namespaces, its ids mapped. Afterwards `/` is
  /// the private root, and nothing of the old one can be reached. Async-signal-safe. `code` 0 when
  /// all is done.
  [[nodiscard]] SetUp build() const noexcept;
  /// Makes /proc read-only, after what had to be written there.
  [[nodiscard]] static SetUp seal_proc() noexcept;
  /// Allows the reading of a home folder that was made: empty and read-only, it holds only what was
  /// granted in it. Async-signal-safe. 0 or an errno.
  [[nodiscard]] int allow_home(const Ruleset& ruleset) const noexcept;
  /// Allows the reading of the copy of the workspace. Likewise.
  [[nodiscard]] int allow_copy(const Ruleset& ruleset) const noexcept;

 private:
  struct Mount {
    const char* path;          // on the host
    const char* place;         // in the private root
    std::uint64_t attributes;  // MOUNT_ATTR_*
    bool is_directory;
    bool is_inside_mount;  // its mount point is there: it lies in a tree that was granted
    FileId id;
    std::uint16_t which;  // index in Spec::paths
  };
  struct File {
    const char* path;
    std::string text;
  };
  [[nodiscard]] std::uint64_t places_in_scratch() const;
  void plan_mounts();
  void plan_folders();
  void plan_folder(const std::string& path);
  void plan_files(User user);

  /// Of what the program can fill or find filled: only what was granted runs in a worker.
  [[nodiscard]] std::uint64_t own_attributes() const noexcept;
  [[nodiscard]] SetUp fill(int root, int top) const noexcept;
  [[nodiscard]] SetUp make_skeleton(int root) const noexcept;
  [[nodiscard]] SetUp make_places(int root) const noexcept;
  [[nodiscard]] SetUp mount_grants(int root) const noexcept;
  [[nodiscard]] static int mount_grant(int root, const Mount& mount) noexcept;
  [[nodiscard]] SetUp mount_guards(int root) const noexcept;
  [[nodiscard]] SetUp mount_scratch(int root) const noexcept;
  // root_worker.cc's
  void plan_worker();
  [[nodiscard]] SetUp copy_workspace(int root) const noexcept;
  [[nodiscard]] SetUp bind_writable(int root) const noexcept;
  // root_host_view.cc's
  [[nodiscard]] SetUp show_host(int root, int host) const noexcept;
  [[nodiscard]] static SetUp hide(int root,
                                  int host,
                                  const std::vector<std::string>& hidden) noexcept;

  const Spec& spec_;
  std::vector<std::string> folders_;  // relative to the root, parents first
  std::vector<Mount> mounts_;
  std::vector<Mount> binds_;  // WorkerFiles::binds
  std::vector<File> files_;
  std::string root_size_;
  std::string scratch_options_[2];  // size= and nr_inodes= of /tmp
  std::string shm_size_;
  bool is_home_made_ = false;
};

}  // namespace aegis::confine
