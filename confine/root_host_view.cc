// SPDX-License-Identifier: Apache-2.0 OR MIT
// The other root of tier full, for a program that is watched (HostView): the host's own files under
// one read-only copy of all its mounts, with what is private and what is hidden laid over it.
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "confine/mounts.h"
#include "confine/root.h"

namespace aegis::confine {
namespace {

// In the private root that this one is put together in (root.cc).
constexpr const char* kPlace = "host";
constexpr const char* kEmptyFolder = "run";
constexpr const char* kEmptyFile = "etc/empty";
constexpr const char* kResolver = "etc/resolv.conf";

constexpr std::uint64_t kDead =
    MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;

/// What is the sandbox's own in either root.
constexpr std::array<const char*, 3> kOwn{"dev", "proc", "tmp"};
/// The kernel's insides, which to root would be readable.
constexpr std::array<const char*, 3> kNobodys{"sys/kernel", "sys/firmware", "sys/fs"};

/// Lays what `source` is in `root` over `path` in `host`, if that is there.
int lay_over(int root, const char* source, int host, const char* path) noexcept {
  const Fd place(open_exactly(host, path));
  if (!place.is_open()) return errno == ENOENT || errno == ENOTDIR ? 0 : errno;
  const Fd cover(open_exactly(root, source));
  if (!cover.is_open()) return errno;
  Fd tree;
  if (const int code = copy_tree(cover.get(), kDead, tree)) return code;
  return attach(tree.get(), place.get());
}

/// The sandbox's own, and its /dev for reading.
int lay_own(int root, int host) noexcept {
  for (const char* path : kOwn) {
    const Fd source(open_exactly(root, path));
    if (!source.is_open()) return errno;
    Fd tree;
    if (const int code = copy_tree(source.get(), 0, tree)) return code;
    if (const int code = attach_at(tree.get(), host, path)) return code;
  }
  const Fd devices(open_exactly(host, "dev"));
  return devices.is_open() ? add_attributes(devices.get(), MOUNT_ATTR_RDONLY) : errno;
}

}  // namespace

SetUp RootPlan::show_host(int root, int host) const noexcept {
  constexpr mode_t kFolderMode = 0755;
  int code = ::mkdirat(root, kPlace, kFolderMode) == 0 ? 0 : errno;
  if (code == 0) code = attach_at(host, root, kPlace);
  if (code == 0) code = lay_own(root, host);
  for (const char* path : kNobodys) {
    if (code == 0) code = lay_over(root, kEmptyFolder, host, path);
  }
  const std::string& resolver = spec_.host_view->resolver;
  if (code == 0 && !resolver.empty()) code = lay_over(root, kResolver, host, resolver.c_str());
  return code == 0 ? SetUp{} : failed_at(Stage::host_view, code);
}

SetUp RootPlan::hide(int root, int host, const std::vector<std::string>& hidden) noexcept {
  std::uint16_t which = 0;
  for (const std::string& path : hidden) {
    const Fd place(open_exactly(host, path.c_str()));
    struct stat status {};
    const bool is_there = place.is_open() && ::fstat(place.get(), &status) == 0;
    // What this process, which is capable, cannot come to, the program cannot either: with root's
    // uid alone nobody gets into another user's folders.
    const bool is_out_of_reach = errno == ENOENT || errno == ENOTDIR || errno == EACCES;
    if (!is_there && !is_out_of_reach) return failed_at(Stage::hide, errno, which);
    const char* const cover = S_ISDIR(status.st_mode) ? kEmptyFolder : kEmptyFile;
    if (const int code = is_there ? lay_over(root, cover, host, path.c_str()) : 0)
      return failed_at(Stage::hide, code, which);
    ++which;
  }
  return {};
}

}  // namespace aegis::confine
