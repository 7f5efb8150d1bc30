// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a command really runs: the program, the interpreters that its #! lines name, and the script
// that node or python is given. Profiles are picked and expanded by it. It looks at files and
// decides nothing about what may be reached.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "confine/grants.h"
#include "confine/result.h"
#include "confine/tier.h"
#include "confine/writable.h"

namespace aegis::confine {

/// What is known of the command and its user.
struct Invocation {
  std::vector<std::string> argv;  // at least one word
  std::string program;            // absolute: what is executed, as it was found; may be a link
  std::string home;               // absolute, or empty
  std::string real_home;          // the same without links; empty when it is not there
  std::string working_directory;  // absolute: where the program will start
  std::vector<std::string> environment;  // "NAME=value"
  Network network = Network::none;
  Writable writable = {};  // by this program, or by one that ran before
};
/// Of several of one name the first, as getenv(3) does.
std::optional<std::string_view> find_variable(const std::vector<std::string>& environment,
                                              std::string_view name);

enum class Runtime : std::uint8_t {
  other,
  node,
  npx,  // npm's programs, which node runs
  python,
  uv,
};
/// By a program's name: "python3.11" is python.
Runtime runtime_of(std::string_view program_name);

/// A program on the way from the command to what runs, or a script.
struct Executed {
  std::string found;  // absolute, as it was named or found in PATH
  ResolvedPath resolved;
  /// Where a program could have put what led here: links on the way, and files whose #! lines name
  /// it. Empty when the user alone did.
  std::vector<std::string> planted = {};
};

struct Command {
  /// npx and uv only by the user's word, because their profiles bring caches that can be written:
  /// what a planted link or #! line makes of the command is node or python at most.
  Runtime runtime = Runtime::other;
  std::vector<Executed> executed;       // the program, the interpreter that it names, and so on
  std::optional<Executed> script = {};  // of node or python; nothing when there is none to see
};
/// Errors: the program is not there or cannot be a grant. An interpreter that is not there is left
/// out: that is execve(2)'s to say.
Result<Command> inspect_command(const Invocation& invocation);

/// What stands before and behind the last slash; "/" for what lies in the root.
std::string parent_of(const std::string& path);
std::string_view name_of(std::string_view path);

}  // namespace aegis::confine
