// SPDX-License-Identifier: Apache-2.0 OR MIT
// See beneath.h.
#include "confine/beneath.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <climits>

namespace aegis::confine {

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    if (slash > 0) parts.emplace_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return parts;
}

Fd open_beneath(int folder, const std::string& name, int flags) noexcept {
  // To go to "." needs the right to search in it, which the program may have taken away.
  if (name.empty() && (flags & O_PATH) != 0) return Fd(::fcntl(folder, F_DUPFD_CLOEXEC, 0));
  open_how how{};
  how.flags = static_cast<unsigned>(flags | O_CLOEXEC | O_NOFOLLOW);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const char* path = name.empty() ? "." : name.c_str();
  // EAGAIN: something was renamed while ".." was looked at; no name here has one, but the manual
  // asks for it.
  for (int attempt = 0;; ++attempt) {
    const auto fd = static_cast<int>(::syscall(SYS_openat2, folder, path, &how, sizeof how));
    constexpr int kAttempts = 16;
    if (fd >= 0 || (errno != EAGAIN && errno != EINTR) || attempt == kAttempts) return Fd(fd);
  }
}

std::optional<struct stat> look_beneath(int folder, const std::string& name) noexcept {
  const Fd fd = open_beneath(folder, name, O_PATH);
  struct stat status {};
  if (!fd.is_open() || ::fstat(fd.get(), &status) != 0) return std::nullopt;
  return status;
}

std::optional<std::string> read_link(int path_fd) {
  std::string target(PATH_MAX, '\0');
  const ssize_t size = ::readlinkat(path_fd, "", target.data(), target.size());
  if (size <= 0) return std::nullopt;
  target.resize(static_cast<std::size_t>(size));
  return target;
}

std::optional<std::string> read_small_file(int folder, const std::string& name, std::size_t limit) {
  // O_NONBLOCK: the opening of a FIFO would wait for a writer.
  const Fd fd = open_beneath(folder, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!fd.is_open()) return std::nullopt;
  return read_small(fd.get(), limit);
}

std::optional<std::string> read_small(int fd, std::size_t limit) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode)) {
    errno = EINVAL;
    return std::nullopt;
  }
  std::string text(limit + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = ::read(fd, text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  if (size > limit) {
    errno = EFBIG;
    return std::nullopt;
  }
  text.resize(size);
  return text;
}

std::vector<std::string> list_folder(int folder, const std::string& name, std::size_t limit) {
  std::vector<std::string> names;
  Fd fd = open_beneath(folder, name, O_RDONLY | O_DIRECTORY);
  DIR* const stream = fd.is_open() ? ::fdopendir(fd.get()) : nullptr;
  if (stream == nullptr) return names;
  static_cast<void>(fd.release());  // the stream's now
  while (names.size() < limit) {
    const dirent* const entry = ::readdir(stream);
    if (entry == nullptr) break;
    const std::string_view each = entry->d_name;
    if (each != "." && each != "..") names.emplace_back(each);
  }
  ::closedir(stream);
  return names;
}

std::string path_of_fd(int fd) {
  return "/proc/self/fd/" + std::to_string(fd);
}

std::string join(const std::string& folder, const std::string& name) {
  if (folder.empty()) return name;
  return name.empty() ? folder : folder + "/" + name;
}

std::optional<Place> place_within(const std::string& root,
                                  const std::string& folder,
                                  const std::string& written) {
  std::vector<std::string> parts;  // of the absolute path
  const bool is_relative = !written.starts_with('/');
  if (is_relative) parts = split_path(join(root, folder));
  bool is_behind_name = !is_relative;
  for (std::string& part : split_path(written)) {
    if (part == ".") continue;
    if (part != "..") {
      is_behind_name = true;
      parts.push_back(std::move(part));
    } else if (is_behind_name) {
      return std::nullopt;
    } else if (!parts.empty()) {
      parts.pop_back();
    }
  }
  std::string path;
  for (const std::string& part : parts)
    path.append("/").append(part);
  if (!is_within(path, root)) return Place{std::nullopt, path};
  return Place{path == root ? std::string() : path.substr(root.size() + 1), path};
}

namespace {

/// A way on the host, half gone.
struct Way {
  std::string at;                 // absolute, without links; "" is "/"
  std::vector<std::string> left;  // components
  std::size_t links = 0;

  /// Goes one component on. False: there is none, or it leads nowhere.
  bool step() {
    constexpr std::size_t kMaxLinks = 40;  // path_resolution(7)
    if (left.empty()) return false;
    const std::string part = left.front();
    left.erase(left.begin());
    std::string next = at;
    next.append("/").append(part);
    const Fd fd(::open(next.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!fd.is_open()) return false;
    if (part == "..") at.erase(std::min(at.rfind('/'), at.size()));
    if (part == "." || part == "..") return true;
    const std::optional<std::string> target = read_link(fd.get());
    if (!target) {
      at = std::move(next);
      return true;
    }
    if (target->starts_with('/')) at.clear();
    const std::vector<std::string> parts = split_path(*target);
    left.insert(left.begin(), parts.begin(), parts.end());
    return ++links <= kMaxLinks;
  }
};

}  // namespace

std::optional<std::string> way_into(const std::string& root, const std::string& path) {
  Way way{{}, split_path(path)};
  while (way.at != root || (!way.left.empty() && way.left.front() == ".."))
    if (!way.step()) return std::nullopt;
  std::string rest;
  for (const std::string& each : way.left)
    rest = join(rest, each);
  return rest;
}

}  // namespace aegis::confine
