// SPDX-License-Identifier: Apache-2.0 OR MIT
// See mounts.h.
#include "confine/mounts.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace aegis::confine {

int open_exactly(int folder, const char* path) noexcept {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  if (folder != AT_FDCWD) how.resolve |= RESOLVE_IN_ROOT;
  return static_cast<int>(::syscall(SYS_openat2, folder, path, &how, sizeof how));
}

int make_mount(const char* type,
               std::span<const Option> options,
               std::uint64_t attributes,
               Fd& made) noexcept {
  const Fd context(::fsopen(type, FSOPEN_CLOEXEC));
  if (!context.is_open()) return errno;
  for (const Option& option : options) {
    if (::fsconfig(context.get(), FSCONFIG_SET_STRING, option.key, option.value, 0) != 0)
      return errno;
  }
  if (::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) return errno;
  made = Fd(::fsmount(context.get(), FSMOUNT_CLOEXEC, static_cast<unsigned>(attributes)));
  return made.is_open() ? 0 : errno;
}

int copy_tree(int source, std::uint64_t attributes, Fd& made) noexcept {
  // All of it: the kernel refuses to part a mount from what a less trusted namespace has locked
  // onto it.
  made = Fd(
      ::open_tree(source, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE));
  if (!made.is_open()) return errno;
  struct mount_attr wanted {};
  wanted.attr_set = attributes;
  wanted.propagation = MS_PRIVATE;
  return ::mount_setattr(made.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, &wanted, sizeof wanted) == 0
             ? 0
             : errno;
}

int attach(int mount, int target) noexcept {
  return ::move_mount(mount, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0
             ? 0
             : errno;
}

int attach_at(int mount, int root, const char* path) noexcept {
  const Fd target(open_exactly(root, path));
  if (!target.is_open()) return errno;
  return attach(mount, target.get());
}

int add_attributes(int fd, std::uint64_t attributes) noexcept {
  struct mount_attr wanted {};
  wanted.attr_set = attributes;
  return ::mount_setattr(fd, "", AT_EMPTY_PATH, &wanted, sizeof wanted) == 0 ? 0 : errno;
}

}  // namespace aegis::confine
