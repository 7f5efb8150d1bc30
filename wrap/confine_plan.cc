// SPDX-License-Identifier: Apache-2.0 OR MIT
// See confine_plan.h.
#include "wrap/confine_plan.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include <climits>

#include "confine/admission.h"
#include "confine/command.h"
#include "wrap/places.h"
#include "wrap/read_file.h"
#include "wrap/server.h"

namespace aegis::wrap {
namespace {

using confine::Candidate;
using confine::Command;
using confine::Error;
using confine::Invocation;
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
/// Where Landlock alone keeps the home back, git sees by access(2) that its files are there, is
/// refused when it opens them, and ends (git 2.39, config.c and dir.c). So it is told of others.
constexpr std::pair<std::string_view, std::string_view> kGitVariables[] = {
    {"GIT_CONFIG_GLOBAL", "/dev/null"},
    {"GIT_CONFIG_COUNT", "2"},
    {"GIT_CONFIG_KEY_0", "core.excludesFile"},
    {"GIT_CONFIG_VALUE_0", "/dev/null"},
    {"GIT_CONFIG_KEY_1", "core.attributesFile"},
    {"GIT_CONFIG_VALUE_1", "/dev/null"}};
/// Below the home; whoever grants one of them has git read it.
constexpr std::string_view kGitFiles[] = {"/.gitconfig", "/.config/git"};
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

/// Without a home nothing below it is granted, and that is all. A file in its place (/dev/null, of
/// some accounts) is none.
void find_home(Invocation& invocation) {
  if (auto home = home_folder()) invocation.home = std::move(home).value();
  while (invocation.home.size() > 1 && invocation.home.back() == '/')
    invocation.home.pop_back();
  struct stat status {};
  if (::stat(invocation.home.c_str(), &status) == 0 && !S_ISDIR(status.st_mode))
    invocation.home.clear();
  if (const auto home = confine::resolve_grant(invocation.home, kRead))
    invocation.real_home = home->grant.path;
}

/// Where the program is started from. One that is gone matters to nobody who has said where it is
/// to start.
Result<std::string> starting_folder(const ConfineRequest& request) {
  auto found = own_folder();
  const bool is_needed = !request.workspace || request.workspace->rfind('/', 0) != 0;
  if (!found && !is_needed) return std::string("/");
  return found;
}

Result<Invocation> describe_invocation(const ConfineRequest& request,
                                       const std::vector<std::string>& argv,
                                       const std::vector<std::string>& environment) {
  const std::string here = AEGIS_TRY(starting_folder(request));
  std::string program = AEGIS_TRY(find_program(argv.front()));
  Invocation invocation{.argv = argv,
                        .program = std::move(program),
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

Candidate ask(ResolvedPath resolved, std::string_view flag, const std::string& written) {
  return {std::move(resolved),
          std::string(flag).append(" ").append(written),
          std::string(flag),
          Candidate::Otherwise::refuse,
          Candidate::Kind::asked,
          {}};
}

Result<std::vector<Candidate>> resolve_flags(const ConfineRequest& request) {
  struct Row {
    std::string_view flag;
    const std::vector<std::string>& asked;
    Rights rights;
  };
  const Row rows[] = {{"--allow-read", request.read, kRead},
                      {"--allow-write", request.write, kWrite},
                      {"--allow-exec", request.execute, kExecute}};
  std::vector<Candidate> candidates;
  for (const Row& row : rows) {
    for (const std::string& path : row.asked)
      candidates.push_back(
          ask(AEGIS_TRY(resolve_flag(row.flag, path, row.rights)), row.flag, path));
  }
  if (request.workspace) {
    candidates.push_back(
        ask(AEGIS_TRY(resolve_workspace(*request.workspace)), "--workspace", *request.workspace));
  }
  return candidates;
}

/// Everything that a program of this user's may write now, or could before.
confine::Writable find_writable(const std::vector<Candidate>& flags,
                                const Profile& profile,
                                const Invocation& invocation) {
  confine::Writable writable;
  for (const Candidate& each : flags) {
    if (each.resolved.grant.rights.may_write) writable.add(each.resolved.grant);
  }
  for (const std::string& path : confine::written_paths(profile, invocation)) {
    if (const auto resolved = confine::resolve_grant(path, kWrite)) writable.add(resolved->grant);
  }
  return writable;
}

Result<Profile> read_profile(const std::string& name) {
  if (const auto text = confine::builtin_profile_text(name))
    return confine::parse_profile(name, *text);
  constexpr std::string_view kDoing = "read the profile";
  const confine::Fd file = AEGIS_TRY(open_regular(kDoing, name));
  const std::string text =
      AEGIS_TRY(read_up_to(file, {kDoing, name, confine::kMaxProfileSize + 1}));
  return confine::parse_profile(name, text);
}

struct Started {
  Invocation invocation;
  Command command;
  Profile profile;
  std::vector<Candidate> flags;
};

/// The profile that was named says what may be written, and that what a command is taken for; which
/// then picks the profile if none was named.
Result<Started> look_at(const ConfineRequest& request,
                        const std::vector<std::string>& argv,
                        const std::vector<std::string>& environment) {
  Started started{AEGIS_TRY(describe_invocation(request, argv, environment)), {}, {}, {}};
  started.flags = AEGIS_TRY(resolve_flags(request));
  if (request.profile) started.profile = AEGIS_TRY(read_profile(*request.profile));
  started.invocation.writable = find_writable(started.flags, started.profile, started.invocation);
  if (const auto shared = shared_memory(request.tier))
    started.invocation.writable.add(shared->grant);
  started.command = AEGIS_TRY(confine::inspect_command(started.invocation));
  if (request.profile) return started;
  started.profile = AEGIS_TRY(read_profile(std::string(pick_profile(started.command.runtime))));
  return started;
}

/// What profile system grants, when it is asked for.
Result<std::vector<Candidate>> exec_support(const ConfineRequest& request, const Started& started) {
  if (request.exec_support != ConfineRequest::ExecSupport::system) return std::vector<Candidate>();
  const Profile system = AEGIS_TRY(read_profile("system"));
  return AEGIS_TRY(confine::expand(system, started.invocation, started.command)).candidates;
}

std::vector<Candidate> host_files(const ConfineRequest& request) {
  std::vector<Candidate> candidates;
  for (const HostFile& each : kHostFiles) {
    const bool is_needed = request.tier == confine::Tier::landlock ||
                           (each.is_for_names && request.network == confine::Network::unconfined);
    if (!is_needed) continue;
    auto resolved = confine::resolve_grant(each.path, kRead);
    if (!resolved) continue;  // without it a name is not found
    candidates.push_back({std::move(resolved).value(),
                          "the host's own",
                          "--allow-read",
                          Candidate::Otherwise::leave_out,
                          Candidate::Kind::asked,
                          {}});
  }
  return candidates;
}

void append(std::vector<Candidate> more, std::vector<Candidate>& candidates) {
  candidates.insert(
      candidates.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

bool must_spare_git(const ConfineRequest& request,
                    const Invocation& invocation,
                    const confine::PathGrants& paths) {
  return request.tier == confine::Tier::landlock &&
         std::none_of(std::begin(kGitFiles), std::end(kGitFiles), [&](std::string_view file) {
           return paths.find(invocation.real_home + std::string(file)) != nullptr;
         });
}

std::vector<std::string> complete_environment(const ConfineRequest& request,
                                              const Invocation& invocation,
                                              const std::vector<std::string>& from_profile,
                                              const confine::PathGrants& paths) {
  std::map<std::string, std::string> variables;
  for (const std::string& each : from_profile) {
    const std::size_t equals = each.find('=');
    variables.emplace(each.substr(0, equals), each.substr(equals + 1));
  }
  // The caller's is not in the private root.
  if (request.tier == confine::Tier::full) variables.insert_or_assign("TMPDIR", "/tmp");
  if (must_spare_git(request, invocation, paths))
    variables.insert(std::begin(kGitVariables), std::end(kGitVariables));
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
std::string take_home(const Invocation& invocation, confine::PathGrants& paths) {
  if (invocation.real_home.empty()) return invocation.home;
  if (invocation.real_home != invocation.home) {
    auto resolved = confine::resolve_grant(invocation.home, kRead);
    if (resolved) paths.add_links(std::move(resolved->links));
  }
  return invocation.real_home;
}

/// What only tier full can do must not seem to be done.
Result<void> check_tier(const ConfineRequest& request) {
  if (request.tier == confine::Tier::full) return {};
  if (request.network == confine::Network::granted)
    return Error{"--allow-net: a network grant needs tier full"};
  if (request.bounds.new_files) return Error{"--max-new-files: it needs tier full"};
  return {};
}

}  // namespace

std::optional<ResolvedPath> shared_memory(confine::Tier tier) {
  if (tier == confine::Tier::full) return std::nullopt;
  auto shared = confine::resolve_path("/dev/shm", kWrite);
  if (!shared || !shared->links.empty()) return std::nullopt;
  return std::move(shared).value();
}

Result<ConfinePlan> plan_confinement(const ConfineRequest& request,
                                     const std::vector<std::string>& argv,
                                     const std::vector<std::string>& environment) {
  AEGIS_TRY(check_tier(request));
  Started started = AEGIS_TRY(look_at(request, argv, environment));
  const Invocation& invocation = started.invocation;
  confine::Expanded expanded =
      AEGIS_TRY(confine::expand(started.profile, invocation, started.command));
  std::vector<Candidate>& candidates = expanded.candidates;
  append(AEGIS_TRY(exec_support(request, started)), candidates);
  append(std::move(started.flags), candidates);
  append(host_files(request), candidates);
  confine::Admitted admitted =
      AEGIS_TRY(confine::admit(std::move(candidates), invocation.writable));

  ConfinePlan plan{{}, std::move(started.profile), request.net};
  plan.left_out = std::move(admitted.left_out);
  confine::Spec& spec = plan.spec;
  spec.tier = request.tier;
  spec.argv = argv;
  spec.program = invocation.program;
  spec.environment =
      complete_environment(request, invocation, expanded.environment, admitted.paths);
  spec.working_directory = invocation.working_directory;
  spec.home = take_home(invocation, admitted.paths);
  spec.paths = std::move(admitted.paths);
  spec.network = request.network;
  spec.bounds = request.bounds;
  if (request.workspace) plan.workspace = invocation.working_directory;
  return plan;
}

Result<std::string> shown_profile(const ConfineRequest& request,
                                  const std::vector<std::string>& argv,
                                  const std::vector<std::string>& environment) {
  if (request.profile) return AEGIS_TRY(read_profile(*request.profile)).text;
  if (argv.empty()) {
    return Error{"--show-profile: which one? name it with --profile, or give the command"};
  }
  return AEGIS_TRY(look_at(request, argv, environment)).profile.text;
}

std::vector<std::string> own_environment() {
  std::vector<std::string> environment;
  for (char** each = environ; *each != nullptr; ++each)
    environment.emplace_back(*each);
  return environment;
}

}  // namespace aegis::wrap
