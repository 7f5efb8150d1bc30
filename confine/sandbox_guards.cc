// SPDX-License-Identifier: Apache-2.0 OR MIT
// See sandbox_guards.h.
#include "confine/sandbox_guards.h"

#include <utility>

#include "confine/space.h"

namespace aegis::confine {
namespace {

/// The names of `held`, where the run sees them.
void add_places(const std::string& place,
                const std::vector<GuardPlan::Held>& held,
                std::vector<std::string>& to) {
  for (const GuardPlan::Held& each : held)
    to.push_back(place + "/" + each.name);
}

/// For whoever asked for a run: he knows no path of the host's, and has no flag that lifts the
/// guard.
Error told_for(const WorkerFiles::Bind& bind, Error error) {
  const std::string& path = bind.source.path;
  if (const std::size_t at = error.doing.find(path); at != std::string::npos)
    error.doing.replace(at, path.size(), bind.place);
  if (error.code == 0) error.doing += "; mend it, or name a writable path without it";
  return error;
}

}  // namespace

Result<SandboxGuards> SandboxGuards::plan(const std::string& home, Spec& spec) {
  SandboxGuards guards;
  for (const WorkerFiles::Bind& bind : spec.worker->binds) {
    if (!bind.source.is_directory) continue;
    Result<GuardPlan> plan = plan_guard({bind.source.path, home});
    if (!plan) return told_for(bind, std::move(plan).error());
    add_places(bind.place, plan->self_bound, spec.self_bound);
    add_places(bind.place, plan->read_only, spec.read_only);
    guards.plans_.push_back(std::move(plan).value());
  }
  return guards;
}

Result<void> SandboxGuards::watch(const std::string& quarantine) {
  if (quarantine.empty()) return {};
  for (GuardPlan& plan : std::exchange(plans_, {}))
    watches_.push_back(AEGIS_TRY(GuardWatch::start(std::move(plan), quarantine)));
  return {};
}

std::vector<int> SandboxGuards::descriptors() const {
  std::vector<int> numbers;
  for (const GuardWatch& each : watches_)
    numbers.push_back(each.fd());
  return numbers;
}

bool SandboxGuards::look(std::vector<std::string>& notes) {
  bool is_well = true;
  for (GuardWatch& each : watches_) {
    for (const GuardFinding& finding : each.on_event()) {
      notes.push_back(describe(finding));
      is_well &= !finding.is_guard_lost();
    }
    is_well &= !each.is_overrun() && !is_below_floor(each.folder_fd());
  }
  return is_well;
}

void SandboxGuards::finish(std::vector<std::string>& notes) {
  for (GuardWatch& each : watches_) {
    for (const GuardFinding& finding : each.finish())
      notes.push_back(describe(finding));
  }
  watches_.clear();
  plans_.clear();
}

}  // namespace aegis::confine
