// SPDX-License-Identifier: Apache-2.0 OR MIT
// Why a confined program probably died early, guessed from its own words: what it was refused, and
// the flag that would grant it. Pure: what the host has is asked through a callable. A guess is
// advice for a person, never a grant; the words are the program's, which may be lying.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "confine/grants.h"
#include "confine/tier.h"

namespace aegis::confine {

inline constexpr std::size_t kMaxHints = 3;
/// Of the program's stderr no more than the last so many bytes are looked at.
inline constexpr std::size_t kMaxHintText = 32UL * 1024;

struct EarlyDeath {
  std::string_view errors;  // the tail of its stderr
  int wait_status = 0;      // waitpid(2)'s
  const PathGrants& grants;
  Tier tier = Tier::full;
  Network network = Network::none;
  std::string_view home = {};  // absolute, or empty
  /// Whether the host has `path` (absolute).
  std::function<bool(const std::string& path)> is_on_host = {};
};

/// The likely causes, the likeliest first, each one line: "<cause>: <flag>". At most kMaxHints,
/// none twice, none when nothing is recognised. Paths are quoted for a shell; what could move a
/// cursor or hide is visible (hint_text.h).
std::vector<std::string> explain_death(const EarlyDeath& death);

}  // namespace aegis::confine
