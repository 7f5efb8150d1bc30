// SPDX-License-Identifier: Apache-2.0 OR MIT
// From what the user named to one locked, regular file that is a record or empty.
#include "wrap/record_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <utility>

#include "wrap/places.h"
#include "wrap/record_lock.h"

namespace aegis::wrap {
namespace {

using confine::errno_error;
using confine::Fd;
using confine::refusal;
using confine::Result;

constexpr std::string_view kDoing = "open the record";
constexpr int kOpenFlags = O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
constexpr mode_t kMode = 0600;  // even digests of short answers can be guessed
constexpr int kMaxAttempts = 1000;
constexpr std::size_t kMaxProgramName = 64;

/// Of a file that is not regular; nullptr for one that is.
const char* why_not_regular(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return nullptr;
    case S_IFIFO:
      return "it is a FIFO";
    case S_IFLNK:
      return "it is a symbolic link";
    case S_IFSOCK:
      return "it is a socket";
    case S_IFDIR:
      return "it is a folder";
    default:
      return "it is a device";
  }
}

struct Target {
  const Fd& folder;
  std::string name;  // in `folder`
  std::string path;  // for messages
};

Result<void> check_regular(const struct stat& status, const std::string& path) {
  const char* why = why_not_regular(status.st_mode);
  if (why == nullptr) return {};
  return refusal(
      kDoing,
      path,
      std::string(why) + ", and a record is a regular file; name another file, or a folder");
}

/// Is looked at before it is opened, because opening some devices does something; opened so that
/// neither a FIFO nor a link can get in between; and looked at again.
Result<Fd> open_existing(const Target& target) {
  struct stat status {};
  if (::fstatat(target.folder.get(), target.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno_error(kDoing, target.path);
  }
  AEGIS_TRY(check_regular(status, target.path));
  Fd file(::openat(target.folder.get(), target.name.c_str(), kOpenFlags | O_NONBLOCK | O_NOCTTY));
  if (!file.is_open()) return errno_error(kDoing, target.path);
  if (::fstat(file.get(), &status) != 0) return errno_error(kDoing, target.path);
  AEGIS_TRY(check_regular(status, target.path));
  if (::fcntl(file.get(), F_SETFL, O_APPEND) != 0) return errno_error(kDoing, target.path);
  return file;
}

/// Nothing when there is a file of that name.
Result<std::optional<Fd>> create(const Target& target) {
  Fd file(::openat(target.folder.get(), target.name.c_str(), kOpenFlags | O_CREAT | O_EXCL, kMode));
  if (file.is_open()) return std::optional<Fd>(std::move(file));
  if (errno == EEXIST) return std::optional<Fd>();
  return errno_error("make the record", target.path);
}

Result<Fd> open_or_create(const Target& target) {
  if (std::optional<Fd> made = AEGIS_TRY(create(target))) return std::move(*made);
  return open_existing(target);
}

/// Who held the lock may have renamed or removed the file meanwhile: Lines that went there would
/// be lost to who looks for them under the name.
Result<void> check_still_there(const Target& target, const Fd& file) {
  struct stat held {};
  struct stat named {};
  if (::fstat(file.get(), &held) != 0) return errno_error(kDoing, target.path);
  const bool is_same =
      ::fstatat(target.folder.get(), target.name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
      held.st_dev == named.st_dev && held.st_ino == named.st_ino;
  if (!is_same) return refusal(kDoing, target.path, "it was moved meanwhile; start again");
  return {};
}

Result<Fd> open_record_folder(const std::string& folder, const std::string& path) {
  Result<Fd> opened = open_folder(folder);
  if (opened || opened.error().code != ENOENT) return opened;
  return refusal(kDoing,
                 path,
                 "No such file or directory: a folder that is named is not made; do it with: "
                 "mkdir -m 700 " +
                     folder);
}

Result<OpenedRecord> open_named_file(const RecordPlace& place, const std::string& path) {
  Fd folder = AEGIS_TRY(open_record_folder(folder_of(path), path));
  const Target target{folder, base_name_of(path), path};
  Fd file = AEGIS_TRY(open_or_create(target));
  AEGIS_TRY(lock_record(file, path, place.lock_wait_ms));
  AEGIS_TRY(check_still_there(target, file));
  RecordTail tail = AEGIS_TRY(read_record_tail(file, path));
  return OpenedRecord{path, std::move(file), std::move(folder), std::move(tail)};
}

Result<OpenedRecord> open_session_file(const RecordPlace& place, std::string folder_path) {
  Fd folder = AEGIS_TRY(open_record_folder(folder_path, folder_path));
  if (folder_path.back() != '/') folder_path += '/';
  for (int attempt = 1; attempt <= kMaxAttempts; ++attempt) {
    const std::string name = session_file_name(place, attempt);
    const Target target{folder, name, folder_path + name};
    std::optional<Fd> made = AEGIS_TRY(create(target));
    if (!made) continue;  // another pid namespace has this pid too
    AEGIS_TRY(lock_record(*made, target.path, place.lock_wait_ms));
    return OpenedRecord{target.path, std::move(*made), std::move(folder), RecordTail{}};
  }
  return refusal("make the record", folder_path, "every name for this session is taken");
}

bool names_folder(const std::string& path) {
  struct stat status {};
  return path.back() == '/' || (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode));
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

}  // namespace

std::string session_file_name(const RecordPlace& place, int attempt) {
  std::string name = place.program.substr(0, kMaxProgramName);
  for (char& c : name) {
    if (!is_plain(c)) c = '_';
  }
  if (name.empty()) name = "server";
  if (name.front() == '.' || name.front() == '-') name.front() = '_';  // neither hidden nor a flag

  const std::time_t seconds = place.unix_seconds;
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  char stamp[32];
  const std::size_t size = std::strftime(stamp, sizeof stamp, "-%Y%m%dT%H%M%SZ-", &utc);
  name.append(stamp, size) += std::to_string(::getpid());
  if (attempt > 1) name += '-' + std::to_string(attempt);
  return name + ".aarl";
}

Result<OpenedRecord> open_record(const RecordPlace& place) {
  if (!place.path) {
    const std::string folder = AEGIS_TRY(default_record_folder());
    AEGIS_TRY(make_private_folder(folder));
    return open_session_file(place, folder);
  }
  if (place.path->empty()) return refusal(kDoing, "\"\"", "the path is empty");
  if (names_folder(*place.path)) return open_session_file(place, *place.path);
  return open_named_file(place, *place.path);
}

}  // namespace aegis::wrap
