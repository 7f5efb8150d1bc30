// SPDX-License-Identifier: Apache-2.0 OR MIT
// --explain: instead of being confined the program is run once with the host's files to read and no
// network, watched, and the flags that it would need are said. Which those are: confine/explain.h.
#pragma once

#include <string>
#include <vector>

#include "confine/child.h"
#include "confine/explain.h"
#include "confine/result.h"
#include "wrap/confine_flags.h"
#include "wrap/confine_plan.h"
#include "wrap/exposure.h"

namespace aegis::wrap {

class Explained {
 public:
  /// Makes `plan`, that of a confined run, the plan of a watched one: hidden is what has a name of
  /// secrets and what is `kept`, but for what the plan grants. `request.tier` is the one that would
  /// be enforced. An error: not in this tier, or too much to hide.
  static confine::Result<Explained> instead_of(ConfinePlan& plan,
                                               const ConfineRequest& request,
                                               const Kept& kept);

  void note(const confine::NetReport& report) { net_.note(report); }
  /// On stderr: what was wanted beyond what was granted. When the program has ended.
  void report(const confine::Wishes& wishes) const;

 private:
  Explained(confine::PathGrants grants, std::vector<confine::NetGrant> net)
      : grants_(std::move(grants)), net_(std::move(net)) {}
  void report_files(const confine::Explanation& explanation) const;
  void report_net() const;
  void report_command(const confine::Explanation& explanation) const;

  confine::PathGrants grants_;
  confine::NetWishes net_;
  std::string home_;
  std::vector<std::string> hidden_;
};

/// The command line that `words` (a program, its flags, `--`, a command) is with `added` and
/// without
/// --explain, quoted for a shell.
std::string command_with(const std::vector<std::string>& words,
                         const std::vector<std::string>& added);

}  // namespace aegis::wrap
