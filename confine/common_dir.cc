// SPDX-License-Identifier: Apache-2.0 OR MIT
// See common_dir.h.
#include "confine/common_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "confine/beneath.h"

namespace aegis::confine {

std::optional<CommonDir> CommonDir::share(int root, const std::string& git_folder) {
  Fd folder = open_beneath(root, git_folder, O_PATH | O_DIRECTORY);
  Fd file = open_beneath(root, join(git_folder, std::string(kName)), O_RDONLY | O_NONBLOCK);
  if (!folder.is_open() || !file.is_open()) return std::nullopt;
  if (::flock(file.get(), LOCK_SH | LOCK_NB) != 0) return std::nullopt;
  return CommonDir(std::move(folder), std::move(file));
}

CommonDir::~CommonDir() {
  if (!file_.is_open()) return;
  // The program may hold a share, too; then the file stays, which changes nothing for git.
  if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) return;
  struct stat ours {};
  struct stat there {};
  const std::string name(kName);
  if (::fstat(file_.get(), &ours) != 0 ||
      ::fstatat(folder_.get(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0)
    return;
  if (id_of(ours) == id_of(there)) static_cast<void>(::unlinkat(folder_.get(), name.c_str(), 0));
}

}  // namespace aegis::confine
