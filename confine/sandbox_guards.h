// SPDX-License-Identifier: Apache-2.0 OR MIT
// The guard (guard.h) of the folders that a run may write: what some program of the user's would
// run later must not be what a worker wrote.
#pragma once

#include <string>
#include <vector>

#include "confine/child.h"
#include "confine/guard.h"
#include "confine/guard_watch.h"
#include "confine/result.h"

namespace aegis::confine {

class SandboxGuards {
 public:
  /// Looks at each folder of `worker`, and makes the mounts part of `spec`. `home` as in guard.h.
  static Result<SandboxGuards> plan(const std::string& home, Spec& spec);

  /// Before the program runs: what was not there and appears is moved to `quarantine`; when that is
  /// empty it stays.
  Result<void> watch(const std::string& quarantine);
  /// Readable when look() has something to do.
  [[nodiscard]] std::vector<int> descriptors() const;
  /// What is to be told, a line each, is added to `notes`. False when the run must end: a folder
  /// can no longer be guarded, or its disk is nearly full.
  bool look(std::vector<std::string>& notes);
  /// When everything of the run is gone.
  void finish(std::vector<std::string>& notes);

 private:
  std::vector<GuardPlan> plans_;
  std::vector<GuardWatch> watches_;
};

}  // namespace aegis::confine
