// SPDX-License-Identifier: Apache-2.0 OR MIT
// See space.h.
#include "confine/space.h"

#include <sys/statvfs.h>

namespace aegis::confine {

bool is_below_floor(int fd) noexcept {
  struct statvfs status {};
  if (::fstatvfs(fd, &status) != 0) return false;
  return is_below_floor(Space{.size = std::uint64_t{status.f_blocks} * status.f_frsize,
                              .available = std::uint64_t{status.f_bavail} * status.f_frsize,
                              .inodes = status.f_files,
                              .available_inodes = status.f_favail});
}

}  // namespace aegis::confine
