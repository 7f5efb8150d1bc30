// SPDX-License-Identifier: Apache-2.0 OR MIT
// One look at each path: with one call when no folder on its way is a link, else component by
// component, so that every link is known by its own place. What is never granted is decided here
// too.
#include "confine/grants.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <climits>

#include "confine/fd.h"

namespace aegis::confine {
namespace {

constexpr int kMaxLinks = 40;  // path_resolution(7)
constexpr std::string_view kDoing = "grant";

/// What a grant may not name, by its resolved path.
struct Reserved {
  enum class Reach : std::uint8_t { itself, all_below };
  std::string_view path;
  Reach reach;
  std::string_view why;
};
constexpr Reserved kReserved[] = {
    {"/", Reserved::Reach::itself, "it holds everything; name the folders that are needed"},
    {"/proc",
     Reserved::Reach::all_below,
     "it tells and rules the host's processes; the program has a /proc of its own"},
    {"/dev",
     Reserved::Reach::all_below,
     "devices cannot be granted; the program has null, zero, full, random, urandom and shm of its "
     "own"},
    {"/sys", Reserved::Reach::itself, "it is the whole kernel's; name the folder that is needed"},
};

/// "." stands for a slash at the end: what is before it must be a folder.
std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> components;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    if (slash > 0) components.emplace_back(path.substr(0, slash));
    if (slash == path.size()) return components;
    path.remove_prefix(slash + 1);
  }
  components.emplace_back(".");
  return components;
}

/// Whether the text is what a resolved path without links looks like.
bool is_plain(std::string_view path) {
  if (path.find("//") != std::string_view::npos) return false;
  const std::vector<std::string> components = split(path);
  return std::none_of(components.begin(), components.end(), [](const std::string& each) {
    return each == "." || each == "..";
  });
}

/// Notes the link that `link` is open on, at `place`, which holds none. Gives its target.
Result<std::string> note_link(const Fd& link, std::string place, std::vector<LinkOnTheWay>& links) {
  if (links.size() == kMaxLinks) return code_error(kDoing, place, ELOOP);
  // Such a link means something else to each process that follows it.
  if (is_within(place, "/proc")) {
    return refusal(kDoing, place, "a link in /proc cannot be granted; name what it points to");
  }
  std::string target(PATH_MAX, '\0');
  const ssize_t size = ::readlinkat(link.get(), "", target.data(), target.size());
  if (size <= 0) return errno_error("read the link", place);
  target.resize(static_cast<std::size_t>(size));
  links.push_back({std::move(place), target});
  return target;
}

/// Follows a path by hand. The folders above are kept open: ".." is then where we came from, even
/// if somebody moves them meanwhile.
class Walk {
 public:
  /// `links` were met before.
  Walk(std::string_view path, std::vector<LinkOnTheWay> links) : links_(std::move(links)) {
    queue(path);
  }

  Result<void> run() {
    steps_.push_back({"", Fd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC))});
    if (!steps_.back().fd.is_open()) return errno_error(kDoing, "/");
    while (!todo_.empty()) {
      const std::string name = std::move(todo_.back());
      todo_.pop_back();
      AEGIS_TRY(enter(name));
    }
    return {};
  }

  [[nodiscard]] std::string path() const {
    std::string path;
    for (std::size_t i = 1; i < steps_.size(); ++i)
      path.append("/").append(steps_[i].name);
    return path.empty() ? "/" : path;
  }
  Fd take_fd() { return std::move(steps_.back().fd); }
  std::vector<LinkOnTheWay> take_links() { return std::move(links_); }

 private:
  struct Step {
    std::string name;
    Fd fd;
    bool is_directory = true;
  };

  void queue(std::string_view path) {
    std::vector<std::string> components = split(path);
    todo_.insert(todo_.end(),
                 std::make_move_iterator(components.rbegin()),
                 std::make_move_iterator(components.rend()));
  }

  Result<void> enter(const std::string& name) {
    if (name == "." || name == "..") {
      if (!steps_.back().is_directory) return code_error(kDoing, path(), ENOTDIR);
      if (name == ".." && steps_.size() > 1) steps_.pop_back();
      return {};
    }
    Fd fd(::openat(steps_.back().fd.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status = {};
    if (!fd.is_open() || ::fstat(fd.get(), &status) != 0) {
      const int code = errno;
      return code_error(kDoing, beside(name), code);
    }
    if (S_ISLNK(status.st_mode)) return follow(name, fd);
    steps_.push_back({name, std::move(fd), S_ISDIR(status.st_mode)});
    return {};
  }

  Result<void> follow(const std::string& name, const Fd& link) {
    const std::string target = AEGIS_TRY(note_link(link, beside(name), links_));
    if (target.front() == '/') steps_.resize(1);
    queue(target);
    return {};
  }

  [[nodiscard]] std::string beside(const std::string& name) const {
    return steps_.size() == 1 ? "/" + name : path() + "/" + name;
  }

  std::vector<std::string> todo_;  // the next one last
  std::vector<Step> steps_;        // from the root, which is the first
  std::vector<LinkOnTheWay> links_;
};

/// No component but the last may be a link, which is then opened itself. openat2(2) is Linux 5.6's.
Fd open_without_links(const std::string& path) {
  open_how how = {};
  how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS;
  return Fd(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
}

Result<std::string> make_absolute(std::string_view written) {
  if (written.empty()) return Error{"grant: an empty path names nothing"};
  if (written.find('\0') != std::string_view::npos) {
    return refusal(kDoing, written.substr(0, written.find('\0')), "the path holds a NUL byte");
  }
  if (written.front() == '/') return std::string(written);
  std::string folder(PATH_MAX, '\0');
  if (::getcwd(folder.data(), folder.size()) == nullptr) {
    return errno_error("find the working directory");
  }
  folder.resize(folder.find('\0'));
  return folder.append("/").append(written);
}

/// The host's processes again, under another name: a procfs may be mounted anywhere. Its device is
/// one without a number of its own (major 0).
Result<void> refuse_procfs(const PathGrant& grant, const Fd& fd) {
  if (major(grant.id.device) != 0) return {};
  struct statfs file_system = {};
  if (::fstatfs(fd.get(), &file_system) != 0) return errno_error("ask the file system", grant.path);
  if (file_system.f_type != PROC_SUPER_MAGIC) return {};
  return refusal(kDoing, grant.path, "it is a procfs; the program has a /proc of its own");
}

Result<void> refuse_reserved(const PathGrant& grant, const Fd& fd) {
  for (const Reserved& each : kReserved) {
    const bool is_hit = each.reach == Reserved::Reach::itself ? grant.path == each.path
                                                              : is_within(grant.path, each.path);
    if (is_hit) return refusal(kDoing, grant.path, each.why);
  }
  if (is_within(grant.path, "/sys") && grant.rights != Rights{}) {
    return refusal(kDoing, grant.path, "only reading can be granted in /sys");
  }
  return refuse_procfs(grant, fd);
}

Rights join(Rights one, Rights other) {
  return {one.may_write || other.may_write, one.may_execute || other.may_execute};
}

struct Found {
  std::string path;  // without links
  Fd fd;
  std::vector<LinkOnTheWay> links;
};

Result<Found> walk(std::string_view path, std::vector<LinkOnTheWay> links) {
  Walk walk(path, std::move(links));
  AEGIS_TRY(walk.run());
  return Found{walk.path(), walk.take_fd(), walk.take_links()};
}

/// ENOSYS: an old kernel; EPERM: a filter that does not know the call.
bool must_walk(int code) {
  return code == ELOOP || code == ENOSYS || code == EPERM;
}

/// By a call for each link, as long as only the last component is one: most paths of a system are
/// so, and a start resolves dozens.
Result<Found> find(std::string path) {
  std::vector<LinkOnTheWay> links;
  while (is_plain(path)) {
    Fd fd = open_without_links(path);
    if (!fd.is_open()) {
      const int code = errno;
      if (must_walk(code)) break;
      return code_error(kDoing, path, code);
    }
    struct stat status = {};
    if (::fstat(fd.get(), &status) != 0) return errno_error("look at", path);
    if (!S_ISLNK(status.st_mode)) return Found{std::move(path), std::move(fd), std::move(links)};
    const std::string target = AEGIS_TRY(note_link(fd, path, links));
    path.resize(target.front() == '/' ? 0 : path.rfind('/') + 1);
    path.append(target);
  }
  return walk(path, std::move(links));
}

struct Located {
  ResolvedPath resolved;
  Fd fd;
  bool is_file;  // a regular one
};

Result<Located> locate(std::string_view written, Rights rights) {
  std::string path = AEGIS_TRY(make_absolute(written));
  Found found = AEGIS_TRY(find(std::move(path)));
  struct stat status = {};
  if (::fstat(found.fd.get(), &status) != 0) return errno_error("look at", found.path);
  return Located{
      {{std::move(found.path), rights, S_ISDIR(status.st_mode), {status.st_dev, status.st_ino}},
       std::move(found.links)},
      std::move(found.fd),
      S_ISREG(status.st_mode)};
}

}  // namespace

Result<ResolvedPath> resolve_grant(std::string_view written, Rights rights) {
  Located located = AEGIS_TRY(locate(written, rights));
  const PathGrant& grant = located.resolved.grant;
  if (!grant.is_directory && !located.is_file) {
    // What a device can do, no right of a path says; a socket or FIFO is a way to a process.
    return refusal(kDoing, grant.path, "only folders and regular files can be granted");
  }
  AEGIS_TRY(refuse_reserved(grant, located.fd));
  return std::move(located.resolved);
}

Result<ResolvedPath> resolve_path(std::string_view written, Rights rights) {
  return std::move(AEGIS_TRY(locate(written, rights)).resolved);
}

void PathGrants::add(ResolvedPath resolved) {
  PathGrant& added = resolved.grant;
  if (const PathGrant* decides = find(added.path))
    added.rights = join(added.rights, decides->rights);
  const auto place =
      std::lower_bound(paths.begin(), paths.end(), added, [](const auto& one, const auto& other) {
        return one.path < other.path;
      });
  if (place != paths.end() && place->path == added.path) {
    *place = added;
  } else {
    paths.insert(place, added);
  }

  // From the top down: what lies in `added` gets its rights too, and what then has no more than the
  // folder above it goes.
  std::vector<PathGrant> all = std::exchange(paths, {});
  for (PathGrant& each : all) {
    if (is_within(each.path, added.path)) each.rights = join(each.rights, added.rights);
    const PathGrant* above = find(each.path);
    if (above == nullptr || above->rights != each.rights) paths.push_back(std::move(each));
  }
  add_links(std::move(resolved.links));
}

void PathGrants::add_links(std::vector<LinkOnTheWay> added) {
  links.insert(
      links.end(), std::make_move_iterator(added.begin()), std::make_move_iterator(added.end()));
  std::sort(links.begin(), links.end(), [](const LinkOnTheWay& one, const LinkOnTheWay& other) {
    return one.path < other.path;
  });
  links.erase(std::unique(links.begin(), links.end()), links.end());
  // A link in a granted folder is there by itself.
  links.erase(
      std::remove_if(links.begin(),
                     links.end(),
                     [this](const LinkOnTheWay& link) { return find(link.path) != nullptr; }),
      links.end());
}

const PathGrant* PathGrants::find(std::string_view path) const {
  const PathGrant* longest = nullptr;
  for (const PathGrant& each : paths) {
    if (!is_within(path, each.path)) continue;
    if (longest == nullptr || each.path.size() > longest->path.size()) longest = &each;
  }
  return longest;
}

bool is_within(std::string_view path, std::string_view folder) {
  if (folder == "/") return !path.empty() && path.front() == '/';
  if (path.substr(0, folder.size()) != folder) return false;
  return path.size() == folder.size() || path[folder.size()] == '/';
}

}  // namespace aegis::confine
