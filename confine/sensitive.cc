// SPDX-License-Identifier: Apache-2.0 OR MIT
// See sensitive.h.
#include "confine/sensitive.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <utility>

#include "confine/fd.h"

namespace aegis::confine {
namespace {

enum class Match : std::uint8_t { whole, begin, end };
struct Pattern {
  std::string_view text;  // in lower case
  Match match;
};
constexpr Pattern kPatterns[] = {
    {".ssh", Match::whole},    {".aws", Match::whole},
    {".azure", Match::whole},  {".gnupg", Match::whole},
    {".kube", Match::whole},   {".docker", Match::whole},
    {".netrc", Match::whole},  {".npmrc", Match::whole},
    {".pypirc", Match::whole}, {".git-credentials", Match::whole},
    {".env", Match::whole},    {".env.", Match::begin},
    {"id_rsa", Match::begin},  {"id_ed25519", Match::begin},
    {".pem", Match::end},      {".key", Match::end},
    {".pfx", Match::end},      {".p12", Match::end},
    {".kdbx", Match::end},     {"credentials", Match::whole},
    {"shadow", Match::whole},  {"shadow-", Match::whole},  // what passwd(1) leaves beside it
    {"gshadow", Match::whole}, {"gshadow-", Match::whole},
};

constexpr char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}
bool is_same(std::string_view name, std::string_view pattern) {
  return std::equal(
      name.begin(), name.end(), pattern.begin(), pattern.end(), [](char one, char other) {
        return lower(one) == other;
      });
}
bool does_match(std::string_view name, const Pattern& pattern) {
  const std::size_t size = pattern.text.size();
  if (name.size() < size) return false;
  switch (pattern.match) {
    case Match::whole:
      return is_same(name, pattern.text);
    case Match::begin:
      return is_same(name.substr(0, size), pattern.text);
    case Match::end:
      return is_same(name.substr(name.size() - size), pattern.text);
  }
  return false;
}

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
  explicit Search(const std::vector<std::string>& roots) {
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
    const bool is_sensitive = is_sensitive_name(entry.d_name);
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

  std::deque<Place> todo_;
  SensitiveFound found_;
  std::size_t looked_at_ = 0;
};

}  // namespace

bool is_sensitive_name(std::string_view name) {
  return std::any_of(std::begin(kPatterns), std::end(kPatterns), [name](const Pattern& each) {
    return does_match(name, each);
  });
}

bool is_sensitive(std::string_view path) {
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (is_sensitive_name(path.substr(0, end))) return true;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return false;
}

Result<SensitiveFound> find_sensitive(const std::vector<std::string>& roots) {
  return Search(roots).run();
}

}  // namespace aegis::confine
