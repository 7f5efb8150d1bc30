// SPDX-License-Identifier: Apache-2.0 OR MIT
// See guard_git.h.
#include "confine/guard_git.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "confine/beneath.h"
#include "confine/common_dir.h"
#include "confine/fd.h"
#include "confine/guarded_names.h"

namespace aegis::confine {
namespace {

constexpr std::size_t kMaxText = std::size_t{1} << 20;  // bytes of a configuration file
constexpr std::size_t kMaxFiles = 256;  // configurations that include each other; git folders
constexpr std::size_t kMaxWorktrees = 4096;
constexpr std::size_t kMaxHooks = 4096;  // names in a folder of hooks outside

template <class T>
bool has(const std::vector<T>& all, const T& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

bool is_outside(const std::string& place) {
  return place.starts_with('/');
}

std::string dir_of(const std::string& place) {
  return place.rfind('/') == 0 ? "/" : folder_of(place);
}

std::string real_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

void append(const std::vector<std::string>& from, std::vector<std::string>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

void GitGuard::add_dot_git(const std::string& place) {
  const std::string top = settle(dir_of(place));
  const std::string at = settle(place);
  if (is_folder(at)) return add({at, top});
  if (!is_outside(at)) book_.guard({at});
  if (const auto written = named_in(at, "gitdir: ")) add_written(top, *written, top);
}

bool GitGuard::add_bare(const std::string& folder) {
  const bool is_bare = is_there(join(folder, "HEAD")) && is_there(join(folder, "objects")) &&
                       is_there(join(folder, "refs"));
  if (is_bare) add({folder, folder});
  return is_bare;
}

void GitGuard::add_above() {
  std::string dir = book_.folder();
  while (dir != "/") {
    dir = dir_of(dir);
    add_dot_git(place_of("/", join(dir, ".git")));
    add_bare(dir);
  }
}

void GitGuard::guard_all() {
  for (std::size_t i = 0; i < git_folders_.size(); ++i) {
    const GitFolder git = git_folders_[i];
    if (is_outside(git.place)) {
      guard_outside(git);
    } else {
      guard_inside(git);
    }
  }
  guard_users_config();
}

void GitGuard::add(GitFolder git) {
  if (has(git_folders_, git)) return;
  if (git_folders_.size() == kMaxFiles) return book_.refuse(git.place, "too many git folders");
  if (!is_outside(git.place)) book_.self_bind(git.place);
  git_folders_.push_back(std::move(git));
}

/// A git folder that a file in `from` names.
void GitGuard::add_written(const std::string& from,
                           const std::string& written,
                           const std::string& top) {
  const std::string at = settle(place_of(from, written));
  if (is_outside(at) || is_folder(at)) return add({at, top});
  book_.guard({at});
}

void GitGuard::guard_inside(const GitFolder& git) {
  const std::string& folder = git.place;
  const GitConfig config =
      guard_by_config({join(folder, "config"), join(folder, "config.worktree")}, git);
  guard_rows(GuardBase::git_folder, folder, config);
  guard_hooks(join(folder, "hooks"));
  guard_common_dir(git);
  for (const std::string& worktree : worktrees_of(folder)) {
    guard_rows(GuardBase::linked_worktree, worktree, config);
    guard_by_config({join(worktree, "config.worktree")}, {worktree, top_of(worktree)});
  }
}

/// Nothing of it can be written by the program, but for what links in it lead to.
void GitGuard::guard_outside(const GitFolder& git) {
  const std::string& folder = git.place;
  const auto written = named_in(join(folder, std::string(CommonDir::kName)), "");
  const std::string common = written ? settle(place_of(folder, *written)) : folder;
  if (!is_outside(common)) add({common, git.top});
  guard_by_config(
      {join(common, "config"), join(common, "config.worktree"), join(folder, "config.worktree")},
      git);
  if (is_outside(common)) guard_hooks(place_of("/", join(common, "hooks")));
}

void GitGuard::guard_rows(GuardBase base, const std::string& folder, const GitConfig& config) {
  for (const GuardedName& row : kGuardedNames) {
    if (row.base != base) continue;
    GuardBook::Wanted wanted{join(folder, std::string(row.name)), row.when_missing};
    if (row.name == "config.worktree" && config.has_worktree_config)
      wanted.when_missing = WhenMissing::create_file;
    if (row.name == CommonDir::kName) wanted.content = CommonDir::kContent;
    book_.guard(wanted);
  }
}

/// Another one than ours names a git folder more.
void GitGuard::guard_common_dir(const GitFolder& git) {
  const std::string name = join(git.place, std::string(CommonDir::kName));
  const std::optional<std::string> text = read(name);
  if (!text) return;
  if (*text != CommonDir::kContent) {
    if (const auto written = named_in(name, "")) add_written(git.place, *written, git.top);
    return;
  }
  // Without a share somebody may remove the file under us: then the watch tells.
  if (auto share = CommonDir::share(book_.root(), git.place)) book_.keep(*std::move(share));
}

/// Their git folders lie in the main repository's; they themselves may lie anywhere.
std::vector<std::string> GitGuard::worktrees_of(const std::string& folder) {
  std::vector<std::string> worktrees;
  const std::string all = join(folder, "worktrees");
  const std::vector<std::string> names = list_folder(book_.root(), all, kMaxWorktrees + 1);
  if (names.size() > kMaxWorktrees) book_.refuse(all, "too many worktrees; git worktree prune");
  for (const std::string& each : names) {
    if (is_folder(join(all, each))) worktrees.push_back(join(all, each));
  }
  return worktrees;
}

/// Of the work tree of a linked one, whose file `gitdir` names the .git file in it.
std::string GitGuard::top_of(const std::string& worktree) {
  const auto written = named_in(join(worktree, "gitdir"), "");
  return written ? settle(dir_of(place_of(worktree, *written))) : worktree;
}

/// What `files` lead to. A relative core.hooksPath begins at the top of the work tree, or in a bare
/// repository itself (git-config(1)).
GitConfig GitGuard::guard_by_config(std::vector<std::string> files, const GitFolder& git) {
  GitConfig config = read_with_includes(std::move(files));
  std::vector<std::string> tops{git.top};
  if (git.place != join(git.top, ".git")) tops.push_back(git.place);
  for (const std::string& each : config.work_trees)
    tops.push_back(settle(place_of(git.place, each)));
  for (const std::string& each : config.hook_folders)
    guard_hook_folder(each, tops);
  return config;
}

/// What holds in every repository.
void GitGuard::guard_users_config() {
  std::vector<std::string> files{place_of("/", "/etc/gitconfig")};
  if (!home_.empty()) {
    files.push_back(place_of("/", home_ + "/.gitconfig"));
    files.push_back(place_of("/", home_ + "/.config/git/config"));
  }
  std::vector<std::string> tops{""};
  for (const GitFolder& each : git_folders_) {
    if (!has(tops, each.top)) tops.push_back(each.top);
  }
  for (const std::string& each : read_with_includes(std::move(files)).hook_folders)
    guard_hook_folder(each, tops);
}

/// All that they say, in one.
GitConfig GitGuard::read_with_includes(std::vector<std::string> files) {
  GitConfig all;
  for (std::size_t i = 0; i < files.size() && i < kMaxFiles; ++i) {
    const std::string file = settle(files[i]);
    const std::optional<std::string> text = read(file);
    if (!text) continue;  // not there, or not to be read: by git neither
    const GitConfig config = parse_git_config(*text);
    all.has_worktree_config = all.has_worktree_config || config.has_worktree_config;
    append(config.hook_folders, all.hook_folders);
    append(config.work_trees, all.work_trees);
    add_includes(config, settle(dir_of(files[i])), files);
  }
  if (files.size() > kMaxFiles) book_.refuse(files.front(), "it includes too many files");
  return all;
}

void GitGuard::add_includes(const GitConfig& config,
                            const std::string& from,
                            std::vector<std::string>& files) {
  for (const std::string& each : config.includes) {
    const std::optional<std::string> written = expand(each);
    const std::string place = written ? place_of(from, *written) : std::string();
    if (place.empty()) continue;
    if (!is_outside(place)) book_.guard({place});
    if (!has(files, place)) files.push_back(place);
  }
}

void GitGuard::guard_hook_folder(const std::string& written, const std::vector<std::string>& tops) {
  const std::optional<std::string> path = expand(written);
  if (!path) return;
  if (path->starts_with('/')) return guard_hooks(place_of("/", *path));
  for (const std::string& top : tops)
    guard_hooks(place_of(top, *path));
}

void GitGuard::guard_hooks(const std::string& place) {
  if (place.empty()) return book_.refuse("", "core.hooksPath is this folder itself");
  if (is_outside(place)) return guard_hooks_outside(place);
  if (!book_.guard({place}).is_inside) guard_hooks_outside(real_path(book_.absolute(place)));
}

/// A hook there may be a link to a script of the project.
void GitGuard::guard_hooks_outside(const std::string& folder) {
  std::error_code error;
  std::size_t count = 0;
  std::filesystem::directory_iterator each(folder, error);
  for (; !error && each != std::filesystem::directory_iterator(); each.increment(error)) {
    if (++count > kMaxHooks) return book_.refuse(folder, "too many files beside git's hooks");
    const std::string place = place_of("/", each->path().string());
    if (!place.empty() && !is_outside(place)) book_.guard({place});
  }
  // Who may search in it but not list it can have its hooks run all the same.
  if (error == std::errc::permission_denied && ::access(folder.c_str(), X_OK) == 0)
    book_.refuse(folder, "its hooks can be run, but not listed");
}

/// Where `written`, found in `from`, leads. Links in the folder are not followed yet.
std::string GitGuard::place_of(const std::string& from, const std::string& written) {
  std::string path = written;
  if (is_outside(from) && !written.starts_with('/')) path = from + "/" + written;
  if (const auto name = book_.name_of(is_outside(from) ? "" : from, path)) return *name;
  return is_outside(path) ? path : book_.absolute(join(from, path));
}

/// The same place without links, as far as it leads through the folder.
std::string GitGuard::settle(const std::string& place) {
  if (place.empty() || is_outside(place)) return place;
  const GuardBook::Found found = book_.follow(place);
  return found.is_inside ? found.name : real_path(book_.absolute(place));
}

/// A link outside is the user's own, and followed.
std::optional<std::string> GitGuard::read(const std::string& place) {
  const Fd file = is_outside(place)
                      ? Fd(::open(place.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC))
                      : open_beneath(book_.root(), place, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file.is_open()) return std::nullopt;
  std::optional<std::string> text = read_small(file.get(), kMaxText);
  if (!text && errno == EFBIG) book_.refuse(place, "it is larger than 1 MiB");
  return text;
}

/// What stands behind `prefix` in the file, which must not be reached through a link.
std::optional<std::string> GitGuard::named_in(const std::string& file, std::string_view prefix) {
  std::optional<std::string> text = read(file);
  if (!text || !text->starts_with(prefix)) return std::nullopt;
  text->erase(0, prefix.size());
  text->erase(text->find_last_not_of("\r\n") + 1);
  return text->empty() ? std::nullopt : text;
}

/// As git does, but for "~name/" and "%(prefix)/", which nothing is found behind.
std::optional<std::string> GitGuard::expand(const std::string& written) const {
  if (written.empty() || written.starts_with("%(prefix)")) return std::nullopt;
  if (!written.starts_with('~')) return written;
  const bool is_home = written == "~" || written.starts_with("~/");
  if (!is_home || home_.empty()) return std::nullopt;
  return home_ + written.substr(1);
}

bool GitGuard::is_there(const std::string& place) const {
  struct stat status {};
  if (is_outside(place)) return ::stat(place.c_str(), &status) == 0;
  return look_beneath(book_.root(), place).has_value();
}

bool GitGuard::is_folder(const std::string& place) const {
  std::error_code error;
  if (is_outside(place)) return std::filesystem::is_directory(place, error);
  const std::optional<struct stat> status = look_beneath(book_.root(), place);
  return status && S_ISDIR(status->st_mode);
}

}  // namespace aegis::confine
