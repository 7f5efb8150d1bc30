// SPDX-License-Identifier: Apache-2.0 OR MIT
// See guard.h. The folder may be another session's to write at this moment: what is found is
// remembered by its identity, and the watch compares.
#include "confine/guard.h"

#include <strings.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "confine/beneath.h"
#include "confine/guard_book.h"
#include "confine/guard_git.h"
#include "confine/guarded_names.h"

namespace aegis::confine {
namespace {

class Planner {
 public:
  explicit Planner(const GuardOptions& options)
      : options_(options), book_(options.folder), git_(book_, options.home) {}

  Result<GuardPlan> run() {
    guard_folder("");
    guard_home();
    git_.add_above();
    git_.guard_all();
    return std::move(book_).finish();
  }

 private:
  void guard_folder(const std::string& folder) {
    for (const GuardedName& row : kGuardedNames) {
      if (row.base != GuardBase::folder) continue;
      const std::string name = join(folder, std::string(row.name));
      if (row.name == ".git") {
        git_.add_dot_git(name);
      } else if (row.name != "HEAD" || !git_.add_bare(folder)) {
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

  const GuardOptions& options_;
  GuardBook book_;
  GitGuard git_;
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
