// SPDX-License-Identifier: Apache-2.0 OR MIT
// One folder of the user's that the broker reads, lists and copies: always below it, never through
// a symbolic link, never blocking, however its content changes meanwhile. What may be read is
// policy's; this is what is there.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "confine/fd.h"
#include "confine/grants.h"
#include "confine/result.h"

namespace aegis::confine {

/// Why a path was not opened. Each has its own words for the asker (wrap/broker).
enum class PathFault : std::uint8_t {
  not_found,
  linked,       // a symbolic link on the way, or the way leads out (ELOOP, EXDEV)
  not_regular,  // a folder, device, FIFO or socket where a file is expected
  not_a_folder,
  many_links,    // a file with another name (st_nlink), which may lie anywhere
  not_readable,  // EACCES and all else
};

struct ReadFile {
  std::string bytes;
  bool is_cut = false;  // there was more than was asked for
};

struct WorkspaceEntry {
  enum class Type : std::uint8_t { file, folder, link, other };
  std::string path;  // relative to the listed folder
  Type type = Type::file;
  std::uint64_t size = 0;
};
struct FolderList {
  std::vector<WorkspaceEntry> entries;  // sorted by path
  bool is_cut = false;
  std::uint64_t hidden = 0;      // entries that `is_hidden` left out
  std::uint64_t many_links = 0;  // listed files that have a second name, which may lie anywhere
};

/// A copy of what was admitted, in memory, so that nothing is left on any disk.
struct Snapshot {
  struct Entry {
    std::string path;  // relative, parents before what they hold
    bool is_folder = false;
    bool is_executable = false;
    std::string bytes = {};
  };
  std::vector<Entry> entries;
  std::uint64_t bytes = 0;
  // Files and folders for which there was no room. What lies in such a folder is not looked at, nor
  // counted.
  std::uint64_t left_out = 0;
};

class Workspace {
 public:
  /// `root` is absolute. One that is a symbolic link is refused; links above it are the user's.
  static Result<Workspace> open(const std::string& root);

  // Paths are relative; "" is the root. "." and "//" are as good as not there; what begins with '/'
  // or has ".." in it is `linked`, since it leads out or could.
  //
  // Whatever others do to the folder meanwhile, moving it included: each step goes from a folder to
  // what lies in it at that moment, from this very folder down, and never through a link. Once the
  // folder is removed, all is not_found. What is mounted in it is its owner's doing and belongs to
  // it, but for procfs. A file system that does not answer (FUSE, NFS) makes these wait.

  /// A regular file with this one name. Found with O_PATH, then judged, then opened by its
  /// descriptor, so nothing else is ever opened (plain_file.h). At most `most` bytes, whatever
  /// fstat(2) says; where it is cut may be amid a character.
  [[nodiscard]] std::variant<ReadFile, PathFault> read(const std::string& path,
                                                       std::size_t most) const;

  /// Of a path relative to the root. May be asked about a folder and about what lies in it.
  using IsHidden = std::function<bool(std::string_view path)>;
  struct ListOptions {
    std::size_t max_depth = 0;  // 0: the folder's own entries
    std::size_t max_entries = 10'000;
    enum class Dotted : std::uint8_t { left_out, shown } dotted = Dotted::left_out;
  };
  /// Level by level, each by name; cut when there is no room for more entries, or when some tens of
  /// thousands of names were looked at. Then which names of a greater folder are shown is the file
  /// system's choice. A folder that cannot be read is shown empty, and then the list counts as cut;
  /// one that is gone, or has become a link, when its turn comes, is shown empty.
  [[nodiscard]] std::variant<FolderList, PathFault> list(const std::string& path,
                                                         const ListOptions& options,
                                                         const IsHidden& is_hidden) const;

  struct SnapshotBounds {
    std::size_t max_files = 4096;
    std::uint64_t max_bytes = 64ULL << 20U;
    std::uint64_t max_file = 16ULL << 20U;
    std::size_t max_depth = 64;
    std::chrono::milliseconds max_time{10'000};  // then the rest is left out
  };
  /// Regular files with one name, and folders, level by level, each by name: what has room of an
  /// unchanged workspace is the same each time. Links, what cannot be read and everything else are
  /// left out in silence.
  [[nodiscard]] Result<Snapshot> snapshot(const SnapshotBounds& bounds,
                                          const IsHidden& is_hidden) const;

  /// The file or folder that a run may write: by its path without links, for a bind mount, with
  /// its identity.
  [[nodiscard]] std::variant<PathGrant, PathFault> resolve(const std::string& path) const;

  [[nodiscard]] const std::string& root() const { return root_; }
  /// For a fork that closes what it does not need.
  [[nodiscard]] int descriptor() const { return folder_.get(); }

 private:
  Workspace(std::string root, Fd folder) : root_(std::move(root)), folder_(std::move(folder)) {}
  std::string root_;  // absolute, without links
  Fd folder_;         // O_PATH
};

}  // namespace aegis::confine
