// SPDX-License-Identifier: Apache-2.0 OR MIT
// See guard.h. The folder may be another session's to write at this moment: what is found is
// remembered by its identity, and the watch compares.
#include "confine/guard.h"

#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "confine/beneath.h"
#include "confine/git_config.h"
#include "confine/guard_book.h"
#include "confine/guarded_names.h"

namespace aegis::confine {
namespace {

constexpr std::size_t kMaxText = std::size_t{1} << 20;  // bytes of a configuration file
constexpr std::size_t kMaxFiles = 256;  // configurations that include each other; git folders
constexpr std::size_t kMaxWorktrees = 4096;

template <class T>
bool has(const std::vector<T>& all, const T& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

class Planner {
 public:
  explicit Planner(const GuardOptions& options) : options_(options), book_(options.folder) {}

  Result<GuardPlan> run() {
    guard_folder("");
    guard_home();
    guard_by_users_config();
    for (std::size_t i = 0; i < git_folders_.size(); ++i)
      guard_git_folder(std::string(git_folders_[i]));
    return std::move(book_).finish();
  }

 private:
  using Wanted = GuardBook::Wanted;
  using Found = GuardBook::Found;

  void guard_folder(const std::string& folder) {
    for (const GuardedName& row : kGuardedNames) {
      if (row.base != GuardBase::folder) continue;
      const std::string name = join(folder, std::string(row.name));
      if (row.name == ".git") {
        guard_dot_git(name);
      } else if (row.name == "HEAD" && is_bare(folder)) {
        add_git_folder(folder);
      } else {
        book_.guard({name, row.when_missing});
      }
    }
  }

  void guard_home() {
    if (options_.home.empty() || !is_within(options_.home, options_.folder)) return;
    const std::string home = book_.name_of("", options_.home).value_or("");
    if (!home.empty()) guard_folder(home);
    for (const GuardedName& row : kGuardedNames) {
      if (row.base == GuardBase::home)
        book_.guard({join(home, std::string(row.name)), row.when_missing});
    }
  }

  /// As git does in setup.c (is_git_directory), but for what HEAD holds.
  [[nodiscard]] bool is_bare(const std::string& folder) const {
    const auto is_there = [&](const char* name) {
      return look_beneath(book_.root(), join(folder, name)).has_value();
    };
    return is_there("HEAD") && is_there("objects") && is_there("refs");
  }

  /// A folder, or a file that names one (gitrepository-layout(5)).
  void guard_dot_git(const std::string& name) {
    const Found found = book_.follow(name);
    if (!found.is_inside) return;
    if (found.is_folder()) return add_git_folder(found.name);
    if (!found.status) return book_.watch(found.name);
    book_.hold(found.name);
    add_named_git_folder(found.name, "gitdir: ");
  }

  /// The folder that the file `name` names behind `prefix`.
  void add_named_git_folder(const std::string& name, std::string_view prefix) {
    std::optional<std::string> text = read_small_file(book_.root(), name, kMaxText);
    if (!text || !text->starts_with(prefix)) return;
    text->erase(0, prefix.size());
    text->erase(text->find_last_not_of("\r\n") + 1);
    if (text->empty()) return;
    const std::optional<std::string> inside = book_.name_of(folder_of(name), *text);
    if (!inside) return;
    if (inside->empty()) return add_git_folder("");
    const Found found = book_.follow(*inside);
    if (found.is_folder()) return add_git_folder(found.name);
    if (found.is_inside) book_.guard({found.name});
  }

  void add_git_folder(const std::string& name) {
    if (has(git_folders_, name)) return;
    if (git_folders_.size() == kMaxFiles) return book_.refuse(name, "too many git folders");
    git_folders_.push_back(name);
    book_.self_bind(name);
  }

  void guard_git_folder(const std::string& folder) {
    const bool has_worktree_config = guard_by_config(folder);
    guard_rows(GuardBase::git_folder, folder, has_worktree_config);
    guard_common_dir(folder);
    for (const std::string& worktree : worktrees_of(folder))
      guard_rows(GuardBase::linked_worktree, worktree, has_worktree_config);
  }

  void guard_rows(GuardBase base, const std::string& folder, bool has_worktree_config) {
    for (const GuardedName& row : kGuardedNames) {
      if (row.base != base) continue;
      Wanted wanted{join(folder, std::string(row.name)), row.when_missing};
      if (row.name == "config.worktree" && has_worktree_config)
        wanted.when_missing = WhenMissing::create_file;
      if (row.name == CommonDir::kName) wanted.content = CommonDir::kContent;
      book_.guard(wanted);
    }
  }

  /// Another one than ours names a git folder more.
  void guard_common_dir(const std::string& git_folder) {
    const std::string name = join(git_folder, std::string(CommonDir::kName));
    const std::optional<std::string> text = read_small_file(book_.root(), name, kMaxText);
    if (!text) return;
    if (*text != CommonDir::kContent) return add_named_git_folder(name, "");
    // Without a share somebody may remove the file under us: then the watch tells.
    if (auto share = CommonDir::share(book_.root(), git_folder)) book_.keep(*std::move(share));
  }

  /// Their git folders lie in the main repository's; they themselves may lie anywhere.
  std::vector<std::string> worktrees_of(const std::string& folder) {
    std::vector<std::string> worktrees;
    const std::string all = join(folder, "worktrees");
    const std::vector<std::string> names = list_folder(book_.root(), all, kMaxWorktrees + 1);
    if (names.size() > kMaxWorktrees) book_.refuse(all, "too many worktrees; git worktree prune");
    for (const std::string& each : names) {
      const std::optional<struct stat> status = look_beneath(book_.root(), join(all, each));
      if (status && S_ISDIR(status->st_mode)) worktrees.push_back(join(all, each));
    }
    return worktrees;
  }

  /// What the configuration of a git folder leads to. Whether each worktree has one of its own.
  bool guard_by_config(const std::string& folder) {
    std::vector<std::string> files{join(folder, "config"), join(folder, "config.worktree")};
    bool has_worktree_config = false;
    for (std::size_t i = 0; i < files.size() && i < kMaxFiles; ++i) {
      const std::optional<GitConfig> config = read_config(files[i]);
      if (!config) continue;
      has_worktree_config = has_worktree_config || config->has_worktree_config;
      guard_hook_folders(*config, folder);
      for (const std::string& each : config->includes) {
        const Found found = guard_written(folder_of(files[i]), each);
        if (found.is_inside && !has(files, found.name)) files.push_back(found.name);
      }
    }
    if (files.size() > kMaxFiles) book_.refuse(folder, "its config includes too many files");
    return has_worktree_config;
  }

  std::optional<GitConfig> read_config(const std::string& name) {
    const std::optional<std::string> text = read_small_file(book_.root(), name, kMaxText);
    if (text) return parse_git_config(*text);
    if (errno == EFBIG) book_.refuse(name, "it is larger than 1 MiB");
    return std::nullopt;  // not there, or not to be read: by git neither
  }

  void guard_hook_folders(const GitConfig& config, const std::string& git_folder) {
    for (const std::string& each : config.hook_folders) {
      guard_hook_folder("", each);                                    // from the worktree's top
      if (git_folder != ".git") guard_hook_folder(git_folder, each);  // from a bare one's own
    }
  }

  void guard_hook_folder(const std::string& from, const std::string& written) {
    const Found found = guard_written(from, written);
    if (found.is_inside && found.name.empty())
      book_.refuse("", "core.hooksPath is this folder itself");
  }

  /// A core.hooksPath of the user's holds in every repository.
  void guard_by_users_config() {
    std::vector<std::string> files{"etc/gitconfig"};
    if (!options_.home.empty()) {
      files.push_back(options_.home.substr(1) + "/.gitconfig");
      files.push_back(options_.home.substr(1) + "/.config/git/config");
    }
    const Fd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    for (const std::string& file : files) {
      const std::optional<std::string> text = read_small_file(root.get(), file, kMaxText);
      if (!text) continue;
      for (const std::string& each : parse_git_config(*text).hook_folders)
        guard_hook_folder("", each);
    }
  }

  /// A path as a configuration in `from` has it. git replaces "~/" and "%(prefix)/".
  Found guard_written(const std::string& from, const std::string& written) {
    std::string path = written;
    if (path.starts_with("~/") && !options_.home.empty()) path.replace(0, 1, options_.home);
    if (path.empty() || path.starts_with('~') || path.starts_with("%(prefix)")) return {};
    const std::optional<std::string> inside = book_.name_of(from, path);
    if (!inside) return {};
    if (inside->empty()) return {true};
    return book_.guard({*inside});
  }

  const GuardOptions& options_;
  GuardBook book_;
  std::vector<std::string> git_folders_;  // the later ones still to be guarded
};

std::vector<std::string> absolute(const std::string& folder,
                                  const std::vector<GuardPlan::Held>& names) {
  std::vector<std::string> paths;
  std::transform(names.begin(), names.end(), std::back_inserter(paths), [&](const auto& each) {
    return join(folder, each.name);
  });
  return paths;
}

}  // namespace

std::vector<std::string> GuardPlan::self_bound_paths() const {
  return absolute(folder, self_bound);
}

std::vector<std::string> GuardPlan::read_only_paths() const {
  return absolute(folder, read_only);
}

Result<GuardPlan> plan_guard(const GuardOptions& options) {
  return Planner(options).run();
}

bool leads_to_guarded(std::string_view path) {
  const std::vector<std::string> parts = split_path(path);
  const auto is_same = [](const std::string& left, const std::string& right) {
    return ::strcasecmp(left.c_str(), right.c_str()) == 0;
  };
  for (const GuardedName& row : kGuardedNames) {
    const bool is_by_name = row.base == GuardBase::folder || row.base == GuardBase::home;
    if (!is_by_name || row.name == "HEAD") continue;  // HEAD tells a bare repository
    const std::vector<std::string> name = split_path(row.name);
    for (auto at = parts.begin(); at != parts.end(); ++at) {
      const auto count = std::min(parts.end() - at, name.end() - name.begin());
      if (std::equal(at, at + count, name.begin(), is_same)) return true;
    }
  }
  return false;
}

}  // namespace aegis::confine
