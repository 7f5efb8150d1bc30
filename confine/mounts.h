// SPDX-License-Identifier: Apache-2.0 OR MIT
// The mount calls of Linux 5.2 to 5.12 that the private root is built with, each one step that
// answers 0 or an errno. Async-signal-safe.
#pragma once

#include <cstdint>
#include <span>

#include "confine/fd.h"

namespace aegis::confine {

/// Opens `path` without following any symbolic link, for a name only (O_PATH). `folder` is a
/// directory that an absolute path is taken relative to, or AT_FDCWD. -1 with errno.
[[nodiscard]] int open_exactly(int folder, const char* path) noexcept;

struct Option {
  const char* key;
  const char* value;
};
/// A new instance of a file system, not attached anywhere (fsopen(2), fsmount(2); Linux 5.2).
[[nodiscard]] int make_mount(const char* type,
                             std::span<const Option> options,
                             std::uint64_t attributes,
                             Fd& made) noexcept;
/// A copy of what `source` is open on and of all that is mounted in it, not attached anywhere, with
/// `attributes` (MOUNT_ATTR_*) added everywhere and no propagation (open_tree(2); mount_setattr(2),
/// Linux 5.12).
[[nodiscard]] int copy_tree(int source, std::uint64_t attributes, Fd& made) noexcept;
/// Attaches `mount` onto `target`, open with O_PATH (move_mount(2)).
[[nodiscard]] int attach(int mount, int target) noexcept;
/// The same by the name of the target, below `root`, no links followed.
[[nodiscard]] int attach_at(int mount, int root, const char* path) noexcept;
/// Adds attributes to the one mount that `fd` is in.
[[nodiscard]] int add_attributes(int fd, std::uint64_t attributes) noexcept;

}  // namespace aegis::confine
