// SPDX-License-Identifier: Apache-2.0 OR MIT
// Tries each layer in throwaway children: the only way to know, since a sysctl, a security module,
// a container's filter and a masked /proc all say no in their own place.
#include "confine/probe.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/mount.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <new>
#include <sstream>
#include <type_traits>

#include "confine/cgroup.h"
#include "confine/landlock.h"
#include "confine/process.h"

namespace aegis::confine {
namespace {

constexpr unsigned long kAllNamespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
                                         CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
constexpr unsigned kPidfdThread = O_EXCL;               // linux/pidfd.h, Linux 6.9
constexpr unsigned long kWaitKillableRecv = 1UL << 5U;  // linux/seccomp.h, Linux 5.19

int code_of(long result) noexcept {
  return result < 0 ? errno : 0;
}

/// What a child found, in memory that it shares with its parent.
struct Findings {
  int first = kNotTried;
  int id_map = kNotTried;
  int private_mounts = kNotTried;
  int tree = kNotTried;
  int tmpfs = kNotTried;
  int proc = kNotTried;
  ProcessBound process_bound = ProcessBound::none;
  bool is_another_root = false;
};
static_assert(std::is_trivially_copyable_v<Findings>);

struct Tried {
  int clone = kNotTried;
  Findings found = {};
};

/// Runs `body(Findings&)` in a child with `namespaces`. It must be async-signal-safe.
template <class Body>
Tried try_in_child(unsigned long namespaces, const Body& body) {
  Tried tried;
  void* const page =
      ::mmap(nullptr, sizeof(Findings), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return tried;
  auto* const shared = new (page) Findings;
  const long child = ::syscall(SYS_clone, namespaces | SIGCHLD, 0, 0, 0, 0);
  tried.clone = code_of(child);
  if (child == 0) {
    body(*shared);
    ::_exit(0);
  }
  if (child > 0) {
    while (::waitpid(static_cast<pid_t>(child), nullptr, 0) < 0 && errno == EINTR) {
    }
    tried.found = *shared;
  }
  ::munmap(page, sizeof(Findings));
  return tried;
}

int map_ids(std::string_view uid_map, std::string_view gid_map) noexcept {
  if (const int code = write_proc("/proc/self/setgroups", "deny")) return code;
  if (const int code = write_proc("/proc/self/uid_map", uid_map)) return code;
  return write_proc("/proc/self/gid_map", gid_map);
}

int clone_tree() noexcept {
  const long tree =
      ::syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
  if (tree < 0) return errno;
  mount_attr attributes = {};
  attributes.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
  const int code = code_of(::syscall(
      SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof(attributes)));
  ::close(static_cast<int>(tree));
  return code;
}

void try_namespaces(Probed& probed) {
  const std::string uid_map =
      std::to_string(::geteuid()) + " " + std::to_string(::geteuid()) + " 1";
  const std::string gid_map =
      std::to_string(::getegid()) + " " + std::to_string(::getegid()) + " 1";
  const Tried all = try_in_child(kAllNamespaces, [&](Findings& found) noexcept {
    found.id_map = map_ids(uid_map, gid_map);
    found.private_mounts = code_of(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    if (found.private_mounts != 0) return;  // what follows would reach the host
    found.tree = clone_tree();
    found.tmpfs = code_of(::mount("tmpfs", "/", "tmpfs", MS_NOSUID | MS_NODEV, "size=4k"));
    constexpr unsigned long kProcFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
    found.proc = code_of(::mount("proc", "/proc", "proc", kProcFlags, nullptr));
    found.process_bound = bound_processes({});
  });
  probed.all_namespaces = all.clone;
  probed.id_map = all.found.id_map;
  probed.private_mounts = all.found.private_mounts;
  probed.tree = all.found.tree;
  probed.tmpfs = all.found.tmpfs;
  probed.proc = all.found.proc;
  probed.process_bound = all.found.process_bound;
  if (all.clone == 0) {
    probed.user_namespace = 0;
    probed.mount_inside = 0;
    return;
  }
  const Tried alone = try_in_child(CLONE_NEWUSER, [&](Findings& found) noexcept {
    found.first = code_of(::unshare(CLONE_NEWNS));
    found.id_map = map_ids(uid_map, gid_map);
  });
  probed.user_namespace = alone.clone;
  probed.mount_inside = alone.found.first;
  probed.id_map = alone.found.id_map;
}

void try_landlock(Probed& probed) {
  errno = 0;
  probed.landlock_abi = landlock_abi();
  if (probed.landlock_abi == 0) {
    probed.landlock = errno;
    return;
  }
  const Result<Ruleset> ruleset = Ruleset::make({probed.landlock_abi, Network::none});
  if (!ruleset.is_ok()) {
    probed.landlock = ruleset.error().code;
    return;
  }
  const Tried tried = try_in_child(0, [&](Findings& found) noexcept {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    found.first = ruleset->enforce();
  });
  probed.landlock = tried.found.first;
}

void try_seccomp(Probed& probed) {
  const Tried tried = try_in_child(0, [](Findings& found) noexcept {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const sock_fprog program = {1, &allow};
    found.first = code_of(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
  });
  probed.seccomp = tried.found.first;
  // No program at all: EFAULT when the flags are known, EINVAL when they are not.
  const unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | kWaitKillableRecv;
  const int code = code_of(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, nullptr));
  probed.listener = code == EFAULT ? 0 : code;
  const long pidfd = ::syscall(SYS_pidfd_open, ::getpid(), kPidfdThread);
  probed.thread_pidfd = code_of(pidfd);
  if (pidfd >= 0) ::close(static_cast<int>(pidfd));
}

std::string read_all(const char* path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::optional<long> read_number(const char* path) {
  const std::string text = read_all(path);
  long number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc()) return std::nullopt;
  return number;
}

/// Its fifth word is where a mount is, seen from this process's root (proc_pid_mountinfo(5)).
bool has_mount_at_root() {
  std::istringstream mounts(read_all("/proc/self/mountinfo"));
  std::string line;
  bool is_empty = true;
  while (std::getline(mounts, line)) {
    is_empty = false;
    std::istringstream words(line);
    std::string word;
    for (int i = 0; i < 5; ++i)
      words >> word;
    if (word == "/") return true;
  }
  return is_empty;  // without /proc nothing is known
}

/// To enter the mount namespace that one is in already (setns(2) by a pidfd, Linux 5.8) takes one
/// to its root, as current_chrooted() finds it.
Chroot find_chroot() {
  if (!has_mount_at_root()) return Chroot::yes;
  const Tried tried = try_in_child(0, [](Findings& found) noexcept {
    constexpr unsigned kMask = STATX_INO | STATX_MNT_ID;
    struct statx before = {};
    struct statx after = {};
    found.first = code_of(::statx(AT_FDCWD, "/", 0, kMask, &before));
    const long self = ::syscall(SYS_pidfd_open, ::getpid(), 0);
    if (found.first == 0) found.first = code_of(::setns(static_cast<int>(self), CLONE_NEWNS));
    if (found.first == 0) found.first = code_of(::statx(AT_FDCWD, "/", 0, kMask, &after));
    found.is_another_root =
        before.stx_mnt_id != after.stx_mnt_id || before.stx_ino != after.stx_ino;
  });
  if (tried.clone != 0 || tried.found.first != 0) return Chroot::perhaps;
  return tried.found.is_another_root ? Chroot::yes : Chroot::no;
}

void ask_machine(Probed& probed) {
  utsname kernel = {};
  if (::uname(&kernel) == 0) probed.kernel = kernel.release;
  probed.is_root = ::geteuid() == 0;
  probed.is_filtered = read_all("/proc/self/status").find("\nSeccomp:\t2\n") != std::string::npos;
  probed.security_modules = read_all("/sys/kernel/security/lsm");
  probed.max_user_namespaces = read_number("/proc/sys/user/max_user_namespaces");
  probed.unprivileged_userns_clone = read_number("/proc/sys/kernel/unprivileged_userns_clone");
  probed.apparmor_restrict_unprivileged_userns =
      read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
}

void try_cgroup(Probed& probed) {
  Bounds bounds;
  bounds.is_memory_asked_for = true;
  bounds.is_processes_asked_for = true;
  const Cgroups cgroups = Cgroups::make(bounds);
  if (cgroups.memory() != MemoryBound::per_process) {
    probed.cgroup.append("memory by ").append(to_string(cgroups.memory()));
  }
  if (cgroups.has_processes()) {
    probed.cgroup.append(probed.cgroup.empty() ? "" : ", ").append("processes");
  }
  if (!cgroups.missing().empty()) probed.cgroup_missing = describe(cgroups.missing().front());
}

}  // namespace

Probed probe() {
  Probed probed;
  ask_machine(probed);
  try_namespaces(probed);
  if (probed.user_namespace == EPERM) probed.chroot = find_chroot();
  try_landlock(probed);
  try_seccomp(probed);
  try_cgroup(probed);
  return probed;
}

}  // namespace aegis::confine
