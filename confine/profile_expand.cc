// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a profile's lines mean for one command: candidates for a grant, and what of the environment
// crosses. What a placeholder stands for is profile_guess.h's.
#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "confine/profile.h"
#include "confine/profile_guess.h"

namespace aegis::confine {
namespace {

bool is_let_through(std::string_view pattern, std::string_view name) {
  if (pattern.back() != '*') return name == pattern;
  pattern.remove_suffix(1);
  return name.substr(0, pattern.size()) == pattern;
}

std::vector<std::string> expand_environment(const Profile& profile, const Invocation& invocation) {
  std::map<std::string, std::string, std::less<>> variables;
  for (const std::string& each : invocation.environment) {
    const std::size_t equals = each.find('=');
    if (equals == std::string::npos) continue;
    const std::string_view name = std::string_view(each).substr(0, equals);
    const bool crosses = std::any_of(profile.environment.begin(),
                                     profile.environment.end(),
                                     [name](const Profile::EnvironmentLine& line) {
                                       return !line.value && is_let_through(line.name, name);
                                     });
    if (crosses) variables.emplace(name, each.substr(equals + 1));  // of several the first
  }
  for (const Profile::EnvironmentLine& line : profile.environment) {
    const bool is_meant = line.when == Profile::When::always || invocation.network == Network::none;
    if (line.value && is_meant) variables.insert_or_assign(line.name, *line.value);
  }
  std::vector<std::string> environment;
  environment.reserve(variables.size());
  for (const auto& [name, value] : variables)
    environment.push_back(std::string(name).append("=").append(value));
  return environment;
}

/// Not there, or where this user cannot go: either way the program cannot reach it.
bool is_absence(const Error& error) {
  return error.code == ENOENT || error.code == ENOTDIR || error.code == EACCES;
}

std::string_view flag_for(Rights rights) {
  if (rights.may_write) return "--allow-write";
  return rights.may_execute ? "--allow-exec" : "--allow-read";
}

/// The candidates of one line of a profile.
class LineExpansion {
 public:
  LineExpansion(const Profile& profile,
                const Profile::PathLine& line,
                std::vector<Candidate>& candidates)
      : line_(line),
        where_("profile " + profile.name + ":" + std::to_string(line.line)),
        candidates_(candidates) {}

  /// What a program or a script is, which nothing runs without.
  void add_executed(const Executed& executed, std::string_view noun) {
    Candidate candidate{executed.resolved,
                        std::string("the ").append(noun).append(" ").append(executed.found),
                        std::string(flag_for(line_.rights)),
                        Candidate::Otherwise::refuse,
                        Candidate::Kind::guessed,
                        executed.planted};
    candidate.resolved.grant.rights = line_.rights;
    candidates_.push_back(std::move(candidate));
  }

  Result<void> add_guesses(Guesses guesses) {
    for (Guess& each : guesses) {
      AEGIS_TRY(add_path(
          each.path,
          {Candidate::Otherwise::leave_out, Candidate::Kind::guessed, std::move(each.planted)}));
    }
    return {};
  }

  /// A path as the profile names it.
  Result<void> add_named(const std::string& path) {
    const auto otherwise =
        line_.may_be_absent ? Candidate::Otherwise::leave_out : Candidate::Otherwise::refuse;
    return add_path(path, {otherwise, Candidate::Kind::asked, {}});
  }

 private:
  struct Manner {
    Candidate::Otherwise otherwise;
    Candidate::Kind kind;
    std::vector<std::string> planted;
  };

  Result<void> add_path(const std::string& path, Manner manner) {
    if (path.empty()) {
      if (line_.may_be_absent) return {};
      return refusal(where_ + ": " + line_.path, "no home folder is known", "set HOME");
    }
    auto resolved = resolve_grant(path, line_.rights);
    if (resolved) {
      candidates_.push_back({std::move(resolved).value(),
                             where_,
                             std::string(flag_for(line_.rights)),
                             manner.otherwise,
                             manner.kind,
                             std::move(manner.planted)});
      return {};
    }
    // A guess that names what nobody is granted (a link to /proc) was none.
    if (manner.kind == Candidate::Kind::guessed) return {};
    if (line_.may_be_absent && is_absence(resolved.error())) return {};
    return Error{std::string(where_).append(": ").append(resolved.error().doing),
                 resolved.error().code};
  }

  const Profile::PathLine& line_;
  std::string where_;
  std::vector<Candidate>& candidates_;
};

/// What is expanded for, and what of its environment crosses.
struct Started {
  const Invocation& invocation;
  const Command& command;
  const std::vector<std::string>& environment;
};

Result<void> expand_line(const Profile::PathLine& line,
                         const Started& started,
                         LineExpansion into) {
  const auto& [invocation, command, environment] = started;
  if (line.path == "{program}") {
    std::string_view noun = "program";
    for (const Executed& each : command.executed)
      into.add_executed(each, std::exchange(noun, "interpreter"));
    return into.add_guesses(guess_program_trees(invocation, command));
  }
  if (line.path == "{script}") {
    const auto& script = command.script;
    if (script && !script->resolved.grant.is_directory) into.add_executed(*script, "script");
    return into.add_guesses(guess_script_trees(invocation, command));
  }
  if (line.path != "{cache}") return into.add_named(expand_home(line.path, invocation.home));
  for (const std::string& path : cache_paths(invocation, command.runtime, environment))
    AEGIS_TRY(into.add_named(path));
  return {};
}

}  // namespace

Result<Expanded> expand(const Profile& profile,
                        const Invocation& invocation,
                        const Command& command) {
  Expanded expanded;
  expanded.environment = expand_environment(profile, invocation);
  for (const Profile::PathLine& line : profile.paths) {
    AEGIS_TRY(expand_line(line,
                          {invocation, command, expanded.environment},
                          LineExpansion(profile, line, expanded.candidates)));
  }
  return expanded;
}

std::vector<std::string> written_paths(const Profile& profile, const Invocation& invocation) {
  std::vector<std::string> paths;
  const auto add = [&paths](std::string path) {
    if (!path.empty()) paths.push_back(std::move(path));
  };
  for (const Profile::PathLine& line : profile.paths) {
    if (line.rights.may_write && line.path.front() != '{')
      add(expand_home(line.path, invocation.home));
  }
  for (const Runtime runtime : {Runtime::npx, Runtime::uv}) {
    for (std::string& path : cache_paths(invocation, runtime, invocation.environment))
      add(std::move(path));
    for (std::string& path : cache_paths(invocation, runtime, {}))
      add(std::move(path));
  }
  return paths;
}

}  // namespace aegis::confine
