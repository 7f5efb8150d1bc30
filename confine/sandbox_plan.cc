// SPDX-License-Identifier: Apache-2.0 OR MIT
// See sandbox_plan.h.
#include "confine/sandbox_plan.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "confine/root.h"

namespace aegis::confine {
namespace {

/// Programs may lie in them too (git's, gcc's): those can be run, the manual says so.
constexpr std::string_view kLibraries[] = {"/lib",
                                           "/lib32",
                                           "/lib64",
                                           "/libx32",
                                           "/usr/lib",
                                           "/usr/lib32",
                                           "/usr/lib64",
                                           "/usr/libx32",
                                           "/usr/libexec"};
constexpr std::string_view kData[] = {"/usr/share",
                                      "/usr/include",
                                      "/etc/alternatives",  // links: a library may lie behind one
                                      "/etc/ld.so.cache",
                                      "/etc/localtime",
                                      "/etc/timezone"};
/// Where these are links to where the programs are, a listed program is found by them too.
constexpr std::string_view kProgramLinks[] = {"/bin", "/sbin", "/usr/sbin"};

constexpr std::string_view kEnvironment[] = {"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
                                             "LANG=C.UTF-8",
                                             "HOME=/tmp",
                                             "TMPDIR=/tmp"};

// What no policy says. /tmp is memory, like all else that the program uses.
constexpr std::uint64_t kMaxScratch = 64ULL << 20U;
constexpr std::uint64_t kMaxScratchFiles = 4096;
constexpr std::uint64_t kMaxOpenFiles = 1024;
constexpr std::uint64_t kMaxFileSize = 1ULL << 30U;
// What the kernel counts beside the program's own: an entry of the copy, and the first process.
constexpr std::uint64_t kMemoryOfEntry = 2048;
constexpr std::uint64_t kMemoryOfInit = 8ULL << 20U;
constexpr std::uint64_t kMappedBeside = 256ULL << 20U;  // libraries, files, guard pages
constexpr std::uint64_t kMaxStack = 8ULL << 20U;        // what is usual
/// Of what may be written all names are looked at, for those that are to be hidden in it.
constexpr std::size_t kMaxWritableEntries = 200'000;
constexpr std::size_t kMaxWritableDepth = 4096;  // no path is deeper (PATH_MAX)

std::string place_of(const std::string& path) {
  return path.empty() ? kWorkspacePlace : std::string(kWorkspacePlace) + "/" + path;
}

/// Without empty and "." components.
std::string tidied(std::string_view path) {
  std::string made;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (name.empty() || name == ".") continue;
    if (!made.empty()) made += '/';
    made += name;
  }
  return made;
}

bool is_below(std::string_view path, std::string_view folder) {
  if (folder.empty()) return !path.empty();
  return path.size() > folder.size() && path[folder.size()] == '/' &&
         path.substr(0, folder.size()) == folder;
}

class Planner {
 public:
  explicit Planner(const SandboxOrder& order) : order_(order) {}

  std::variant<SandboxPlan, PathFault, Error> plan() {
    for (const std::string& path : outermost(order_.writable)) {
      if (const auto fault = bind(path)) return *fault;
    }
    if (auto failed = hide_in_binds()) {
      if (const PathFault* fault = std::get_if<PathFault>(&*failed)) return *fault;
      return std::get<Error>(*std::move(failed));
    }
    if (auto copied = copy(); !copied) return std::move(copied).error();
    add_paths();
    fill();
    return std::move(plan_);
  }

 private:
  /// Without those that lie in another.
  static std::vector<std::string> outermost(const std::vector<std::string>& written) {
    std::vector<std::string> paths;
    std::transform(written.begin(), written.end(), std::back_inserter(paths), tidied);
    std::sort(paths.begin(), paths.end());
    std::vector<std::string> kept;
    for (std::string& each : paths) {
      const auto holds = [&each](const std::string& other) {
        return each == other || is_below(each, other);
      };
      if (std::none_of(kept.begin(), kept.end(), holds)) kept.push_back(std::move(each));
    }
    return kept;
  }

  std::optional<PathFault> bind(const std::string& path) {
    auto found = order_.workspace->resolve(path);
    if (const PathFault* fault = std::get_if<PathFault>(&found)) return *fault;
    PathGrant grant = std::get<PathGrant>(std::move(found));
    grant.rights = {.may_write = true};
    written_.push_back(path);
    worker().binds.push_back({std::move(grant), place_of(path)});
    return std::nullopt;
  }

  /// The real folder holds what the copy leaves out.
  std::optional<std::variant<PathFault, Error>> hide_in_binds() {
    std::set<std::string> hidden;
    const Workspace::IsHidden note = [&](std::string_view path) {
      if (!order_.is_left_out || !order_.is_left_out(path)) return false;
      hidden.emplace(path);
      return true;
    };
    for (std::size_t i = 0; i < written_.size(); ++i) {
      if (!worker().binds[i].source.is_directory) continue;
      const auto listed = order_.workspace->list(
          written_[i],
          {kMaxWritableDepth, kMaxWritableEntries, Workspace::ListOptions::Dotted::shown},
          note);
      if (const PathFault* fault = std::get_if<PathFault>(&listed)) return *fault;
      if (std::get<FolderList>(listed).is_cut) {
        return refusal("look for what is to be hidden",
                       place_of(written_[i]),
                       "it holds too much, or what cannot be read; name a folder in it");
      }
    }
    for (const std::string& each : hidden)
      worker().hidden.push_back(place_of(each));
    return std::nullopt;
  }

  Result<void> copy() {
    const auto is_left_out = [this](std::string_view path) {
      const auto holds = [path](const std::string& folder) { return is_below(path, folder); };
      return std::any_of(written_.begin(), written_.end(), holds) ||
             (order_.is_left_out && order_.is_left_out(path));
    };
    worker().copy = AEGIS_TRY(order_.workspace->snapshot(order_.snapshot, is_left_out));
    plan_.left_out = worker().copy.left_out;
    for (std::size_t i = 0; i < written_.size(); ++i)
      make_place(written_[i], worker().binds[i].source.is_directory);
    return {};
  }

  void add_paths() {
    const auto add = [this](std::string_view path, Rights rights) {
      // What is not there, no program of this host needs.
      if (auto resolved = resolve_grant(path, rights))
        plan_.spec.paths.add(std::move(resolved).value());
    };
    for (const std::string_view each : kLibraries)
      add(each, {.may_execute = true});
    for (const std::string_view each : kData)
      add(each, {});
    for (ResolvedPath each : order_.binaries) {
      each.grant.rights = {.may_execute = true};
      plan_.spec.paths.add(std::move(each));
    }
    for (const std::string_view each : kProgramLinks) {
      if (auto resolved = resolve_grant(each, {}))
        plan_.spec.paths.add_links(std::move(resolved->links));
    }
  }

  void fill() {
    Spec& spec = plan_.spec;
    spec.argv = order_.argv;
    spec.program = order_.program;
    spec.environment.assign(std::begin(kEnvironment), std::end(kEnvironment));
    spec.working_directory = kWorkspacePlace;
    spec.home = "/tmp";
    Bounds& bounds = spec.bounds;
    bounds.memory = order_.bounds.memory;
    bounds.is_memory_asked_for = true;
    bounds.memory_beside =
        size_of_copy(worker().copy) + worker().copy.entries.size() * kMemoryOfEntry + kMemoryOfInit;
    // RLIMIT_DATA knows nothing of shared memory without a file, nor of the stack.
    bounds.address_space = order_.bounds.memory + kMappedBeside;
    bounds.stack = kMaxStack;
    bounds.processes = order_.bounds.processes;
    bounds.is_processes_asked_for = true;
    bounds.file_size = kMaxFileSize;
    bounds.open_files = kMaxOpenFiles;
    bounds.scratch = std::min(kMaxScratch, order_.bounds.memory / 2);
    bounds.new_files = kMaxScratchFiles;
  }

  /// In the copy, which may have left it out, with the folders on the way.
  void make_place(const std::string& path, bool is_folder) {
    std::vector<Snapshot::Entry>& entries = worker().copy.entries;
    for (std::size_t end = 0; end < path.size();) {
      end = std::min(path.find('/', end + 1), path.size());
      Snapshot::Entry entry;
      entry.path = path.substr(0, end);
      entry.is_folder = is_folder || end < path.size();
      const auto is_there = [&entry](const auto& each) { return each.path == entry.path; };
      if (std::none_of(entries.begin(), entries.end(), is_there))
        entries.push_back(std::move(entry));
    }
  }

  WorkerFiles& worker() {
    if (!plan_.spec.worker) plan_.spec.worker.emplace();
    return *plan_.spec.worker;
  }

  const SandboxOrder& order_;
  SandboxPlan plan_;
  std::vector<std::string> written_;  // as WorkerFiles::binds
};

}  // namespace

std::variant<SandboxPlan, PathFault, Error> plan_sandbox(const SandboxOrder& order) {
  return Planner(order).plan();
}

}  // namespace aegis::confine
