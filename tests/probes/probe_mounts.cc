// SPDX-License-Identifier: Apache-2.0 OR MIT
// Attempts to change what the file tree is made of. Those named real_* change it when they succeed,
// and are made only where the tree is a private one; the others end in an errno of the code behind
// the check of privilege (may_mount() in fs/namespace.c) and change nothing.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "tests/probes/probe.h"

#ifndef SYS_mount_setattr  // Linux 5.12
#define SYS_mount_setattr 442
#endif

namespace probe {
namespace {

Answer mount_unknown() {
  return by_kernels_own(
      mount("none", param("own").c_str(), "no-such-fs", 0, nullptr), "mount", {ENODEV});
}
Answer unmount_unknown() {
  return by_kernels_own(umount2(param("own").c_str(), 0), "umount2", {EINVAL});
}
Answer pivot() {
  return by_kernels_own(syscall(SYS_pivot_root, "/no/such", "/no/such"), "pivot_root", {ENOENT});
}
Answer change_root() {
  if (chroot(param("own").c_str()) != 0) return refused("chroot");
  return reached("changed its root");
}
Answer clone_tree() {
  return by_result(syscall(SYS_open_tree, AT_FDCWD, param("own").c_str(), OPEN_TREE_CLONE),
                   "open_tree");
}
Answer move_no_mount() {
  return by_kernels_own(syscall(SYS_move_mount, -1, "", -1, "", MOVE_MOUNT_F_EMPTY_PATH),
                        "move_mount",
                        {EBADF, ENOENT});
}
Answer open_file_system() {
  return by_result(syscall(SYS_fsopen, "tmpfs", 0), "fsopen");
}
Answer pick_file_system() {
  return by_kernels_own(syscall(SYS_fspick, AT_FDCWD, "/no/such", 0), "fspick", {ENOENT});
}
Answer mount_no_file_system() {
  return by_kernels_own(syscall(SYS_fsmount, -1, 0, 0), "fsmount", {EBADF});
}
Answer set_no_attributes() {
  struct {
    std::uint64_t set, clear, propagation, userns_fd;
  } wrong = {1ULL << 60U, 0, 0, 0};
  return by_kernels_own(syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, &wrong, sizeof wrong),
                        "mount_setattr",
                        {EINVAL});
}

Answer real_mount_over() {
  return by_result(mount("none", param("own").c_str(), "tmpfs", 0, nullptr), "mount tmpfs");
}
Answer real_bind() {
  return by_result(mount("/", param("own").c_str(), nullptr, MS_BIND | MS_REC, nullptr),
                   "mount bind");
}
Answer real_remount_writable() {
  return by_result(mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND, nullptr), "remount");
}
Answer real_mount_proc() {
  return by_result(mount("proc", param("own").c_str(), "proc", 0, nullptr), "mount proc");
}
Answer real_unmount() {
  return by_result(umount2("/proc", MNT_DETACH), "umount2 /proc");
}

constexpr Attempt kAttempts[] = {
    {"mount_unknown", mount_unknown},
    {"unmount_unknown", unmount_unknown},
    {"pivot", pivot},
    {"change_root", change_root},
    {"clone_tree", clone_tree},
    {"move_no_mount", move_no_mount},
    {"open_file_system", open_file_system},
    {"pick_file_system", pick_file_system},
    {"mount_no_file_system", mount_no_file_system},
    {"set_no_attributes", set_no_attributes},
    {"real_mount_over", real_mount_over},
    {"real_bind", real_bind},
    {"real_remount_writable", real_remount_writable},
    {"real_mount_proc", real_mount_proc},
    {"real_unmount", real_unmount},
};

}  // namespace

const std::span<const Attempt> kMountAttempts = kAttempts;

}  // namespace probe
