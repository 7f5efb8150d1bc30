// SPDX-License-Identifier: Apache-2.0 OR MIT
// A folder of a confined program's own in place of /tmp, where no private one can be mounted. Not
// for the quarantine or anything else that is to outlive the program.
#pragma once

#include <sys/types.h>

#include <string>

#include "confine/result.h"

namespace aegis::wrap {

/// Owns the folder: it and all that is in it are gone when this is, at whatever step a start
/// failed. Only in the process that made it: a fork's copy removes nothing.
class ScratchFolder {
 public:
  /// Under /tmp, for this user alone (mkdtemp(3)).
  static confine::Result<ScratchFolder> make();

  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  ScratchFolder(std::string path, pid_t owner) : path_(std::move(path)), owner_(owner) {}
  std::string path_;  // empty once it was moved from
  pid_t owner_;
};

}  // namespace aegis::wrap
