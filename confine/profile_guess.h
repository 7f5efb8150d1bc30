// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the placeholders of a profile stand for: trees that are granted by guess, held narrow here.
// Never the home folder, nor one above it, nor one that all users write to. For profile_expand.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "confine/command.h"

namespace aegis::confine {

/// A tree that a placeholder stands for. `planted` as in admission.h.
struct Guess {
  std::string path;
  std::vector<std::string> planted;
};
using Guesses = std::vector<Guess>;

/// {program}: the trees around the programs that run, the programs themselves not among them.
Guesses guess_program_trees(const Invocation& invocation, const Command& command);
/// {script}: what the script loads, the script itself not among them.
Guesses guess_script_trees(const Invocation& invocation, const Command& command);
/// {cache}: none unless npx or uvx runs. `environment` is what crosses.
std::vector<std::string> cache_paths(const Invocation& invocation,
                                     Runtime runtime,
                                     const std::vector<std::string>& environment);

/// `path` with the home in the place of its `~`; empty when it needs one and there is none.
std::string expand_home(std::string_view path, const std::string& home);

}  // namespace aegis::confine
