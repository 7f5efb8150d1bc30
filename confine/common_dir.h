// SPDX-License-Identifier: Apache-2.0 OR MIT
// The file `commondir` that guard.cc puts into a git folder: to git it says what goes without
// saying, and while it is there the program cannot put another one there. Several sessions share
// one; the last takes it away.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "confine/fd.h"

namespace aegis::confine {

/// A share in one. Its end removes the file when nobody else has a share: it must outlive the
/// program. A session that is killed leaves the file, and the next one takes it for its own.
class CommonDir {
 public:
  static constexpr std::string_view kName = "commondir";
  /// gitrepository-layout(5): a path, here from the git folder to itself.
  static constexpr std::string_view kContent = ".\n";

  /// A share in the one in `git_folder` (relative to `root`), which holds kContent. Nothing when it
  /// cannot be had: somebody is about to remove it, or the program holds the lock.
  static std::optional<CommonDir> share(int root, const std::string& git_folder);
  CommonDir(CommonDir&&) noexcept = default;
  CommonDir& operator=(CommonDir&&) = delete;
  CommonDir(const CommonDir&) = delete;
  CommonDir& operator=(const CommonDir&) = delete;
  ~CommonDir();

 private:
  CommonDir(Fd folder, Fd file) : folder_(std::move(folder)), file_(std::move(file)) {}
  Fd folder_;  // O_PATH
  Fd file_;    // with a shared flock(2)
};

}  // namespace aegis::confine
