// SPDX-License-Identifier: Apache-2.0 OR MIT
// See confinement.h.
#include "wrap/confinement.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "confine/landlock.h"
#include "confine/support.h"
#include "wrap/exit_codes.h"
#include "wrap/log.h"
#include "wrap/out.h"
#include "wrap/places.h"

namespace aegis::wrap {
namespace {

using confine::Error;
using confine::Network;
using confine::Result;
using confine::Tier;

/// The Landlock ABI that each tier needs (confine.md): truncating can be refused from 3 on, signals
/// and abstract sockets from 6 on, which nothing else keeps back without namespaces.
constexpr int least_abi(Tier tier) {
  return tier == Tier::full ? 3 : 6;
}

constexpr std::string_view kCaveats[] = {
    "names and metadata outside the grants can be seen (stat, readlink, getxattr, inotify)",
    "the mode and the times of one's own files outside the grants can be changed (chmod, utimes)",
    "/dev/shm is the host's and can be written; so is /proc: command lines of others can be read",
    "no path inside a writable folder can be made read-only",
    "no single host of a network can be granted, and no unix socket can be used",
    "the number of root's processes is not bounded",
    "a descendant may outlive a kill -9 of aegis",
};

std::string join(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

/// What is missing for the tier, and what to do about each.
std::string remedies(Tier tier) {
  const confine::Support support = confine::probe_support();
  std::string text = support.remedies_for(tier);
  if (text.empty()) return text;
  if (tier == Tier::full && support.strongest)
    text += "; --tier landlock is weaker and can be had here";
  return text;
}

Result<Tier> choose_tier(const ConfineRequest& request) {
  if (request.shortfall == ConfineRequest::Shortfall::take_strongest) {
    const auto strongest = confine::probe_support().strongest;
    if (!strongest) return Error{"no tier can be had here" + remedies(Tier::landlock), 0};
    return std::min(*strongest, request.tier);
  }
  if (confine::landlock_abi() < least_abi(request.tier)) {
    return Error{"tier " + std::string(confine::to_string(request.tier)) + " cannot be had here" +
                     remedies(request.tier),
                 0};
  }
  return request.tier;
}

/// What stands for /tmp where it cannot be private.
Result<void> use_scratch(const std::string& folder, confine::Spec& spec) {
  spec.scratch = folder;
  spec.paths.add(
      AEGIS_TRY(confine::resolve_grant(folder, {.may_write = true, .may_execute = true})));
  static constexpr std::string_view kVariable = "TMPDIR=";
  const auto is_tmpdir = [](const std::string& each) { return each.rfind(kVariable, 0) == 0; };
  std::vector<std::string>& all = spec.environment;
  all.erase(std::remove_if(all.begin(), all.end(), is_tmpdir), all.end());
  all.push_back(std::string(kVariable) + folder);
  return {};
}

/// The record must be able to hold what was granted (audit/line.h).
Result<void> check_size(const confine::PathGrants& grants) {
  std::size_t size = 0;
  for (const confine::PathGrant& each : grants.paths) {
    size += 2 * each.path.size();  // writable ones stand there twice
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
    if (std::any_of(each.path.begin(), each.path.end(), is_control))
      return confine::refusal("grant", each.path, "a path with control characters cannot be");
  }
  if (size <= audit::kMaxGrantBytes) return {};
  return confine::refusal(std::to_string(grants.paths.size()) + " grants",
                          {},
                          "too many for the record; grant the folders that hold them");
}

/// What no confined program may reach, whoever starts it.
Kept complete(Kept kept, const ConfineRequest& request, const std::string& home) {
  if (request.profile && request.profile->find('/') != std::string::npos)
    kept.profile = request.profile;
  if (!home.empty()) kept.quarantine = quarantine_folder(home);
  return kept;
}

}  // namespace

Confinement::Confinement(const ConfineRequest& request) : asked_(request.tier) {}

Result<Confinement> Confinement::prepare(ConfineRequest request,
                                         const std::vector<std::string>& argv,
                                         const Kept& kept) {
  Confinement made(request);
  request.tier = AEGIS_TRY(choose_tier(request));
  ConfinePlan plan = AEGIS_TRY(made.plan(request, argv, kept));
  AEGIS_TRY(made.plan_guards(request, plan.spec));
  AEGIS_TRY(made.complete_spec(plan.spec));
  if (request.is_explained) AEGIS_TRY(made.explain_instead(plan, request, kept));
  AEGIS_TRY(made.make_ready(std::move(plan)));
  return made;
}

/// Of a plan that exposes nothing of what is kept.
Result<ConfinePlan> Confinement::plan(const ConfineRequest& request,
                                      const std::vector<std::string>& argv,
                                      const Kept& kept) {
  ConfinePlan plan = AEGIS_TRY(plan_confinement(request, argv, own_environment()));
  kept_ = complete(kept, request, plan.spec.home);
  confine::PathGrants reached = plan.spec.paths;
  if (auto shared = shared_memory(plan.spec.tier)) reached.add(std::move(*shared));
  AEGIS_TRY(check_exposure(reached, kept_));
  return plan;
}

Result<void> Confinement::complete_spec(confine::Spec& spec) {
  if (spec.tier == Tier::landlock) {
    scratch_.emplace(AEGIS_TRY(ScratchFolder::make()));
    AEGIS_TRY(use_scratch(scratch_->path(), spec));
    if (auto shared = shared_memory(spec.tier)) spec.paths.add(std::move(*shared));
  }
  return check_size(spec.paths);
}

Result<void> Confinement::explain_instead(ConfinePlan& plan,
                                          const ConfineRequest& request,
                                          const Kept& kept) {
  explained_.emplace(AEGIS_TRY(Explained::instead_of(plan, request, kept)));
  log("confine: NOT confined: --explain: the program can read the host's files, and has no "
      "network");
  return {};
}

Result<void> Confinement::make_ready(ConfinePlan plan) {
  plan.spec.net = plan.net;
  profile_ = std::move(plan.profile);
  net_ = std::move(plan.net);
  const Tier tier = plan.spec.tier;
  auto prepared = confine::Prepared::make(std::move(plan.spec));
  if (!prepared) return Error{confine::describe(prepared.error()) + remedies(tier), 0};
  prepared_ = std::make_unique<confine::Prepared>(std::move(prepared).value());
  for (const std::string& sentence : plan.left_out)
    log("confine: " + sentence);
  for (const std::string& shortfall : prepared_->shortfalls())
    log("confine: " + shortfall);
  return {};
}

std::string Confinement::describe() const {
  std::string network = "none";
  if (spec().network == Network::unconfined) network = "UNCONFINED";
  if (spec().network == Network::granted) {
    std::vector<std::string> hosts;
    for (const confine::NetGrant& each : net_)
      hosts.push_back(each.host + ":" + std::to_string(each.port));
    network = join(hosts, " ");
  }
  std::string text = "tier " + std::string(confine::to_string(spec().tier));
  if (spec().tier != asked_) text += " (best effort)";
  return text + ", profile " + profile_.name + ", network " + network;
}

std::vector<std::string> Confinement::caveats() const {
  if (spec().tier == Tier::full) return {};
  return {std::begin(kCaveats), std::end(kCaveats)};
}

Confinement::Unstarted Confinement::explain_unstarted(const confine::SetUp& failed) const {
  std::string why = confine::describe_failure(failed, spec());
  // It ended without a word, as only the kernel ends it.
  if (failed.code == ECHILD && spec().bounds.is_memory_asked_for) {
    why = "start " + spec().program + ": it was ended before it ran: --max-memory " +
          std::to_string(spec().bounds.memory) + " bytes may be too little for any program";
  }
  if (failed.stage != confine::Stage::exec || failed.code == 0)
    return {why + remedies(spec().tier), kAegisFailed};
  return {why, failed.code == ENOENT ? kNotFound : kCannotExecute};
}

void Confinement::list_grants() {
  for (const confine::PathGrant& each : spec().paths.paths) {
    read_paths_.push_back(each.path);
    if (each.rights.may_write) write_paths_.push_back(each.path);
  }
  for (const confine::NetGrant& each : net_)
    hosts_.push_back({each.host, each.port});
  if (spec().tier != Tier::full) return;
  namespaces_ = {"cgroup", "ipc", "mount", "pid", "user", "uts"};
  if (spec().network != Network::unconfined) namespaces_.insert(namespaces_.begin() + 3, "net");
}

const audit::Confinement& Confinement::record(const confine::Enforced& enforced) {
  list_grants();
  audit_ = {.tier = confine::to_string(spec().tier),
            .landlock_abi = static_cast<std::uint64_t>(prepared_->landlock_abi()),
            .is_seccomp_network_denied = spec().network == Network::none,
            .namespaces = namespaces_,
            .profile = profile_.name,
            .profile_hash = audit::ProfileHash::of(profile_.text),
            .process_bound = confine::to_string(enforced.process_bound),
            .memory_bound = confine::to_string(enforced.memory_bound),
            .is_best_effort = spec().tier != asked_,
            .is_network_unconfined = spec().network == Network::unconfined,
            .grant = {read_paths_,
                      write_paths_,
                      hosts_,
                      spec().bounds.memory,
                      spec().bounds.output.value_or(0)}};
  return audit_;
}

int show_profile(const ConfineRequest& request, const std::vector<std::string>& argv) {
  auto text = shown_profile(request, argv, own_environment());
  if (!text) {
    log(text.error());
    return kAegisFailed;
  }
  return write_out(*text) ? 0 : kAegisFailed;
}

}  // namespace aegis::wrap
