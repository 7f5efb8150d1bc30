// SPDX-License-Identifier: Apache-2.0 OR MIT
// What is in a folder of a workspace. Level by level, so that what does not fit is what lies
// deepest. Each folder is opened by its path below the one that was asked for, and is passed over
// when it is gone or has become a link.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <optional>
#include <utility>

#include <climits>

#include "confine/beneath.h"
#include "confine/folder_names.h"
#include "confine/plain_file.h"
#include "confine/workspace.h"

namespace aegis::confine {
namespace {

using Type = FolderNames::Type;

/// Names that one listing reads, whatever comes of them: some 50 ms of a folder with a million.
constexpr std::size_t kMaxNames = 65'536;

WorkspaceEntry::Type shown_type(Type type) noexcept {
  switch (type) {
    case Type::file:
      return WorkspaceEntry::Type::file;
    case Type::folder:
      return WorkspaceEntry::Type::folder;
    case Type::link:
      return WorkspaceEntry::Type::link;
    case Type::other:
    case Type::unknown:
      break;
  }
  return WorkspaceEntry::Type::other;
}

/// Nothing is known of one that is gone: zeros.
struct stat look_at(int folder, const std::string& name) noexcept {
  struct stat status {};
  if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0)
    return {};
  return status;
}

class Lister {
 public:
  Lister(std::string base,
         const Workspace::ListOptions& options,
         const Workspace::IsHidden& is_hidden)
      : base_(std::move(base)), options_(options), is_hidden_(is_hidden) {}

  FolderList run(Fd folder) {
    take_in(std::move(folder), Pending{});
    // Relative to the first: the paths of this list.
    while (!pending_.empty() && !is_full_) {
      const Pending next = std::move(pending_.front());
      pending_.pop_front();
      Fd fd = open_beneath(base_fd_.get(), next.path, O_RDONLY | O_DIRECTORY);
      if (fd.is_open()) {
        take_in(std::move(fd), next);
      } else if (fault_of(errno) == PathFault::not_readable) {
        list_.is_cut = true;
      }
    }
    std::sort(list_.entries.begin(), list_.entries.end(), [](const auto& one, const auto& other) {
      return one.path < other.path;
    });
    return std::move(list_);
  }

 private:
  struct Pending {
    std::string path = {};
    std::size_t depth = 0;
  };

  void take_in(Fd folder, const Pending& at) {
    if (is_on_procfs(folder.get())) return;
    Fd kept(::fcntl(folder.get(), F_DUPFD_CLOEXEC, 0));
    if (!kept.is_open()) {
      list_.is_cut = true;
      return;
    }
    const FolderNames found = read_names(std::move(folder), kMaxNames - names_read_);
    names_read_ += found.names.size();
    for (const FolderNames::Each& each : found.names) {
      if (!is_shown(join(base_, join(at.path, each.name)), each.name)) continue;
      if (list_.entries.size() == options_.max_entries) {
        is_full_ = true;
        break;
      }
      show(kept.get(), each, at);
    }
    is_full_ |= names_read_ == kMaxNames && found.is_cut;
    list_.is_cut |= is_full_ || found.is_cut;
    if (!base_fd_.is_open()) base_fd_ = std::move(kept);
  }

  bool is_shown(const std::string& path, const std::string& name) {
    if (options_.dotted == Workspace::ListOptions::Dotted::left_out && name.starts_with('.'))
      return false;
    if (!is_hidden_ || !is_hidden_(path)) return true;
    ++list_.hidden;
    return false;
  }

  void show(int folder, const FolderNames::Each& each, const Pending& at) {
    const Type type = each.type == Type::unknown ? type_of(folder, each.name) : each.type;
    WorkspaceEntry entry{join(at.path, each.name), shown_type(type)};
    if (type == Type::file) {
      const struct stat status = look_at(folder, each.name);
      entry.size = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
      if (status.st_nlink > 1) ++list_.many_links;
    }
    if (type == Type::folder && at.depth < options_.max_depth) queue(entry.path, at.depth + 1);
    list_.entries.push_back(std::move(entry));
  }

  void queue(const std::string& path, std::size_t depth) {
    if (path.size() >= PATH_MAX) {  // there, but not to be opened
      list_.is_cut = true;
    } else {
      pending_.push_back({path, depth});
    }
  }

  std::string base_;  // of the folder asked for, relative to the workspace's root
  Fd base_fd_;
  Workspace::ListOptions options_;
  const Workspace::IsHidden& is_hidden_;  // the caller's, for the time of the call
  std::deque<Pending> pending_;
  std::size_t names_read_ = 0;
  bool is_full_ = false;
  FolderList list_;
};

/// Why `path` was not opened as a folder.
PathFault folder_fault(int root, const std::string& path, int code) {
  if (code != ENOTDIR) return fault_of(code);
  const std::optional<struct stat> status = look_beneath(root, path);
  if (!status) return fault_of(errno);
  // A folder by now: then it was a link a moment ago, or stood behind something else.
  const bool was_link = S_ISLNK(status->st_mode) || S_ISDIR(status->st_mode);
  return was_link ? PathFault::linked : PathFault::not_a_folder;
}

}  // namespace

std::variant<FolderList, PathFault> Workspace::list(const std::string& path,
                                                    const ListOptions& options,
                                                    const IsHidden& is_hidden) const {
  auto plain = normalize(path);
  if (const auto* fault = std::get_if<PathFault>(&plain)) return *fault;
  auto& base = std::get<std::string>(plain);
  // O_DIRECTORY: nothing else is opened, so nothing can wait (open(2)).
  Fd folder = open_beneath(folder_.get(), base, O_RDONLY | O_DIRECTORY);
  if (!folder.is_open()) return folder_fault(folder_.get(), base, errno);
  struct stat status {};
  if (::fstat(folder.get(), &status) != 0) return PathFault::not_readable;
  if (status.st_nlink == 0) return PathFault::not_found;  // removed, but held by our descriptor
  if (is_on_procfs(folder.get())) return PathFault::not_readable;
  return Lister(std::move(base), options, is_hidden).run(std::move(folder));
}

}  // namespace aegis::confine
