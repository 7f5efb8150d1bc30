// SPDX-License-Identifier: Apache-2.0 OR MIT
// See folder_names.h.
#include "confine/folder_names.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>

#include "confine/beneath.h"

namespace aegis::confine {
namespace {

using Type = FolderNames::Type;

Type type_of_entry(unsigned char type) noexcept {
  switch (type) {
    case DT_REG:
      return Type::file;
    case DT_DIR:
      return Type::folder;
    case DT_LNK:
      return Type::link;
    case DT_UNKNOWN:
      return Type::unknown;
    default:
      return Type::other;
  }
}

struct CloseFolder {
  void operator()(DIR* stream) const noexcept { ::closedir(stream); }
};

}  // namespace

FolderNames read_names(Fd folder, std::size_t limit) {
  FolderNames found;
  const std::unique_ptr<DIR, CloseFolder> stream(::fdopendir(folder.get()));
  if (!stream) {
    found.is_cut = true;
    return found;
  }
  static_cast<void>(folder.release());  // the stream's now
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(stream.get());
    if (entry == nullptr) {
      found.is_cut = errno != 0 && errno != ENOENT;  // ENOENT: the folder was removed
      break;
    }
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (found.names.size() == limit) {
      found.is_cut = true;
      break;
    }
    found.names.push_back({std::string(name), type_of_entry(entry->d_type)});
  }
  std::sort(found.names.begin(), found.names.end(), [](const auto& one, const auto& other) {
    return one.name < other.name;
  });
  return found;
}

Type type_of(int folder, const std::string& name) noexcept {
  const std::optional<struct stat> status = look_beneath(folder, name);
  if (!status) return Type::other;
  if (S_ISREG(status->st_mode)) return Type::file;
  if (S_ISDIR(status->st_mode)) return Type::folder;
  return S_ISLNK(status->st_mode) ? Type::link : Type::other;
}

}  // namespace aegis::confine
