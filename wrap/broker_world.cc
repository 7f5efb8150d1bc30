// SPDX-License-Identifier: Apache-2.0 OR MIT
// Loading, and the looks that need more than a request's words.
#include "wrap/broker_world.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "confine/guard.h"
#include "mcp/json/canonical.h"
#include "policy/sensitive.h"
#include "wrap/log.h"
#include "wrap/places.h"
#include "wrap/read_file.h"

namespace aegis::wrap {
namespace {

using confine::refusal;
using confine::Result;
using mcp::BrokerCode;
using mcp::Refused;

constexpr std::string_view kReading = "read the broker's policy";
/// One byte more than a policy may have, so that its parser sees that it is too large.
constexpr std::size_t kMaxRead = (std::size_t{1} << 20) + 1;
/// Of a folder that is lent to a program, all of which is looked through first, to its depth.
constexpr confine::Workspace::ListOptions kLent{
    .max_depth = std::numeric_limits<std::size_t>::max(),
    .max_entries = 10'000,
    .dotted = confine::Workspace::ListOptions::Dotted::shown};

Result<policy::BrokerPolicy> read_policy(const std::string& path, std::string_view doing) {
  if (path.empty()) return refusal(kReading, "''", "an empty path names nothing");
  const confine::Fd file = AEGIS_TRY(open_regular(kReading, path));
  const std::string text = AEGIS_TRY(read_up_to(file, {kReading, path, kMaxRead}));
  struct stat status {};
  if (::fstat(file.get(), &status) == 0 && (status.st_mode & S_IWOTH) != 0) {
    log(std::string(doing) + ": policy: " + path +
        ": anybody on this machine can write it, and so allow what they like; chmod o-w");
  }
  policy::LoadedBrokerPolicy loaded = policy::parse_broker_policy(text);
  for (const policy::Diagnostic& each : loaded.diagnostics)
    log(std::string(doing) + ": policy: " + policy::describe(each, path));
  if (loaded.policy) return *std::move(loaded.policy);
  return refusal(kReading, path, "it is not used; mend what is said above");
}

/// `folder`/`written` without empty components and ".", which would hide that the last one is a
/// link. A ".." stays: what it leads to is the kernel's to say.
std::string join(const std::string& folder, std::string_view written) {
  const std::string joined =
      written.starts_with('/') ? std::string(written) : folder + "/" + std::string(written);
  std::string path;
  for (std::size_t at = 0; at < joined.size();) {
    const std::size_t end = std::min(joined.find('/', at), joined.size());
    const std::string_view part = std::string_view(joined).substr(at, end - at);
    if (!part.empty() && part != ".") path.append("/").append(part);
    at = end + 1;
  }
  return path.empty() ? "/" : path;
}

Result<std::string> workspace_root(const std::string& policy_path, const std::string& written) {
  const std::string folder = folder_of(policy_path);
  std::error_code error;
  const std::filesystem::path base = std::filesystem::canonical(folder, error);
  if (error) return confine::code_error("find the policy's folder", folder, error.value());
  return join(base.string(), written);
}

/// They go on the record, whose Lines have bounds.
Result<void> check_revealed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 255;  // NAME_MAX: no file's name is longer
  constexpr std::size_t kMostNames = 16;
  if (names.size() > kMostNames) {
    return confine::Error{"--reveal: more than " + std::to_string(kMostNames) +
                          " names; keep secrets out of the workspace instead"};
  }
  for (const std::string& name : names) {
    const bool is_name = !name.empty() && name.size() <= kMost && mcp::json::is_encodable(name) &&
                         name.find('/') == std::string::npos && escape_controls(name) == name;
    if (!is_name) {
      return confine::Error{"--reveal: '" + name +
                            "': the name of one file or folder is expected, such as .env"};
    }
  }
  return {};
}

mcp::CatalogueBounds bounds_of(const policy::BrokerPolicy& policy, const FoundBinaries& binaries) {
  return {policy.paths.max_file_read_bytes,
          policy.execution.max_timeout_seconds,
          policy.execution.max_output_bytes,
          policy.execution.max_memory_mb,
          binaries.names()};
}

/// What is not there, or is a link, cannot be lent.
confine::PathGrants reach_of(const policy::BrokerPolicy& policy,
                             const confine::Workspace& workspace) {
  confine::PathGrants reach;
  const auto add = [&](const std::string& path, confine::Rights rights) {
    auto found = workspace.resolve(path);
    auto* grant = std::get_if<confine::PathGrant>(&found);
    if (grant == nullptr) return;
    grant->rights = rights;
    reach.add({std::move(*grant), {}});
  };
  add("", {});
  if (!policy.allows(mcp::Operation::run_command)) return reach;
  for (const std::string& path : policy.execution.allowed_paths)
    add(path, {.may_write = true});
  return reach;
}

/// What both of two lists of subpaths allow, each of which allows all when it is empty.
std::vector<std::string> meet(const std::vector<std::string>& left,
                              const std::vector<std::string>& right) {
  std::vector<std::string> both;
  const auto add = [&both](const auto& paths, const auto& others) {
    for (const std::string& path : paths) {
      if (policy::place_of(path, others) == policy::Place::inside) both.push_back(path);
    }
  };
  add(left, right);
  add(right, left);
  std::sort(both.begin(), both.end());
  both.erase(std::unique(both.begin(), both.end()), both.end());
  return both;
}

std::vector<std::string> told(std::vector<std::string> paths) {
  if (paths.empty()) paths.emplace_back();
  for (std::string& path : paths)
    path = in_workspace(path);
  return paths;
}

/// Allowed by themselves, and nothing by both.
bool is_nothing(const policy::BrokerPolicy& policy) {
  const auto& subpaths = policy.paths.allowed_subpaths;
  const auto& paths = policy.execution.allowed_paths;
  return !subpaths.empty() && !paths.empty() && meet(subpaths, paths).empty();
}

std::vector<std::string> readable_by_commands(const policy::BrokerPolicy& policy) {
  if (is_nothing(policy)) return {};
  return told(meet(policy.paths.allowed_subpaths, policy.execution.allowed_paths));
}

/// Why a folder with this in it, found to its depth, is not lent to a program.
std::optional<Refused> refuse_content(const confine::FolderList& list) {
  if (list.hidden != 0) {
    return Refused{BrokerCode::sensitive_target_denied,
                   "a writable folder holds names that no operation may see (" +
                       std::to_string(list.hidden) +
                       "), and the program would see them; name a folder or file without them"};
  }
  if (list.many_links != 0) {
    return Refused{BrokerCode::path_boundary_violation,
                   "a writable folder holds files with a second name (hard links: " +
                       std::to_string(list.many_links) +
                       "), which may lie outside of the workspace; name a folder or file without "
                       "them"};
  }
  if (list.is_cut) {
    return Refused{BrokerCode::operation_not_permitted,
                   "a writable folder cannot be looked through to its end: it holds more than " +
                       std::to_string(kLent.max_entries) +
                       " entries, or a folder that cannot be read; name a smaller one"};
  }
  return std::nullopt;
}

}  // namespace

std::string in_workspace(std::string_view path) {
  constexpr std::string_view kLabel = "workspace";
  std::string told(kLabel);
  if (!path.empty()) told.append("/").append(path);
  return told;
}

BrokerWorld::BrokerWorld(policy::BrokerPolicy policy,
                         confine::Workspace workspace,
                         const BrokerOptions& options)
    : policy_(std::move(policy)),
      workspace_(std::move(workspace)),
      binaries_(policy_.execution.allowed_binaries),
      revealed_(options.revealed),
      reach_(reach_of(policy_, workspace_)),
      readable_(told(policy_.paths.allowed_subpaths)),
      commands_read_(readable_by_commands(policy_)),
      hash_(audit::PolicySetHash::of(policy_.canonical_form())),
      bounds_(bounds_of(policy_, binaries_)) {
  if (policy_.allows(mcp::Operation::run_python)) python_ = find_binary(kPython);
  const auto home = home_folder();
  auto resolved = home ? confine::resolve_grant(*home, {}) : home.error();
  if (resolved) home_ = std::move(resolved->grant.path);
}

Result<std::unique_ptr<BrokerWorld>> BrokerWorld::load(const BrokerOptions& options,
                                                       std::string_view doing) {
  AEGIS_TRY(check_revealed(options.revealed));
  policy::BrokerPolicy policy = AEGIS_TRY(read_policy(options.policy, doing));
  const std::string root = AEGIS_TRY(workspace_root(options.policy, policy.workspace_root));
  confine::Workspace workspace = AEGIS_TRY(confine::Workspace::open(root));
  auto world = std::make_unique<BrokerWorld>(std::move(policy), std::move(workspace), options);
  AEGIS_TRY(world->check_programs());
  world->say_what_is_missing(doing);
  return world;
}

Result<void> BrokerWorld::check_programs() const {
  for (const confine::ResolvedPath& file : binaries_.files()) {
    if (!confine::is_within(file.grant.path, workspace_.root())) continue;
    return refusal("take the broker's programs",
                   file.grant.path,
                   "it lies in the workspace, where a run may be given to write it anew; list one "
                   "that lies elsewhere");
  }
  return {};
}

std::vector<std::string> BrokerWorld::programs() const {
  std::vector<confine::ResolvedPath> files = binaries_.files();
  if (python_) files.push_back(*python_);
  std::vector<std::string> paths;
  for (confine::ResolvedPath& file : files) {
    paths.push_back(std::move(file.grant.path));
    for (confine::LinkOnTheWay& link : file.links)
      paths.push_back(std::move(link.path));
  }
  return paths;
}

void BrokerWorld::say_what_is_missing(std::string_view doing) const {
  const auto say = [doing](std::string_view what, std::string_view why) {
    log(std::string(doing).append(": ").append(what).append(": ").append(why));
  };
  for (const std::string& name : binaries_.missing())
    say("allowed_binaries: " + name, "no such program here; requests for it will be refused");
  for (std::size_t i = 0; i < policy_.execution.allowed_binaries.size(); ++i) {
    if (!binaries_.lacking(i).empty()) {
      say("allowed_binaries: " + binaries_.name(i),
          "it is a script for " + binaries_.lacking(i) +
              ", which is not listed; requests for it will be refused");
    }
  }
  if (policy_.allows(mcp::Operation::run_python) && !python_)
    say(kPython, "it is not there; run_python will be refused until it is installed");
  for (const std::string& name : revealed_) {
    if (!policy::is_sensitive_name(name))
      say("--reveal: " + name, "it is not among the sensitive names; nothing changes");
  }
}

std::string BrokerWorld::describe() const {
  std::size_t count = 0;
  for (const mcp::Operation operation : mcp::kOperations) {
    if (policy_.allows(operation)) ++count;
  }
  return "policy " + policy_.name + ", workspace " + workspace_.root() + ", " +
         std::to_string(count) + (count == 1 ? " operation" : " operations");
}

bool BrokerWorld::is_hidden(std::string_view path) const {
  if (!mcp::json::is_encodable(path)) return true;
  if (policy::is_hidden(path, judging())) return true;
  return policy::place_of(path, policy_.paths.allowed_subpaths) == policy::Place::outside;
}

Refused BrokerWorld::refuse(const std::string& path,
                            confine::PathFault fault,
                            Wanted wanted) const {
  if (fault == confine::PathFault::not_regular) {
    const auto found = workspace_.resolve(path);
    const auto* grant = std::get_if<confine::PathGrant>(&found);
    if (grant != nullptr && grant->is_directory) return refuse_folder();
  }
  return refuse_path(fault, wanted);
}

bool BrokerWorld::is_hidden_from_commands(std::string_view path) const {
  return is_hidden(path) ||
         policy::place_of(path, policy_.execution.allowed_paths) == policy::Place::outside;
}

const std::vector<std::string>& BrokerWorld::readable(mcp::Operation operation) const {
  return operation == mcp::Operation::run_command ? commands_read_ : readable_;
}

std::optional<Refused> BrokerWorld::refuse_lending(const std::string& path) const {
  const auto found = workspace_.resolve(path);
  if (const auto* fault = std::get_if<confine::PathFault>(&found))
    return refuse_path(*fault, Wanted::writable);
  if (confine::leads_to_guarded(path)) {
    return Refused{BrokerCode::operation_not_permitted,
                   "other programs run or obey what lies under such a name, so it is not lent for "
                   "writing; a folder above it can be, in which it stays as it is"};
  }
  if (!std::get<confine::PathGrant>(found).is_directory) return std::nullopt;
  const auto listed =
      workspace_.list(path, kLent, [this](std::string_view each) { return is_hidden(each); });
  if (const auto* fault = std::get_if<confine::PathFault>(&listed))
    return refuse_path(*fault, Wanted::writable);
  return refuse_content(std::get<confine::FolderList>(listed));
}

std::optional<Refused> BrokerWorld::refuse_lending(const std::vector<std::string>& paths) const {
  for (const std::string& path : paths) {
    if (auto refused = refuse_lending(path)) return refused;
  }
  return std::nullopt;
}

}  // namespace aegis::wrap
