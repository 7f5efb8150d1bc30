// SPDX-License-Identifier: Apache-2.0 OR MIT
// See guard_book.h.
#include "confine/guard_book.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

namespace aegis::confine {
namespace {

constexpr std::string_view kDoing = "guard the configuration in";
constexpr int kMaxLinks = 40;  // path_resolution(7)
// Of all folders that are held, together: a look of some 0.2 s.
constexpr std::size_t kMaxEntries = std::size_t{1} << 16;
constexpr std::size_t kMaxNotes = 16;  // lines on other names: an npm cache has thousands of them

std::string base_of(const std::string& name) {
  return name.substr(name.rfind('/') + 1);
}

std::string rest_of(const std::vector<std::string>& parts, std::size_t from) {
  std::string rest;
  for (std::size_t i = from; i < parts.size(); ++i)
    rest = join(rest, parts[i]);
  return rest;
}

int make_file(const Fd& parent, const std::string& name, std::string_view content) {
  constexpr mode_t kFileMode = 0666;
  const Fd file(::openat(
      parent.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode));
  if (!file.is_open()) return errno;
  const ssize_t written = ::write(file.get(), content.data(), content.size());
  if (written == static_cast<ssize_t>(content.size())) return 0;
  const int code = written < 0 ? errno : ENOSPC;
  ::unlinkat(parent.get(), name.c_str(), 0);
  return code;
}

void sort_once(std::vector<GuardPlan::Held>& held) {
  const auto is_before = [](const auto& a, const auto& b) { return a.name < b.name; };
  const auto is_same = [](const auto& a, const auto& b) { return a.name == b.name; };
  std::sort(held.begin(), held.end(), is_before);
  held.erase(std::unique(held.begin(), held.end(), is_same), held.end());
}

void sort_once(std::vector<std::string>& words) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
}

}  // namespace

std::string folder_of(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string::npos ? std::string() : name.substr(0, slash);
}

GuardBook::GuardBook(std::string folder) {
  plan_.folder = std::move(folder);
  plan_.root = Fd(::open(plan_.folder.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!plan_.root.is_open()) error_ = errno_error(kDoing, plan_.folder);
}

void GuardBook::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

void GuardBook::fail_at(const std::string& name, int code) {
  fail(code_error(kDoing, absolute(name), code));
}

void GuardBook::refuse(const std::string& name, std::string_view why) {
  fail(refusal(kDoing, absolute(name), why));
}

std::optional<std::string> GuardBook::name_of(const std::string& from, const std::string& written) {
  std::optional<Place> place;
  std::string way = written;
  if (!written.starts_with('/')) {
    place = place_within(folder(), from, written);
    if (place && place->name) return place->name;
    if (place) way = place->path;
  }
  if (place || written.starts_with('/')) {
    const std::optional<std::string> rest = way_into(folder(), way);
    if (!rest) return std::nullopt;
    place = place_within(folder(), "", *rest);
  }
  if (place) return place->name;
  refuse(from, "`..` behind a name cannot be judged: " + written);
  return std::nullopt;
}

std::string GuardBook::absolute(const std::string& name) const {
  return name.starts_with('/') ? name : join(folder(), name);
}

GuardBook::Found GuardBook::guard(const Wanted& wanted) {
  Found found = follow(wanted.name);
  if (found.is_inside && !found.status && make(found.name, wanted)) found = follow(wanted.name);
  if (found.is_inside && found.status) hold(found.name);
  if (found.is_inside && !found.status) watch(found.name);
  if (found.is_inside && found.is_folder()) folders_.push_back(found.name);
  return found;
}

/// A read-only folder does not keep what its links lead to: whoever reads `.git/hooks/pre-commit`
/// would run the script behind it.
void GuardBook::look_into_folders() {
  std::set<std::string> seen;
  std::size_t left = kMaxEntries;
  for (std::size_t i = 0; i < folders_.size() && !error_; ++i) {
    const std::string folder = folders_[i];
    if (!seen.insert(folder).second) continue;
    if (!open_beneath(root(), folder, O_RDONLY | O_DIRECTORY).is_open())
      return fail_at(folder, errno);
    const std::vector<std::string> names = list_folder(root(), folder, left + 1);
    if (names.size() > left)
      return refuse(folder, "there is too much in the guarded folders to look for links");
    left -= names.size();
    for (const std::string& each : names)
      look_at_entry(join(folder, each));
  }
}

void GuardBook::look_at_entry(const std::string& name) {
  const std::optional<struct stat> status = look_beneath(root(), name);
  if (!status && errno == ENOENT) return;  // removed meanwhile
  if (!status) return fail_at(name, errno);
  if (S_ISDIR(status->st_mode)) folders_.push_back(name);
  if (S_ISLNK(status->st_mode)) guard({name});
  note_other_name(name, *status);
}

/// True when it is there now. Where the user may not write, the program may not either.
bool GuardBook::make(const std::string& name, const Wanted& wanted) {
  if (wanted.when_missing == WhenMissing::watch) return false;
  const Fd parent = open_beneath(root(), folder_of(name), O_PATH | O_DIRECTORY);
  if (!parent.is_open()) return false;
  int code = 0;
  if (wanted.when_missing == WhenMissing::create_folder) {
    constexpr mode_t kFolderMode = 0777;  // as git does: the umask decides
    code = ::mkdirat(parent.get(), base_of(name).c_str(), kFolderMode) == 0 ? 0 : errno;
  } else {
    code = make_file(parent, base_of(name), wanted.content);
  }
  if (code == EACCES || code == EPERM || code == EROFS) return false;
  if (code != 0 && code != EEXIST)
    fail(code_error("make, so that the program cannot", join(folder(), name), code));
  return true;
}

/// Where a walk without links came to.
struct GuardBook::Stop {
  Found found;
  Fd link = {};           // open: the walk came to a link, whose name is found.name
  std::string rest = {};  // of the way, behind the link
};

GuardBook::Found GuardBook::follow(const std::string& name) {
  std::string way = name;
  for (int links = 0; links <= kMaxLinks; ++links) {
    Stop stop = walk(way);
    if (!stop.link.is_open()) return std::move(stop.found);
    hold(stop.found.name);
    const std::optional<std::string> target = read_link(stop.link.get());
    if (!target) break;
    std::optional<std::string> next = name_of(folder_of(stop.found.name), *target);
    if (!next) return {};
    way = join(*next, stop.rest);
    if (way.empty()) {
      refuse(stop.found.name, "it leads to the folder itself");
      return {};
    }
  }
  fail_at(name, ELOOP);
  return {};
}

GuardBook::Stop GuardBook::walk(const std::string& name) {
  const std::vector<std::string> parts = split_path(name);
  std::string at;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    at = join(at, parts[i]);
    const std::string rest = rest_of(parts, i + 1);
    Fd fd = open_beneath(root(), at, O_PATH);
    if (!fd.is_open() && errno == ENOENT) return {{true, join(at, rest)}};
    struct stat status {};
    if (!fd.is_open() || ::fstat(fd.get(), &status) != 0) {
      fail_at(at, errno);
      return {};
    }
    if (S_ISLNK(status.st_mode)) return {{true, at}, std::move(fd), rest};
    if (rest.empty()) return {{true, at, status}};
    if (!S_ISDIR(status.st_mode)) return {{true, join(at, rest)}};
  }
  refuse(name, "a link or a configuration leads to the folder itself");
  return {};
}

void GuardBook::hold(const std::string& name) {
  const std::optional<struct stat> status = look_beneath(root(), name);
  if (!status) return fail_at(name, errno);
  note_other_name(name, *status);
  plan_.read_only.push_back({name, id_of(*status)});
  self_bind(folder_of(name));
}

void GuardBook::note_other_name(const std::string& name, const struct stat& status) {
  if (!S_ISREG(status.st_mode) || status.st_nlink < 2 || plan_.notes.size() > kMaxNotes) return;
  plan_.notes.push_back(plan_.notes.size() == kMaxNotes
                            ? "and more guarded files have another name (a hard link)"
                            : join(folder(), name) +
                                  " has another name (a hard link): whoever may "
                                  "write that one writes it");
}

void GuardBook::self_bind(const std::string& name) {
  for (std::string each = name; !each.empty(); each = folder_of(each)) {
    const std::optional<struct stat> status = look_beneath(root(), each);
    if (!status) return fail_at(each, errno);
    plan_.self_bound.push_back({each, id_of(*status)});
  }
}

Result<GuardPlan> GuardBook::finish() && {
  look_into_folders();
  if (error_) return std::move(*error_);
  sort_once(plan_.self_bound);
  sort_once(plan_.read_only);
  sort_once(plan_.absent);
  sort_once(plan_.notes);
  std::vector<std::string> all;
  for (const GuardPlan::Held& each : plan_.read_only)
    all.push_back(each.name);
  const auto is_read_only = [&all](const std::string& name) {
    return std::binary_search(all.begin(), all.end(), name);
  };
  const auto is_covered = [&is_read_only](const std::string& name) {
    for (std::string each = folder_of(name); !each.empty(); each = folder_of(each))
      if (is_read_only(each)) return true;
    return false;
  };
  std::erase_if(plan_.absent, [&](const auto& name) {
    return is_covered(name) || is_read_only(name);  // looked for first, made later
  });
  std::erase_if(plan_.read_only, [&](const auto& each) { return is_covered(each.name); });
  std::erase_if(plan_.self_bound,
                [&](const auto& each) { return is_covered(each.name) || is_read_only(each.name); });
  return std::move(plan_);
}

}  // namespace aegis::confine
