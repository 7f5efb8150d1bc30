// SPDX-License-Identifier: Apache-2.0 OR MIT
// See quarantine.h.
#include "confine/quarantine.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <optional>

#include "confine/beneath.h"

namespace aegis::confine {
namespace {

constexpr mode_t kPrivate = 0700;

/// Gives the owner all rights to the folder that `path_fd` is open on. Whoever may write there may
/// have taken them, to keep things where they are.
bool open_up(int path_fd) {
  struct stat status {};
  if (::fstat(path_fd, &status) != 0 || !S_ISDIR(status.st_mode)) return false;
  if ((status.st_mode & kPrivate) == kPrivate) return false;  // that was not it
  // chmod(2) by way of /proc: fchmod(2) refuses a descriptor of O_PATH.
  return ::chmod(path_of_fd(path_fd).c_str(), (status.st_mode & 07777U) | kPrivate) == 0;
}

/// rename(2) wants write and search on both folders, and write on a folder that gets another
/// parent.
bool open_up(const Quarantine::Source& source) {
  const bool is_parent_changed = open_up(source.parent);
  const Fd itself(
      ::openat(source.parent, source.name.c_str(), O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC));
  return (itself.is_open() && open_up(itself.get())) || is_parent_changed;
}

/// For this file system or this folder another place may do.
bool is_place_at_fault(int code) {
  return code != 0 && code != ENOENT;
}

}  // namespace

Quarantine::Outcome Quarantine::move(const Source& source) {
  Outcome outcome;
  outcome.code = move_outside(source, outcome.moved_to);
  // Twice: the program may take the first one away, for it can reach it.
  constexpr int kAttempts = 2;
  for (int i = 0; i < kAttempts && is_place_at_fault(outcome.code); ++i) {
    if (!inside_.fd.is_open()) outcome.code = make_inside(source, inside_);
    if (!inside_.fd.is_open()) continue;
    outcome.code = move_to(source, inside_, outcome.moved_to);
    if (outcome.code != 0) inside_ = {};
  }
  return outcome;
}

int Quarantine::move_outside(const Source& source, std::string& moved_to) {
  if (is_outside_elsewhere_) return EXDEV;
  int code = outside_.fd.is_open() ? 0 : make_outside(folder_, outside_);
  if (code == 0) code = move_to(source, outside_, moved_to);
  if (code == EXDEV) {
    is_outside_elsewhere_ = true;
    outside_ = {};
    static_cast<void>(::rmdir(folder_.c_str()));  // empty, and of no use
  }
  return code;
}

int Quarantine::make_outside(const std::string& path, Place& place) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    if (::mkdir(path.substr(0, slash).c_str(), kPrivate) != 0 && errno != EEXIST) return errno;
    if (slash == std::string::npos) break;
  }
  place = {path, Fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC))};
  return place.fd.is_open() ? 0 : errno;
}

int Quarantine::make_inside(const Source& source, Place& place) {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) return EAGAIN;
  std::array<char, 48> name{};
  static_cast<void>(std::snprintf(name.data(),
                                  name.size(),
                                  ".aegis-quarantine-%016llx",
                                  static_cast<unsigned long long>(number)));
  if (::mkdirat(source.root, name.data(), kPrivate) != 0) {
    const int code = errno;
    if (code != EACCES || !open_up(source.root)) return code;
    if (::mkdirat(source.root, name.data(), kPrivate) != 0) return errno;
  }
  place = {join(source.root_path, name.data()),
           open_beneath(source.root, name.data(), O_PATH | O_DIRECTORY)};
  return place.fd.is_open() ? 0 : errno;
}

int Quarantine::move_to(const Source& source, const Place& place, std::string& moved_to) {
  // A number and no leading dot: nothing takes it for what it was.
  const std::string name = std::to_string(count_ + 1) + "-" + source.name;
  const auto rename = [&] {
    return ::renameat2(source.parent,
                       source.name.c_str(),
                       place.fd.get(),
                       name.c_str(),
                       RENAME_NOREPLACE) == 0
               ? 0
               : errno;
  };
  int code = rename();
  if (code == EACCES && open_up(source)) code = rename();
  if (code == 0) {
    ++count_;
    moved_to = join(place.path, name);
    return 0;
  }
  if (code != ENOENT) return code;
  // Which of the two is gone? A removed folder takes nothing in.
  struct stat status {};
  const bool is_there =
      ::fstatat(source.parent, source.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  return is_there ? ESTALE : ENOENT;
}

}  // namespace aegis::confine
