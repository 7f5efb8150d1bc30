// SPDX-License-Identifier: Apache-2.0 OR MIT
// What this kernel and this user can have, found by doing it in a throwaway child, and what to do
// about each thing that is missing. Enforces nothing on the caller.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "confine/tier.h"

namespace aegis::confine {

struct Probed;

struct Layer {
  std::string_view name;  // "landlock", "seccomp", "user namespace", "mount namespace", ...
  bool is_there = false;
  std::string detail;  // the version, or why it is missing
  std::string remedy;  // what to do about it; empty when it is there, or when another layer's helps
};

struct Support {
  std::vector<Layer> layers;  // always the same ones in the same order
  int landlock_abi = 0;
  std::optional<Tier> strongest;  // nothing: no tier can be had

  /// The layers that `tier` needs and that are missing, but for those that only fail because
  /// another one, which is among these, does.
  [[nodiscard]] std::vector<const Layer*> missing_for(Tier tier) const;
  /// The same behind the message of a failure: "; <name>: <why> (<remedy>)" for each.
  [[nodiscard]] std::string remedies_for(Tier tier) const;
};

/// Takes some milliseconds. The caller has one thread.
Support probe_support();

/// What follows from what was found. Asks nobody.
Support judge(const Probed& probed);

}  // namespace aegis::confine
