// SPDX-License-Identifier: Apache-2.0 OR MIT
// See sensitive.h.
#include "confine/sensitive.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "confine/fd.h"

namespace aegis::confine {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

Folder open_folder(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.is_open()) return nullptr;
  Folder folder(::fdopendir(fd.get()));
  if (folder) static_cast<void>(fd.release());
  return folder;
}

/// One breadth-first walk.
class Search {
 public:
  Search(const std::vector<std::string>& roots, IsSensitiveName is_sensitive)
      : is_sensitive_(is_sensitive) {
    for (const std::string& root : roots)
      todo_.push_back({root, 0});
  }

  Result<SensitiveFound> run() {
    while (!todo_.empty() && found_.is_whole) {
      const Place place = std::move(todo_.front());
      todo_.pop_front();
      AEGIS_TRY(look_into(place));
    }
    std::sort(found_.paths.begin(), found_.paths.end());
    found_.paths.erase(std::unique(found_.paths.begin(), found_.paths.end()), found_.paths.end());
    return std::move(found_);
  }

 private:
  struct Place {
    std::string path;
    int depth;
  };

  Result<void> look_into(const Place& place) {
    const Folder folder = open_folder(place.path);
    if (!folder) return {};
    const std::string prefix = place.path == "/" ? "/" : place.path + "/";
    while (const dirent* entry = ::readdir(folder.get())) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (++looked_at_ > kMaxSearched) {
        found_.is_whole = false;
        return {};
      }
      AEGIS_TRY(take(folder.get(), prefix, *entry, place.depth));
    }
    return {};
  }

  Result<void> take(DIR* folder, const std::string& prefix, const dirent& entry, int depth) {
    struct stat status {};
    const bool is_sensitive = is_sensitive_(entry.d_name);
    const bool is_known = entry.d_type != DT_UNKNOWN;
    bool is_folder = entry.d_type == DT_DIR;
    bool is_file = entry.d_type == DT_REG;
    if (!is_known && ::fstatat(::dirfd(folder), entry.d_name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
      is_folder = S_ISDIR(status.st_mode);
      is_file = S_ISREG(status.st_mode);
    }
    if (is_sensitive && (is_folder || is_file)) {
      found_.paths.push_back(prefix + entry.d_name);
      if (found_.paths.size() <= kMaxSensitive) return {};
      return refusal("look for secrets",
                     prefix + entry.d_name,
                     "more than " + std::to_string(kMaxSensitive) +
                         " files with names of secrets are too many to hide");
    }
    if (is_folder && depth < kSearchDepth) todo_.push_back({prefix + entry.d_name, depth + 1});
    return {};
  }

  IsSensitiveName is_sensitive_;
  std::deque<Place> todo_;
  SensitiveFound found_;
  std::size_t looked_at_ = 0;
};

}  // namespace

bool is_any_sensitive(std::string_view path, IsSensitiveName is_sensitive) {
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (is_sensitive(path.substr(0, end))) return true;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return false;
}

Result<SensitiveFound> find_sensitive(const std::vector<std::string>& roots,
                                      IsSensitiveName is_sensitive) {
  return Search(roots, is_sensitive).run();
}

}  // namespace aegis::confine
