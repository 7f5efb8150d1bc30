// SPDX-License-Identifier: Apache-2.0 OR MIT
// What is the sandbox's own: /dev, /proc, /tmp and /dev/shm. Nothing here allocates.
#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "confine/mounts.h"
#include "confine/root.h"

namespace aegis::confine {
namespace {

constexpr std::uint64_t kNoGain = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
constexpr mode_t kFileMode = 0644;

/// The devices that a program may expect, bound from the host: in a user namespace none can be made
/// (mknod(2) needs CAP_MKNOD of the first one).
constexpr std::array<const char*, 5> kDevices{
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};

/// What of /proc is the whole machine's and no program's business, and what neither a capability
/// (kcore, kmsg) nor the read-only mount (sysrq-trigger) keeps from it. All but the first two can
/// be opened by root's uid alone. A kernel may lack any of them. Each costs 20 us.
constexpr std::array<const char*, 8> kHidden{"proc/keys",
                                             "proc/key-users",
                                             "proc/kpagecount",
                                             "proc/kpageflags",
                                             "proc/kpagecgroup",
                                             "proc/slabinfo",
                                             "proc/timer_list",
                                             "proc/vmallocinfo"};
constexpr std::size_t kHiddenFromUsers = 2;

/// Puts the private /dev/null over each that is there.
int hide_machine(int root, uid_t user) noexcept {
  const Fd source(open_exactly(root, "dev/null"));
  if (!source.is_open()) return errno;
  const std::size_t count = user == 0 ? kHidden.size() : kHiddenFromUsers;
  for (std::size_t i = 0; i < count; ++i) {
    const Fd place(open_exactly(root, kHidden[i]));
    if (!place.is_open() && errno == ENOENT) continue;
    if (!place.is_open()) return errno;
    // It has the attributes of the mount that it is copied from.
    const Fd tree(
        ::open_tree(source.get(), "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH));
    if (!tree.is_open()) return errno;
    if (const int code = attach(tree.get(), place.get())) return code;
  }
  return 0;
}

int bind_device(int root, const char* device) noexcept {
  const Fd source(open_exactly(AT_FDCWD, device));
  if (!source.is_open()) return errno;
  Fd tree;
  // Read-only for the sake of the node, whose mode root's uid could change for the whole machine;
  // what is written to the device passes (sb_permission in fs/namei.c).
  constexpr std::uint64_t kNode = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY;
  if (const int code = copy_tree(source.get(), kNode, tree)) return code;
  const Fd point(
      ::openat(root, device + 1, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kFileMode));
  return point.is_open() ? attach_at(tree.get(), root, device) : errno;
}

}  // namespace

/// What is private: /dev, /proc, /tmp and /dev/shm.
SetUp RootPlan::mount_scratch(int root) const noexcept {
  for (const char* device : kDevices) {
    if (const int code = bind_device(root, device)) return failed_at(Stage::devices, code);
  }
  struct Own {
    Stage stage;
    const char* type;
    const char* path;
    std::array<Option, 3> options;
    std::size_t option_count;
    std::uint64_t attributes;
  };
  const std::size_t counted = spec_.bounds.new_files ? 3 : 2;
  const std::array<Own, 4> own{{
      {Stage::devices,
       "devpts",
       "dev/pts",
       {{{"ptmxmode", "0666"}, {"mode", "0600"}}},
       2,
       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC},
      {Stage::proc, "proc", "proc", {}, 0, kNoGain | MOUNT_ATTR_NOEXEC},
      {Stage::scratch,
       "tmpfs",
       "tmp",
       {{{"mode", "1777"},
         {"size", scratch_options_[0].c_str()},
         {"nr_inodes", scratch_options_[1].c_str()}}},
       counted,
       kNoGain | own_attributes()},
      {Stage::scratch,
       "tmpfs",
       "dev/shm",
       {{{"mode", "1777"},
         {"size", shm_size_.c_str()},
         {"nr_inodes", scratch_options_[1].c_str()}}},
       counted,
       kNoGain | MOUNT_ATTR_NOEXEC},
  }};
  for (const Own& each : own) {
    Fd mount;
    int code =
        make_mount(each.type, {each.options.data(), each.option_count}, each.attributes, mount);
    if (code == 0) code = attach_at(mount.get(), root, each.path);
    if (code != 0) return failed_at(each.stage, code);
  }
  const int code = hide_machine(root, ::geteuid());
  return code == 0 ? SetUp{} : failed_at(Stage::proc, code);
}

}  // namespace aegis::confine
