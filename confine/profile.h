// SPDX-License-Identifier: Apache-2.0 OR MIT
// What programs of a kind need to run at all, as data: one small text file each
// (confine/profiles/), built into the program, printable, and replaceable by a file of the user's.
//
// The text: one directive a line; `#` at its start or after a blank begins a comment.
//   read PATH, write PATH, exec PATH  grants; with a `?` behind the word (`read? PATH`) it may be
//                                     absent
//   env NAME[=VALUE]                  lets a variable of the caller's through (NAME may end in
//                                     `*`), or sets it
//   offline NAME=VALUE                sets it when no network is granted
// PATH is absolute, begins with `~` for the home folder, or is one of
//   {program}  the program, and the tree of the interpreter that runs it
//   {script}   the tree of the script that node or python is given
//   {cache}    what npx or uvx keeps, when the command is one of them
// each of which may stand for several paths or for none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "confine/admission.h"
#include "confine/command.h"
#include "confine/grants.h"
#include "confine/result.h"

namespace aegis::confine {

struct Profile {
  std::string name;  // "node", or the path of a file
  std::string text;  // what it was read from; its digest goes on the record
  struct PathLine {
    std::string path;  // with its placeholders
    Rights rights = {};
    bool may_be_absent = false;
    std::size_t line = 0;  // from 1
  };
  enum class When : std::uint8_t { always, offline };
  struct EnvironmentLine {
    std::string name;
    std::optional<std::string> value = {};  // nothing: the caller's
    When when = When::always;
  };
  std::vector<PathLine> paths = {};
  std::vector<EnvironmentLine> environment = {};
};

/// No profile is longer; a file that is must be another thing.
inline constexpr std::size_t kMaxProfileSize = 64UL * 1024;

/// Errors name the line.
Result<Profile> parse_profile(std::string_view name, std::string_view text);

/// The names of those that are built in: minimal, node, python, system.
std::vector<std::string_view> builtin_profiles();
/// Nothing when there is none of this name.
std::optional<std::string_view> builtin_profile_text(std::string_view name);

/// Which profile suits a command: node's programs take node, python's and uv's python, anything
/// else system.
std::string_view pick_profile(Runtime runtime);

struct Expanded {
  std::vector<Candidate> candidates;     // admit() decides
  std::vector<std::string> environment;  // "NAME=value", sorted, each name once
};
/// `command` is what inspect_command made of `invocation`. A path that is not there and must be is
/// an error that names it and its line.
Result<Expanded> expand(const Profile& profile,
                        const Invocation& invocation,
                        const Command& command);

/// The paths that `profile` lets a program write by their own names, and those that npx and uvx
/// keep, whatever runs now: a program of theirs may have written there before.
std::vector<std::string> written_paths(const Profile& profile, const Invocation& invocation);

/// "A", "npm_config_cache", "_x1": what can name a variable.
bool is_variable_name(std::string_view name);

}  // namespace aegis::confine
