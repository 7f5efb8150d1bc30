// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a confined program may reach, once it is resolved: which paths, with which rights. Resolving
// happens once, at start; what a path means later is not asked again.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "confine/result.h"

namespace aegis::confine {

/// Which program is meant to be able to do what with a path. Writing includes reading, executing
/// includes reading: there is no program without the reading of it.
struct Rights {
  bool may_write = false;
  bool may_execute = false;
  friend bool operator==(const Rights&, const Rights&) = default;
};

/// A file by its identity (stat(2)): a name can be changed between two looks, this cannot.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const FileId&, const FileId&) = default;
};

struct PathGrant {
  std::string path;  // absolute, without symbolic links, "." or ".."
  Rights rights = {};
  bool is_directory = false;
  FileId id = {};
};

/// A symbolic link on the way to a granted path: the private root repeats it, so that the path as
/// it was written works too.
struct LinkOnTheWay {
  std::string path;    // absolute; all but its last component without links
  std::string target;  // as readlink(2) gives it
  friend bool operator==(const LinkOnTheWay&, const LinkOnTheWay&) = default;
};

struct ResolvedPath {
  PathGrant grant;
  std::vector<LinkOnTheWay> links;  // in the order in which they are met
};

/// Resolves `written`: relative to the working directory when it does not begin with '/'. Nothing
/// but a directory or a regular file can be granted, and neither "/", "/sys" nor anything in /proc
/// or /dev; in /sys only reading. What /tmp of the host holds can be: it appears in the private
/// /tmp. Errors: the path is not there, is none of these, or has more than 40 links (ELOOP,
/// path_resolution(7)).
Result<ResolvedPath> resolve_grant(std::string_view written, Rights rights);

/// The same of any path, whether or not it could be granted.
Result<ResolvedPath> resolve_path(std::string_view written, Rights rights);

/// Paths and links without repetition, sorted by path, so that a folder stands before what lies in
/// it. Rights add up, as they do in Landlock: of two grants of one path they are joined, a path in
/// a granted folder has the folder's too, and one that has no more than these is left out. So is a
/// link that a granted folder holds anyway.
struct PathGrants {
  std::vector<PathGrant> paths;
  std::vector<LinkOnTheWay> links;

  void add(ResolvedPath resolved);
  void add_links(std::vector<LinkOnTheWay> added);
  /// The grant that decides about `path` (absolute, without links): the longest that is `path` or a
  /// folder above it. Null when none does.
  [[nodiscard]] const PathGrant* find(std::string_view path) const;
};

/// Whether `path` is `folder` or lies in it; both absolute, without links.
bool is_within(std::string_view path, std::string_view folder);

}  // namespace aegis::confine
