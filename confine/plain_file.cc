// SPDX-License-Identifier: Apache-2.0 OR MIT
// See plain_file.h.
#include "confine/plain_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <limits>
#include <optional>
#include <utility>

#include "confine/beneath.h"

namespace aegis::confine {
namespace {

std::optional<PathFault> fault_in(int fd, const struct stat& status) noexcept {
  if (S_ISLNK(status.st_mode)) return PathFault::linked;
  if (!S_ISREG(status.st_mode) || is_on_procfs(fd)) return PathFault::not_regular;
  if (status.st_nlink > 1) return PathFault::many_links;
  return std::nullopt;
}

bool is_same_time(const struct timespec& one, const struct timespec& other) noexcept {
  return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

/// The last that was done to it was a write, which sets both times; a name that is made or removed
/// sets the change time alone (inode(7)).
bool is_just_written(const struct stat& status) noexcept {
  return is_same_time(status.st_ctim, status.st_mtim);
}

/// What a second look at a name shows.
enum class Again : std::uint8_t {
  changed,  // another file, none, or one whose names are not, or may not be, what they were
  busy,     // the same, but it was written meanwhile
  same,     // the same, and nothing was done to it
};

/// To count names alone is not enough: of a file with one name outside and this one, this one may
/// have been removed just before they were counted.
Again look_again(int folder, const std::string& name, const struct stat& before) noexcept {
  const std::optional<struct stat> after = look_beneath(folder, name);
  if (!after || id_of(*after) != id_of(before)) return Again::changed;
  if (before.st_nlink != 1 || after->st_nlink != 1) return Again::changed;
  if (is_same_time(before.st_ctim, after->st_ctim)) return Again::same;
  return is_just_written(before) && is_just_written(*after) ? Again::busy : Again::changed;
}

/// Waits until no name of the folder that holds `name` is being removed. unlink(2) lowers the count
/// of a file's names before its name is gone for who looks it up (vfs_unlink in fs/namei.c), and
/// holds the folder's lock meanwhile, which reading the folder waits for. False when the folder
/// cannot be read: then nothing is known.
bool await_removals(int folder, const std::string& name) noexcept {
  const std::size_t slash = name.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : name.substr(0, slash);
  const Fd list(open_beneath(folder, parent, O_RDONLY | O_DIRECTORY));
  if (!list.is_open()) return false;
  // From the end, where that can be told: ext4 would sort a large folder's names for one entry. Too
  // small for any (EINVAL, getdents(2)), which is found out with the lock held.
  ::lseek(list.get(), 0, SEEK_END);
  char entry[1];
  return ::syscall(SYS_getdents64, list.get(), entry, sizeof entry) >= 0 || errno == EINVAL;
}

/// Lets some time pass before the `attempt`-th look. Who waits for a folder's lock gets it right
/// after whoever replaces the file, each time: the two go in step until one of them misses one.
void fall_out_of_step(int attempt) noexcept {
  constexpr int kInStep = 4;  // attempts that need no pause yet
  constexpr long kStep = 20'000;
  if (attempt < kInStep) return;
  const struct timespec pause { 0, (attempt - kInStep) * kStep };
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
}

/// Reads until the end or until `bytes` is full; the count, or nothing with errno.
std::optional<std::size_t> fill(int fd, std::string& bytes, std::size_t from) noexcept {
  std::size_t size = from;
  while (size < bytes.size()) {
    const ssize_t count = ::read(fd, bytes.data() + size, bytes.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  return size;
}

/// Up to `limit` bytes. What fstat(2) says of the size is only where to begin: the file may grow,
/// and on some file systems it is 0.
std::optional<std::string> read_up_to(int fd, std::size_t expected, std::size_t limit) {
  constexpr std::size_t kLeast = 4096;
  std::string bytes;
  std::size_t size = 0;
  std::size_t room = std::max(kLeast, expected);
  for (;;) {
    bytes.resize(std::min(room, limit));
    const std::optional<std::size_t> filled = fill(fd, bytes, size);
    if (!filled) return std::nullopt;
    size = *filled;
    if (size < bytes.size() || size == limit) break;
    room = bytes.size() * 2;
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace

PathFault fault_of(int code) noexcept {
  switch (code) {
    case ENOENT:
    case ENOTDIR:  // something on the way is no folder
    case ENAMETOOLONG:
      return PathFault::not_found;
    case ELOOP:  // RESOLVE_NO_SYMLINKS
    case EXDEV:  // RESOLVE_BENEATH
      return PathFault::linked;
    default:
      return PathFault::not_readable;
  }
}

std::variant<std::string, PathFault> normalize(const std::string& path) {
  if (path.find('\0') != std::string::npos) return PathFault::not_found;
  if (path.starts_with('/')) return PathFault::linked;
  std::string plain;
  for (const std::string& part : split_path(path)) {
    if (part == "..") return PathFault::linked;
    if (part == ".") continue;
    if (!plain.empty()) plain += '/';
    plain += part;
  }
  return plain;
}

bool is_on_procfs(int fd) noexcept {
  struct statfs file_system {};
  return ::fstatfs(fd, &file_system) != 0 || file_system.f_type == PROC_SUPER_MAGIC;
}

std::variant<PlainFile, PathFault> find_plain_file(int folder, const std::string& name) {
  constexpr int kAttempts = 64;
  constexpr int kConvinced = 16;  // attempts on end that found it busy
  int busy = 0;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    fall_out_of_step(attempt);
    Fd fd = open_beneath(folder, name, O_PATH);
    struct stat status {};
    if (!fd.is_open() || ::fstat(fd.get(), &status) != 0) return fault_of(errno);
    if (const std::optional<PathFault> fault = fault_in(fd.get(), status)) return *fault;
    // A folder on the way that has been replaced meanwhile is seen by the next attempt.
    const bool is_settled = await_removals(folder, name);
    const Again again = is_settled ? look_again(folder, name, status) : Again::changed;
    busy = again == Again::busy ? busy + 1 : 0;
    if (again == Again::same || busy == kConvinced) return PlainFile{std::move(fd), status};
  }
  return PathFault::not_readable;
}

std::variant<ReadFile, PathFault> read_plain_file(const PlainFile& file, std::size_t most) {
  // By the descriptor, so that nothing but the file that was judged is ever opened: the opening of
  // a FIFO waits, that of a device may do anything. O_NONBLOCK: a lease of somebody's (fcntl(2),
  // F_SETLEASE) would hold up an open for /proc/sys/fs/lease-break-time.
  const Fd fd(
      ::open(path_of_fd(file.fd.get()).c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.is_open()) return PathFault::not_readable;
  // One more than is wanted tells whether there is more; with the end, it fits into the first read.
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max() / 2;
  const std::size_t limit = std::min(most, kMost) + 1;
  const auto expected = static_cast<std::size_t>(std::max<off_t>(file.status.st_size, 0)) + 1;
  std::optional<std::string> bytes = read_up_to(fd.get(), expected, limit);
  if (!bytes) return PathFault::not_readable;
  const bool is_cut = bytes->size() == limit;
  if (is_cut) bytes->pop_back();
  return ReadFile{std::move(*bytes), is_cut};
}

}  // namespace aegis::confine
