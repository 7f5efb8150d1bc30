// SPDX-License-Identifier: Apache-2.0 OR MIT
// See confine_plan.h.
#include "wrap/confine_plan.h"

#include <unistd.h>

#include <cerrno>
#include <map>
#include <string_view>
#include <utility>

#include <climits>

#include "confine/command.h"
#include "wrap/places.h"
#include "wrap/read_file.h"
#include "wrap/server.h"

namespace aegis::wrap {
namespace {

using confine::Command;
using confine::Error;
using confine::Invocation;
using confine::PathGrants;
using confine::Profile;
using confine::refusal;
using confine::ResolvedPath;
using confine::Result;
using confine::Rights;

constexpr Rights kRead{};
constexpr Rights kWrite{.may_write = true, .may_execute = false};
constexpr Rights kExecute{.may_write = false, .may_execute = true};

/// What tier full makes up, and what of it a program on the host's network needs as it is.
struct HostFile {
  std::string_view path;
  bool is_for_names;
};
constexpr HostFile kHostFiles[] = {{"/etc/passwd", false},
                                   {"/etc/group", false},
                                   {"/etc/hostname", false},
                                   {"/etc/hosts", true},
                                   {"/etc/resolv.conf", true},
                                   {"/etc/nsswitch.conf", true}};
/// Where a program cannot start: the host's own, which are never granted.
constexpr std::string_view kNoStart[] = {"/proc", "/dev", "/sys"};

Result<std::string> own_folder() {
  std::string folder(PATH_MAX, '\0');
  if (::getcwd(folder.data(), folder.size()) == nullptr)
    return confine::errno_error("find the working directory");
  folder.resize(folder.find('\0'));
  return folder;
}

Result<ResolvedPath> resolve_flag(std::string_view flag, const std::string& path, Rights rights) {
  auto resolved = confine::resolve_grant(path, rights);
  if (resolved) return resolved;
  const Error& error = resolved.error();
  return Error{std::string(flag).append(" ").append(path).append(": ").append(error.doing),
               error.code};
}

Result<ResolvedPath> resolve_workspace(const std::string& path) {
  constexpr std::string_view kFlag = "--workspace";
  ResolvedPath workspace = AEGIS_TRY(resolve_flag(kFlag, path, kWrite));
  if (!workspace.grant.is_directory) return refusal(kFlag, path, "it is no folder");
  return workspace;
}

/// Without a home nothing below it is granted, and that is all.
void find_home(Invocation& invocation) {
  if (auto home = home_folder()) invocation.home = std::move(home).value();
  while (invocation.home.size() > 1 && invocation.home.back() == '/')
    invocation.home.pop_back();
  if (const auto home = confine::resolve_grant(invocation.home, kRead))
    invocation.real_home = home->grant.path;
}

Result<Invocation> describe_invocation(const ConfineRequest& request,
                                       const std::vector<std::string>& argv,
                                       const std::vector<std::string>& environment) {
  auto found = own_folder();
  // One that is gone matters to nobody who has said where the program starts.
  const bool is_needed = !request.workspace || request.workspace->rfind('/', 0) != 0;
  const std::string here = !found && !is_needed ? "/" : AEGIS_TRY(std::move(found));
  Invocation invocation{.argv = argv,
                        .program = AEGIS_TRY(find_program(argv.front())),
                        .home = {},
                        .real_home = {},
                        .working_directory = here,
                        .environment = environment,
                        .network = request.network};
  if (invocation.program.front() != '/') invocation.program.insert(0, here + "/");
  find_home(invocation);
  if (request.workspace)
    invocation.working_directory = AEGIS_TRY(resolve_workspace(*request.workspace)).grant.path;
  for (const std::string_view folder : kNoStart) {
    if (confine::is_within(invocation.working_directory, folder))
      invocation.working_directory = "/";
  }
  return invocation;
}

Result<Profile> find_profile(const ConfineRequest& request, const Command& command) {
  const std::string name = request.profile.value_or(std::string(pick_profile(command.runtime)));
  if (const auto text = confine::builtin_profile_text(name))
    return confine::parse_profile(name, *text);
  constexpr std::string_view kDoing = "read the profile";
  const confine::Fd file = AEGIS_TRY(open_regular(kDoing, name));
  const std::string text =
      AEGIS_TRY(read_up_to(file, {kDoing, name, confine::kMaxProfileSize + 1}));
  return confine::parse_profile(name, text);
}

struct Started {
  const Invocation& invocation;
  const Command& command;
};

/// What profile system grants, when it is asked for.
Result<void> add_exec_support(const ConfineRequest& request,
                              const Started& started,
                              PathGrants& paths) {
  if (request.exec_support != ConfineRequest::ExecSupport::system) return {};
  constexpr std::string_view kName = "system";
  const std::string_view text = confine::builtin_profile_text(kName).value_or(std::string_view());
  const Profile system = AEGIS_TRY(confine::parse_profile(kName, text));
  const confine::Expanded expanded =
      AEGIS_TRY(confine::expand(system, started.invocation, started.command));
  for (const confine::PathGrant& each : expanded.paths.paths)
    paths.add({each, {}});
  paths.add_links(expanded.paths.links);
  return {};
}

Result<void> add_asked_for(const ConfineRequest& request, PathGrants& paths) {
  struct Row {
    std::string_view flag;
    const std::vector<std::string>& asked;
    Rights rights;
  };
  const Row rows[] = {{"--allow-read", request.read, kRead},
                      {"--allow-write", request.write, kWrite},
                      {"--allow-exec", request.execute, kExecute}};
  for (const Row& row : rows) {
    for (const std::string& path : row.asked)
      paths.add(AEGIS_TRY(resolve_flag(row.flag, path, row.rights)));
  }
  if (request.workspace) paths.add(AEGIS_TRY(resolve_workspace(*request.workspace)));
  return {};
}

void add_host_files(const ConfineRequest& request, PathGrants& paths) {
  for (const HostFile& each : kHostFiles) {
    const bool is_needed = request.tier == confine::Tier::landlock ||
                           (each.is_for_names && request.network == confine::Network::unconfined);
    if (!is_needed) continue;
    auto resolved = confine::resolve_grant(each.path, kRead);
    if (resolved) paths.add(std::move(resolved).value());  // without it a name is not found
  }
}

std::vector<std::string> complete_environment(const ConfineRequest& request,
                                              const Invocation& invocation,
                                              const std::vector<std::string>& from_profile) {
  std::map<std::string, std::string> variables;
  for (const std::string& each : from_profile) {
    const std::size_t equals = each.find('=');
    variables.emplace(each.substr(0, equals), each.substr(equals + 1));
  }
  // The caller's is not in the private root.
  if (request.tier == confine::Tier::full) variables.insert_or_assign("TMPDIR", "/tmp");
  for (const ConfineRequest::Variable& each : request.variables) {
    if (each.value) {
      variables.insert_or_assign(each.name, *each.value);
    } else if (const auto value = confine::find_variable(invocation.environment, each.name)) {
      variables.insert_or_assign(each.name, std::string(*value));
    }
  }
  std::vector<std::string> environment;
  environment.reserve(variables.size());
  for (const auto& [name, value] : variables)
    environment.push_back(std::string(name).append("=").append(value));
  return environment;
}

/// The home as it is really named, and the links on its way for the private root to repeat.
std::string take_home(const Invocation& invocation, PathGrants& paths) {
  if (invocation.real_home.empty()) return invocation.home;
  if (invocation.real_home != invocation.home) {
    auto resolved = confine::resolve_grant(invocation.home, kRead);
    if (resolved) paths.add_links(std::move(resolved->links));
  }
  return invocation.real_home;
}

}  // namespace

Result<ConfinePlan> plan_confinement(const ConfineRequest& request,
                                     const std::vector<std::string>& argv,
                                     const std::vector<std::string>& environment) {
  if (request.tier == confine::Tier::landlock && request.network == confine::Network::granted) {
    return Error{"--allow-net: a network grant needs tier full"};
  }
  const Invocation invocation = AEGIS_TRY(describe_invocation(request, argv, environment));
  const Command command = AEGIS_TRY(confine::inspect_command(invocation));
  ConfinePlan plan{{}, AEGIS_TRY(find_profile(request, command)), request.net};
  confine::Expanded expanded = AEGIS_TRY(confine::expand(plan.profile, invocation, command));
  PathGrants& paths = expanded.paths;
  AEGIS_TRY(add_exec_support(request, {invocation, command}, paths));
  AEGIS_TRY(add_asked_for(request, paths));
  add_host_files(request, paths);

  confine::Spec& spec = plan.spec;
  spec.tier = request.tier;
  spec.argv = argv;
  spec.program = invocation.program;
  spec.environment = complete_environment(request, invocation, expanded.environment);
  spec.working_directory = invocation.working_directory;
  spec.home = take_home(invocation, paths);
  spec.paths = std::move(paths);
  spec.network = request.network;
  spec.bounds = request.bounds;
  if (request.workspace) plan.workspace = invocation.working_directory;
  return plan;
}

Result<std::string> shown_profile(const ConfineRequest& request,
                                  const std::vector<std::string>& argv,
                                  const std::vector<std::string>& environment) {
  Command command;
  if (!request.profile) {
    if (argv.empty()) {
      return Error{"--show-profile: which one? Name it with --profile, or give the command"};
    }
    const Invocation invocation = AEGIS_TRY(describe_invocation(request, argv, environment));
    command = AEGIS_TRY(confine::inspect_command(invocation));
  }
  return AEGIS_TRY(find_profile(request, command)).text;
}

std::vector<std::string> own_environment() {
  std::vector<std::string> environment;
  for (char** each = environ; *each != nullptr; ++each)
    environment.emplace_back(*each);
  return environment;
}

}  // namespace aegis::wrap
