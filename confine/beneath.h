// SPDX-License-Identifier: Apache-2.0 OR MIT
// Looking at names in a folder whose content is somebody else's to change at any moment: below it,
// never through a symbolic link, never blocking. For aegis's own process, before and beside the
// child; mounts.h is for inside.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "confine/fd.h"
#include "confine/grants.h"

namespace aegis::confine {

/// Opens `name` (relative, "" is the folder itself) with `flags` (O_CLOEXEC and O_NOFOLLOW are
/// added). openat2(2) with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS: a link on the way is ELOOP; the
/// last component may be one only for O_PATH, which then opens the link itself. O_PATH and "" make
/// a duplicate of `folder`, which must be O_PATH too. Not open: errno.
Fd open_beneath(int folder, const std::string& name, int flags) noexcept;

/// What stands under `name` without following anything. Nothing when it is not there or cannot be
/// looked at: then errno says why.
std::optional<struct stat> look_beneath(int folder, const std::string& name) noexcept;

inline FileId id_of(const struct stat& status) {
  return {status.st_dev, status.st_ino};
}

/// What the link that `path_fd` is open on holds (O_PATH, readlinkat(2)). Nothing when it is none.
std::optional<std::string> read_link(int path_fd);

/// The whole of a regular file of at most `limit` bytes. Nothing when it is not there, is no
/// regular file, cannot be read (EACCES) or is longer (EFBIG): errno says which.
std::optional<std::string> read_small_file(int folder, const std::string& name, std::size_t limit);

/// As read_small_file, of a file that is open.
std::optional<std::string> read_small(int fd, std::size_t limit);

/// The names in a folder, at most `limit` of them, without "." and ".."; none when it cannot be
/// read.
std::vector<std::string> list_folder(int folder, const std::string& name, std::size_t limit);

/// "/proc/self/fd/<n>": for the calls that want a path and get an O_PATH descriptor's file.
std::string path_of_fd(int fd);

/// "a/b" and "c" make "a/b/c"; an empty one adds nothing.
std::string join(const std::string& folder, const std::string& name);

/// The components of a path, without empty ones.
std::vector<std::string> split_path(std::string_view path);

struct Place {
  std::optional<std::string> name;  // relative to the root; nothing when it is outside
  std::string path;                 // absolute
};
/// Path arithmetic without the file system: where `written`, found in `folder` (relative to
/// `root`), is. `root` is absolute; `written` may be. Nothing when ".." follows a name in it, which
/// may be a link.
std::optional<Place> place_within(const std::string& root,
                                  const std::string& folder,
                                  const std::string& written);

/// Goes along `path` (absolute) as the kernel would, through links and "..", until it comes into
/// `root` (absolute, without links). What is left of it then, which nobody has looked at; nothing
/// when it never comes there, since it stays outside or leads nowhere.
std::optional<std::string> way_into(const std::string& root, const std::string& path);

}  // namespace aegis::confine
