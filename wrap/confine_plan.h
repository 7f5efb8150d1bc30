// SPDX-License-Identifier: Apache-2.0 OR MIT
// From what was asked for and a command to all that a confined start needs to know: the program is
// found, the profile picked and expanded, and every grant resolved. Starts nothing, and what the
// guard of configuration files adds is guard.h's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "confine/child.h"
#include "confine/egress.h"
#include "confine/grants.h"
#include "confine/profile.h"
#include "confine/result.h"
#include "confine/tier.h"
#include "wrap/confine_flags.h"

namespace aegis::wrap {

struct ConfinePlan {
  confine::Spec spec;
  confine::Profile profile;            // the digest of its text goes on the record
  std::vector<confine::NetGrant> net;  // with Network::granted
  std::string workspace = {};          // resolved; empty when there is none
  /// What was not granted, because the program could have made it up: a sentence each.
  std::vector<std::string> left_out = {};
};

/// What every program may write in tier landlock: the host's folder in which the locks of python's
/// multiprocessing are files. It cannot be asked for, is no workspace to be guarded, and so is in
/// no plan; nothing in tier full, which has one of its own (commons.h).
std::optional<confine::ResolvedPath> shared_memory(confine::Tier tier);

/// `request.tier` is the one that will be enforced. `environment` is the caller's, "NAME=value".
/// Errors say which flag, which path and why; the code
/// is find_program's when the program is the matter.
confine::Result<ConfinePlan> plan_confinement(const ConfineRequest& request,
                                              const std::vector<std::string>& argv,
                                              const std::vector<std::string>& environment);

/// The text of the profile that was asked for, else of the one that suits `argv`, which is then not
/// empty.
confine::Result<std::string> shown_profile(const ConfineRequest& request,
                                           const std::vector<std::string>& argv,
                                           const std::vector<std::string>& environment);

/// This process's, as plan_confinement takes it.
std::vector<std::string> own_environment();

}  // namespace aegis::wrap
