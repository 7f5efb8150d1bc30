// SPDX-License-Identifier: Apache-2.0 OR MIT
// What happens when each layer is tried here: errnos and a few facts about the machine, for
// support.cc to judge. Everything is done in throwaway children and leaves nothing behind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "confine/limits.h"

namespace aegis::confine {

inline constexpr int kNotTried = -1;

/// Whether this process's root is not its mount namespace's, which user namespaces are refused to
/// (current_chrooted() in kernel/user_namespace.c).
enum class Chroot : std::uint8_t {
  no,
  perhaps,  // only who has capabilities can tell when the root is a mount of its own
  yes
};

/// Each step by its errno; 0: it worked.
struct Probed {
  int all_namespaces = kNotTried;  // clone(2) with user, mount, pid, net, ipc, uts and cgroup
  int user_namespace = kNotTried;  // alone
  int mount_inside = kNotTried;    // a mount namespace, in that user namespace alone
  // Inside all namespaces:
  int id_map = kNotTried;
  int private_mounts = kNotTried;  // the propagation of "/"
  int tree = kNotTried;            // open_tree(2) and mount_setattr(2)
  int tmpfs = kNotTried;
  int proc = kNotTried;
  ProcessBound process_bound = ProcessBound::none;
  // Without namespaces:
  int landlock_abi = 0;
  int landlock = kNotTried;      // its version when there is none, else its enforcement
  int seccomp = kNotTried;       // a filter that allows everything
  int listener = kNotTried;      // SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (Linux 5.19)
  int thread_pidfd = kNotTried;  // PIDFD_THREAD (Linux 6.9)

  // Why, perhaps:
  std::string kernel;  // uname -r
  bool is_root = false;
  Chroot chroot = Chroot::no;    // asked when a user namespace is refused
  bool is_filtered = false;      // a seccomp filter is on already, as in containers
  std::string security_modules;  // /sys/kernel/security/lsm: "lockdown,yama,apparmor"; or empty
  std::optional<long> max_user_namespaces;        // user.*
  std::optional<long> unprivileged_userns_clone;  // kernel.*, Debian's and hardened ones
  std::optional<long> apparmor_restrict_unprivileged_userns;  // kernel.*, Ubuntu's
  std::string cgroup;  // what bounds all processes together: "memory by cgroup_v2", or empty
  std::string cgroup_missing;  // why something is not
};

/// Some milliseconds. The caller has one thread.
Probed probe();

}  // namespace aegis::confine
