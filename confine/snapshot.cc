// SPDX-License-Identifier: Apache-2.0 OR MIT
// A copy of a workspace in memory. Level by level and by name, so that what has no room is the same
// each time and lies deepest. A folder that is gone when its turn comes, or that has become a link,
// is passed over, as is a file.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <utility>

#include "confine/beneath.h"
#include "confine/folder_names.h"
#include "confine/plain_file.h"
#include "confine/workspace.h"

namespace aegis::confine {
namespace {

using Type = FolderNames::Type;

/// Names that one snapshot reads, whatever comes of them.
constexpr std::size_t kMaxNames = 262'144;
/// Bytes of a path: with the folder that it is copied to, it must stay below PATH_MAX.
constexpr std::size_t kMaxPath = 4000;

class Copier {
 public:
  Copier(int root, const Workspace::SnapshotBounds& bounds, const Workspace::IsHidden& is_hidden)
      : root_(root),
        bounds_(bounds),
        is_hidden_(is_hidden),
        end_(std::chrono::steady_clock::now() + bounds.max_time) {}

  Snapshot run(Fd folder) {
    copy_folder(std::move(folder), Pending{});
    while (!pending_.empty() && !is_late()) {
      const Pending next = std::move(pending_.front());
      pending_.pop_front();
      Fd fd = open_beneath(root_, next.path, O_RDONLY | O_DIRECTORY);
      if (fd.is_open()) copy_folder(std::move(fd), next);
    }
    copy_.left_out += pending_.size();
    std::sort(copy_.entries.begin(), copy_.entries.end(), [](const auto& one, const auto& other) {
      return one.path < other.path;
    });
    return std::move(copy_);
  }

 private:
  struct Pending {
    std::string path = {};
    std::size_t depth = 0;
  };

  void copy_folder(Fd folder, const Pending& at) {
    if (is_on_procfs(folder.get())) return;
    const Fd kept(::fcntl(folder.get(), F_DUPFD_CLOEXEC, 0));
    if (!kept.is_open()) return;
    const FolderNames found = read_names(std::move(folder), kMaxNames - names_read_);
    names_read_ += found.names.size();
    if (found.is_cut) ++copy_.left_out;
    for (const FolderNames::Each& each : found.names) {
      std::string path = join(at.path, each.name);
      if (is_hidden_ && is_hidden_(path)) continue;
      const Type type = each.type == Type::unknown ? type_of(kept.get(), each.name) : each.type;
      if (type == Type::folder) {
        queue(std::move(path), at.depth + 1);
      } else if (type == Type::file) {
        copy_file(kept.get(), each.name, std::move(path));
      }
    }
  }

  void queue(std::string path, std::size_t depth) {
    // As many folders as files, so that a tree of empty ones is bounded too.
    if (depth > bounds_.max_depth || folders_ == bounds_.max_files || has_no_room(path)) {
      ++copy_.left_out;
      return;
    }
    ++folders_;
    pending_.push_back({path, depth});
    copy_.entries.push_back({std::move(path), /*is_folder=*/true});
  }

  void copy_file(int folder, const std::string& name, std::string path) {
    if (files_ == bounds_.max_files || has_no_room(path)) {
      ++copy_.left_out;
      return;
    }
    const auto found = find_plain_file(folder, name);
    const auto* const file = std::get_if<PlainFile>(&found);
    if (file == nullptr) return;
    const std::uint64_t most = std::min(bounds_.max_file, bounds_.max_bytes - copy_.bytes);
    if (static_cast<std::uint64_t>(file->status.st_size) > most) {
      ++copy_.left_out;
      return;
    }
    auto read = read_plain_file(*file, static_cast<std::size_t>(most));
    auto* const text = std::get_if<ReadFile>(&read);
    if (text == nullptr) return;
    if (text->is_cut) {  // half a file is none
      ++copy_.left_out;
      return;
    }
    ++files_;
    copy_.bytes += text->bytes.size();
    constexpr mode_t kExecutable = S_IXUSR | S_IXGRP | S_IXOTH;
    const bool is_executable = (file->status.st_mode & kExecutable) != 0;
    copy_.entries.push_back(
        {std::move(path), /*is_folder=*/false, is_executable, std::move(text->bytes)});
  }

  [[nodiscard]] bool has_no_room(const std::string& path) const {
    return path.size() > kMaxPath || is_late();
  }
  [[nodiscard]] bool is_late() const { return std::chrono::steady_clock::now() > end_; }

  int root_;
  Workspace::SnapshotBounds bounds_;
  const Workspace::IsHidden& is_hidden_;  // the caller's, for the time of the call
  std::chrono::steady_clock::time_point end_;
  std::deque<Pending> pending_;
  std::size_t names_read_ = 0;
  std::size_t files_ = 0;
  std::size_t folders_ = 0;
  Snapshot copy_;
};

}  // namespace

Result<Snapshot> Workspace::snapshot(const SnapshotBounds& bounds,
                                     const IsHidden& is_hidden) const {
  Fd folder = open_beneath(folder_.get(), "", O_RDONLY | O_DIRECTORY);
  if (!folder.is_open()) return errno_error("copy the workspace", root_);
  struct stat status {};
  if (::fstat(folder.get(), &status) != 0) return errno_error("copy the workspace", root_);
  if (status.st_nlink == 0) return code_error("copy the workspace", root_, ENOENT);
  return Copier(folder_.get(), bounds, is_hidden).run(std::move(folder));
}

}  // namespace aegis::confine
