// SPDX-License-Identifier: Apache-2.0 OR MIT
// The names in a folder with what they are, in an order that does not depend on the file system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "confine/fd.h"

namespace aegis::confine {

struct FolderNames {
  enum class Type : std::uint8_t { file, folder, link, other, unknown };
  struct Each {
    std::string name;  // any bytes but '/' and NUL
    Type type = Type::unknown;
  };
  std::vector<Each> names;  // sorted by bytes, without "." and ".."
  bool is_cut = false;      // there are more, or it cannot be told; which of them these are is the
                            // file system's choice
};

/// At most `limit` of them. `folder` is a folder opened for reading.
FolderNames read_names(Fd folder, std::size_t limit);

/// What stands under `name` in `folder`, when read_names() did not know (a file system that keeps
/// no types, readdir(3)).
FolderNames::Type type_of(int folder, const std::string& name) noexcept;

}  // namespace aegis::confine
