// SPDX-License-Identifier: Apache-2.0 OR MIT
// Each wish becomes a target of its own, the file or the folder; then targets are folded into
// folders as long as none of these is too wide. What a program named by a link is named so again,
// since only then the link is there for it.
#include "confine/explain.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "confine/command.h"

namespace aegis::confine {
namespace {

using Need = Wish::Need;
using Kind = Wish::Kind;
using Paths = std::set<std::string>;

/// What every confined program has of its own, or does without: a look at the processors and at the
/// memory of a cgroup is what runtimes begin with, and the C library at files of its own.
constexpr std::string_view kOwn[] = {"/proc",
                                     "/dev",
                                     "/sys/devices/system",
                                     "/sys/fs",
                                     "/sys/kernel",
                                     "/etc/passwd",
                                     "/etc/group",
                                     "/etc/hosts",
                                     "/etc/hostname",
                                     "/etc/resolv.conf",
                                     "/etc/nsswitch.conf",
                                     "/etc/gai.conf",
                                     "/etc/host.conf",
                                     "/etc/locale.alias"};
/// Folders that many programs keep things in, besides all those of the root.
constexpr std::string_view kShared[] = {"/etc/ssl",
                                        "/etc/pki",
                                        "/usr/lib",
                                        "/usr/local",
                                        "/usr/share",
                                        "/var/cache",
                                        "/var/lib",
                                        "/var/log",
                                        "/var/run",
                                        "/var/tmp",
                                        "/run/user"};
/// The same in the home folder.
constexpr std::string_view kSharedAtHome[] = {".cache",
                                              ".config",
                                              ".local",
                                              ".local/lib",
                                              ".local/share",
                                              ".local/state",
                                              "Documents",
                                              "Desktop",
                                              "Downloads"};
constexpr std::string_view kCaches = ".cache";
constexpr std::string_view kNodeModules = "/node_modules/";

constexpr std::size_t kFilesForFolder = 2;   // of one folder: then the folder
constexpr std::size_t kPlacesForParent = 3;  // files or folders in one: then that one

template <std::size_t Size>
bool is_in_any(std::string_view path, const std::string_view (&folders)[Size]) {
  return std::any_of(std::begin(folders), std::end(folders), [path](std::string_view folder) {
    return is_within(path, folder);
  });
}

/// `path` or the nearest above it that is in `folders`; null when there is none.
const std::string* find_above(const Paths& folders, std::string path) {
  for (;;) {
    if (const auto found = folders.find(path); found != folders.end()) return &*found;
    if (path == "/") return nullptr;
    path = parent_of(path);
  }
}

class Explainer {
 public:
  explicit Explainer(const Watched& watched) : watched_(watched) {}

  Explanation explain() {
    for (const Wish& wish : watched_.wishes)
      take(wish);
    for (Paths& targets : targets_)
      fold(targets);
    for (const Wish* wish : wanted_)
      name(*wish);
    list_grants();
    list_looks();
    return std::move(explanation_);
  }

 private:
  Paths& targets(Need need) { return targets_[static_cast<std::size_t>(need)]; }

  [[nodiscard]] bool is_allowed(std::string_view path, Need need) const {
    const PathGrant* grant = watched_.grants.find(path);
    if (grant == nullptr) return false;
    if (need == Need::write) return grant->rights.may_write;
    return need != Need::execute || grant->rights.may_execute;
  }
  /// Whether the name that the program used leads there too.
  [[nodiscard]] bool is_named(const Wish& wish) const {
    if (wish.link.empty() || watched_.grants.find(wish.link) != nullptr) return true;
    const std::vector<LinkOnTheWay>& links = watched_.grants.links;
    return std::any_of(links.begin(), links.end(), [&wish](const LinkOnTheWay& link) {
      return link.path == wish.link;
    });
  }

  [[nodiscard]] bool holds_hidden(const std::string& folder) const {
    const std::string first = folder + "/";
    const auto found = std::lower_bound(watched_.hidden.begin(), watched_.hidden.end(), first);
    return found != watched_.hidden.end() && found->compare(0, first.size(), first) == 0;
  }
  [[nodiscard]] bool is_hidden(std::string_view path) const {
    return std::any_of(watched_.hidden.begin(), watched_.hidden.end(), [path](const auto& each) {
      return is_within(path, each);
    });
  }
  /// Too much to be granted for the sake of what is in it.
  [[nodiscard]] bool is_wide(const std::string& folder) const {
    const bool is_top = std::count(folder.begin(), folder.end(), '/') < 2;
    if (is_top || parent_of(folder) == "/home" || holds_hidden(folder)) return true;
    if (std::find(std::begin(kShared), std::end(kShared), folder) != std::end(kShared)) return true;
    const std::string_view home = watched_.home;
    if (home.empty()) return false;
    if (is_within(home, folder)) return true;
    if (!is_within(folder, home)) return false;
    const std::string_view in_home = std::string_view(folder).substr(home.size() + 1);
    return std::find(std::begin(kSharedAtHome), std::end(kSharedAtHome), in_home) !=
           std::end(kSharedAtHome);
  }

  /// Whether there is nothing to be said of it: it is had, or never to be had.
  [[nodiscard]] bool is_settled(const Wish& wish) const {
    if (is_in_any(wish.path, kOwn) || is_in_any(wish.written, kOwn)) return true;
    // Nothing but reading can be granted there (grants.h).
    if (wish.need > Need::read && is_within(wish.path, "/sys")) return true;
    return wish.kind == Kind::other || (is_allowed(wish.path, wish.need) && is_named(wish));
  }
  [[nodiscard]] bool is_secret(const Wish& wish) const {
    return is_hidden(wish.path) || is_any_sensitive(wish.path, watched_.is_sensitive) ||
           is_any_sensitive(wish.written, watched_.is_sensitive);
  }

  void take(const Wish& wish) {
    if (is_settled(wish)) return;
    if (wish.need == Need::look) {
      looks_.push_back(&wish);
    } else if (is_secret(wish)) {
      explanation_.secrets.insert(wish.written);
    } else {
      wanted_.push_back(&wish);
      if (!is_allowed(wish.path, wish.need)) take_target(wish);  // else only its name is missing
    }
  }

  void take_target(const Wish& wish) {
    if (wish.need == Need::write) {
      take_written(wish);
    } else {
      take_read(wish);
    }
  }

  /// A folder that belongs to one program as a whole, whatever was wanted in there.
  [[nodiscard]] std::optional<std::string> find_whole(const std::string& path) const {
    const std::size_t modules = path.find(kNodeModules);
    std::string whole;
    if (modules != std::string::npos) {
      whole = path.substr(0, modules + kNodeModules.size() - 1);
    } else if (!watched_.home.empty()) {
      const std::string caches = std::string(watched_.home).append("/").append(kCaches);
      if (path == caches || !is_within(path, caches)) return std::nullopt;
      const std::size_t end = path.find('/', caches.size() + 1);
      if (end == std::string::npos) return std::nullopt;
      whole = path.substr(0, end);
    }
    if (whole.empty() || is_wide(whole)) return std::nullopt;
    return whole;
  }

  void take_read(const Wish& wish) {
    if (const auto whole = find_whole(wish.path)) {
      targets(wish.need).insert(*whole);
    } else if (wish.kind == Kind::folder && is_wide(wish.path)) {
      explanation_.too_wide.insert(wish.path);
    } else {
      targets(wish.need).insert(wish.path);
      if (wish.kind == Kind::file) ++files_[{wish.need, parent_of(wish.path)}];
    }
  }

  /// Programs write beside the file and rename, so it is the folder that must be writable.
  void take_written(const Wish& wish) {
    const std::string folder = wish.kind == Kind::folder ? wish.path : parent_of(wish.path);
    if (const auto whole = find_whole(wish.path); whole && *whole != wish.path) {
      targets(Need::write).insert(*whole);
    } else if (!is_wide(folder)) {
      targets(Need::write).insert(folder);
    } else if (wish.kind == Kind::folder) {
      explanation_.too_wide.insert(wish.path);
    } else {
      // One that would be shared is only made: what is wanted in there shows the next time.
      const bool is_shared = wish.kind == Kind::absent_folder && is_wide(wish.path);
      if (!is_shared) targets(Need::write).insert(wish.path);
      if (wish.kind == Kind::absent_folder) explanation_.folders_to_make.insert(wish.path);
      if (wish.kind == Kind::absent_file) explanation_.files_to_make.insert(wish.path);
    }
  }

  /// Until no folder has so many targets in it that it stands for them.
  void fold(Paths& targets) {
    const Need need{static_cast<std::uint8_t>(&targets - targets_.data())};
    for (bool is_changed = true; is_changed;) {
      std::map<std::string, std::size_t> count;
      for (const std::string& target : targets)
        ++count[parent_of(target)];
      is_changed = false;
      for (const auto& [folder, places] : count) {
        const auto files = files_.find({need, folder});
        const bool has_files = files != files_.end() && files->second >= kFilesForFolder;
        if ((places < kPlacesForParent && !has_files) || is_wide(folder)) continue;
        is_changed |= targets.insert(folder).second;
      }
      drop_inner(targets);
    }
  }

  /// What lies in another target; sorted, a folder stands before what is in it.
  static void drop_inner(Paths& targets) {
    Paths kept;
    for (const std::string& target : targets) {
      if (find_above(kept, target) == nullptr) kept.insert(target);
    }
    targets = std::move(kept);
  }

  /// By which names the target of a wish must be granted.
  void name(const Wish& wish) {
    Paths& names = names_[wish.need];
    const std::string* target = find_above(targets(wish.need), wish.path);
    if (is_named(wish)) {
      if (target != nullptr) names.insert(*target);
      return;
    }
    // To grant the link is to grant all that it leads to.
    const bool is_link_enough = is_allowed(wish.link_target, wish.need) ||
                                (target != nullptr && is_within(wish.link_target, *target));
    names.insert(is_link_enough ? wish.link : wish.written);
    if (target != nullptr && is_link_enough && wish.link_target != *target) names.insert(*target);
  }

  void list_grants() {
    struct Row {
      Need need;
      std::string_view flag;
    };
    constexpr Row kRows[] = {{Need::read, "--allow-read"},
                             {Need::write, "--allow-write"},
                             {Need::execute, "--allow-exec"}};
    const Paths& writable = names_[Need::write];
    const Paths& executable = names_[Need::execute];
    for (const Row& row : kRows) {
      for (const std::string& path : names_[row.need]) {
        const bool is_held = row.need == Need::read && (find_above(writable, path) != nullptr ||
                                                        find_above(executable, path) != nullptr);
        if (!is_held) explanation_.grants.push_back({row.flag, path});
      }
    }
  }

  [[nodiscard]] bool leads_to_grant(const std::string& folder) const {
    const auto is_in = [&folder](const std::string& path) { return is_within(path, folder); };
    const std::vector<PathGrant>& all = watched_.grants.paths;
    return is_in(std::string(watched_.home)) ||
           std::any_of(
               all.begin(), all.end(), [&](const PathGrant& each) { return is_in(each.path); }) ||
           std::any_of(explanation_.grants.begin(),
                       explanation_.grants.end(),
                       [&](const Explanation::Grant& each) { return is_in(each.path); });
  }

  void list_looks() {
    for (const Wish* look : looks_) {
      const bool is_granted = std::any_of(
          explanation_.grants.begin(), explanation_.grants.end(), [look](const auto& each) {
            return is_within(look->path, each.path) || is_within(look->written, each.path);
          });
      if (is_granted || leads_to_grant(look->path) || leads_to_grant(look->written)) continue;
      explanation_.looked_at.insert(look->written);
    }
  }

  const Watched& watched_;
  Explanation explanation_;
  std::vector<const Wish*> wanted_;
  std::vector<const Wish*> looks_;
  std::array<Paths, 4> targets_;                               // by need
  std::map<std::pair<Need, std::string>, std::size_t> files_;  // wanted in a folder
  std::map<Need, Paths> names_;
};

bool is_granted(const std::vector<NetGrant>& grants, const NetGrant& wanted) {
  return std::find(grants.begin(), grants.end(), wanted) != grants.end();
}

}  // namespace

Explanation explain(const Watched& watched) {
  return Explainer(watched).explain();
}

void NetWishes::note(const NetReport& report) {
  switch (report.kind) {
    case NetReport::Kind::refused_connect: {
      const NetGrant grant{to_text(report.endpoint.address), report.endpoint.port};
      if (!is_granted(granted_, grant)) grants_.insert(to_text(grant));
      return;
    }
    case NetReport::Kind::refused_name: {
      const std::string name(report.name_view());
      const bool is_known = std::any_of(
          granted_.begin(), granted_.end(), [&](const auto& each) { return each.host == name; });
      if (!is_known) names_.insert(name);
      return;
    }
    case NetReport::Kind::refused_socket:
      // The C library asks for this one at every look-up, and does without it.
      if (report.family != AF_NETLINK) refused_.insert(describe(report));
      return;
    case NetReport::Kind::connected:
    case NetReport::Kind::refused_bind:
    case NetReport::Kind::refused_answer:
      return;
  }
}

}  // namespace aegis::confine
