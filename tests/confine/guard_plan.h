// SPDX-License-Identifier: Apache-2.0 OR MIT
// For the tests of the guard: plans of scratch folders, and scripts that run under them.
#pragma once

#include <sys/wait.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "confine/guard.h"
#include "tests/confine/sandbox.h"

namespace aegis::confine {

using Names = std::vector<std::string>;

inline GuardPlan planned(const Scratch& folder, const std::string& home = {}) {
  Result<GuardPlan> plan = plan_guard({folder.path(""), home});
  if (!plan) FAIL(describe(plan.error()));
  return std::move(plan).value();
}

inline std::string refused(const Scratch& folder) {
  const Result<GuardPlan> plan = plan_guard({folder.path("")});
  return plan ? std::string() : describe(plan.error());
}

inline Names names_of(const std::vector<GuardPlan::Held>& held) {
  Names names;
  for (const GuardPlan::Held& each : held)
    names.push_back(each.name);
  return names;
}

inline bool has(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The files of a repository that matter here; git itself is not asked.
inline void make_repository(const Scratch& folder, const std::string& at = ".git") {
  folder.write(at + "/HEAD", "ref: refs/heads/main\n");
  folder.write(at + "/config", "[core]\n\tbare = false\n");
  folder.write(at + "/objects/keep", "");
  folder.write(at + "/refs/keep", "");
}

/// A script in a folder that it may write, the folder being its working directory. `plan`: null for
/// no guard.
inline Ran run_in(const Scratch& folder, const std::string& script, const GuardPlan* plan) {
  Spec spec = shell_spec(Tier::full, script);
  spec.paths.add(granted(folder.path(""), {.may_write = true}));
  spec.working_directory = folder.path("");
  if (plan != nullptr) {
    spec.self_bound = plan->self_bound_paths();
    spec.read_only = plan->read_only_paths();
  }
  Ran ran = run_confined(std::move(spec));
  CHECK(ran.failure == "");
  return ran;
}

inline bool succeeds(const Ran& ran) {
  return ran.status && WIFEXITED(*ran.status) && WEXITSTATUS(*ran.status) == 0;
}

}  // namespace aegis::confine
