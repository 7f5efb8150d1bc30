// SPDX-License-Identifier: Apache-2.0 OR MIT
// Which folder a workspace is, and its single files. workspace_list.cc and snapshot.cc walk it.
#include "confine/workspace.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "confine/beneath.h"
#include "confine/plain_file.h"

namespace aegis::confine {
namespace {

constexpr std::string_view kDoing = "open the workspace";

/// Without what would have a link at the end followed: "link/" and "link/." are what it points to.
std::string without_end(std::string path) {
  while (path.size() > 1 && (path.ends_with('/') || path.ends_with("/.")))
    path.pop_back();
  return path;
}

/// The folder itself; a link that bears its name is refused.
Result<Fd> open_folder(const std::string& root) {
  Fd folder(::open(root.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!folder.is_open() || ::fstat(folder.get(), &status) != 0) return errno_error(kDoing, root);
  if (S_ISLNK(status.st_mode)) {
    return refusal(kDoing,
                   root,
                   "it is a symbolic link, which whoever may change it can point elsewhere; name "
                   "the folder itself");
  }
  if (!S_ISDIR(status.st_mode)) return code_error(kDoing, root, ENOTDIR);
  return folder;
}

}  // namespace

Result<Workspace> Workspace::open(const std::string& root) {
  if (!root.starts_with('/')) {
    return refusal(kDoing, root, "the path is not absolute; begin it with '/'");
  }
  if (root.find('\0') != std::string::npos) {
    return refusal(kDoing, root.substr(0, root.find('\0')), "the path holds a NUL byte");
  }
  const std::string named = without_end(root);
  Fd folder = AEGIS_TRY(open_folder(named));
  const ResolvedPath resolved = AEGIS_TRY(resolve_grant(named, {}));
  struct stat status {};
  if (::fstat(folder.get(), &status) != 0) return errno_error(kDoing, named);
  if (id_of(status) != resolved.grant.id) {
    return refusal(kDoing, named, "it was replaced while it was opened; try again");
  }
  return Workspace(resolved.grant.path, std::move(folder));
}

std::variant<ReadFile, PathFault> Workspace::read(const std::string& path, std::size_t most) const {
  const auto plain = normalize(path);
  if (const auto* fault = std::get_if<PathFault>(&plain)) return *fault;
  const auto file = find_plain_file(folder_.get(), std::get<std::string>(plain));
  if (const auto* fault = std::get_if<PathFault>(&file)) return *fault;
  return read_plain_file(std::get<PlainFile>(file), most);
}

std::variant<PathGrant, PathFault> Workspace::resolve(const std::string& path) const {
  const auto plain = normalize(path);
  if (const auto* fault = std::get_if<PathFault>(&plain)) return *fault;
  const auto& name = std::get<std::string>(plain);
  const Fd fd = open_beneath(folder_.get(), name, O_PATH);
  struct stat look {};
  if (!fd.is_open() || ::fstat(fd.get(), &look) != 0) return fault_of(errno);
  PathGrant grant{join(root_, name), {.may_write = true}, S_ISDIR(look.st_mode), id_of(look)};
  if (grant.is_directory && is_on_procfs(fd.get())) return PathFault::not_readable;
  if (grant.is_directory) return grant;
  const auto file = find_plain_file(folder_.get(), name);
  if (const auto* fault = std::get_if<PathFault>(&file)) return *fault;
  grant.id = id_of(std::get<PlainFile>(file).status);
  return grant;
}

}  // namespace aegis::confine
