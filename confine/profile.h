// SPDX-License-Identifier: Apache-2.0 OR MIT
// What programs of a kind need to run at all, as data: one small text file each
// (confine/profiles/), built into the program, printable, and replaceable by a file of the user's.
//
// The text: one directive a line, `#` begins a comment.
//   read PATH | write PATH | exec PATH     grants; a `?` behind the word (`read? PATH`) lets it be
//   absent env NAME[=VALUE]                       lets a variable of the caller's through (NAME may
//   end in `*`), or sets it
// In PATH: `~` is the home folder, {program} the tree of the interpreter or program that is run,
// {script} the tree of the script that it is given, {cache} what npx or uvx keeps.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  };
  struct EnvironmentLine {
    std::string name;
    std::optional<std::string> value = {};  // nothing: the caller's
  };
  std::vector<PathLine> paths = {};
  std::vector<EnvironmentLine> environment = {};
};

/// Errors name the line.
Result<Profile> parse_profile(std::string_view name, std::string_view text);

/// The names of those that are built in: node, python, system, minimal.
std::vector<std::string_view> builtin_profiles();
/// Nothing when there is none of this name.
std::optional<std::string_view> builtin_profile_text(std::string_view name);

/// Which profile suits a command, by its program's name: npx and node take node, uvx and python3*
/// take python, anything else system.
std::string_view pick_profile(const std::vector<std::string>& argv);

/// What is known of the command and its user.
struct Caller {
  std::vector<std::string> argv;
  std::string program;                   // absolute: what is executed, links resolved
  std::string home;                      // absolute, or empty
  std::vector<std::string> environment;  // "NAME=value"
};

struct Expanded {
  PathGrants paths;
  std::vector<std::string> environment;  // "NAME=value", sorted, each name once
};
/// A path that is not there and must be is an error that names it and its line.
Result<Expanded> expand(const Profile& profile, const Caller& caller);

}  // namespace aegis::confine
