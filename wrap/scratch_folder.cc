// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "wrap/scratch_folder.h"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

namespace aegis::wrap {

confine::Result<ScratchFolder> ScratchFolder::make() {
  std::string name = "/tmp/aegis-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) return confine::errno_error("make a folder", "/tmp");
  return ScratchFolder(std::move(name), ::getpid());
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), owner_(other.owner_) {}

ScratchFolder::~ScratchFolder() {
  if (path_.empty() || owner_ != ::getpid()) return;
  std::error_code ignored;  // what cannot be removed is somebody else's by now
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace aegis::wrap
