// SPDX-License-Identifier: Apache-2.0 OR MIT
// What is watched while a confined program runs: the configuration files of the folders it may
// write, the room on their disks, and what its network's supervisor tells.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "confine/hint.h"
#include "confine/net_report.h"
#include "confine/space.h"
#include "wrap/confinement.h"
#include "wrap/log.h"
#include "wrap/places.h"

namespace aegis::wrap {
namespace {

using confine::Fd;
using confine::Result;

/// With what to do about it, which is a flag of the verbs that run any program.
std::string describe_with_flag(const confine::GuardFinding& finding) {
  const bool is_moved = finding.kind == confine::GuardFinding::Kind::moved;
  return confine::describe(finding) + (is_moved ? "; --allow-config-write would let it be" : "");
}

/// The same flag, for what the guard refuses by itself.
confine::Error with_flag(confine::Error error) {
  if (error.code == 0) error.doing += "; --allow-config-write goes without the guard";
  return error;
}

Result<Fd> make_timer() {
  Fd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  const itimerspec every_second{{1, 0}, {0, 1}};  // and at once
  if (!timer.is_open() || ::timerfd_settime(timer.get(), 0, &every_second, nullptr) != 0)
    return confine::errno_error("make a timer");
  return timer;
}

/// Every writable folder, and those that were named although they lie in another one.
Result<std::vector<std::string>> folders_to_guard(const ConfineRequest& request,
                                                  const confine::PathGrants& grants) {
  std::vector<std::string> folders;
  for (const confine::PathGrant& each : grants.paths) {
    if (each.rights.may_write && each.is_directory) folders.push_back(each.path);
  }
  std::vector<std::string> named = request.write;
  if (request.workspace) named.push_back(*request.workspace);
  for (const std::string& path : named) {
    confine::PathGrant grant =
        AEGIS_TRY(confine::resolve_grant(path, {.may_write = true, .may_execute = false})).grant;
    if (grant.is_directory) folders.push_back(std::move(grant.path));
  }
  std::sort(folders.begin(), folders.end());
  folders.erase(std::unique(folders.begin(), folders.end()), folders.end());
  return folders;
}

void append(std::vector<std::string> from, std::vector<std::string>& to) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

Result<void> Confinement::plan_guards(const ConfineRequest& request, confine::Spec& spec) {
  if (request.config_write == ConfineRequest::ConfigWrite::allowed) return {};
  for (const std::string& folder : AEGIS_TRY(folders_to_guard(request, spec.paths))) {
    auto plan = confine::plan_guard({folder, spec.home});
    if (!plan) return with_flag(std::move(plan).error());
    plans_.push_back(std::move(plan).value());
    for (const std::string& note : plans_.back().notes)
      log("confine: " + note);
  }
  if (spec.tier != confine::Tier::full) return {};
  for (const confine::GuardPlan& plan : plans_) {
    append(plan.self_bound_paths(), spec.self_bound);
    append(plan.read_only_paths(), spec.read_only);
  }
  return {};
}

Result<void> Confinement::start_watching() {
  if (plans_.empty()) return {};
  if (spec().home.empty()) {
    return confine::refusal("guard the writable folders",
                            {},
                            "there is no home folder to move what appears to; set HOME, or "
                            "--allow-config-write");
  }
  // Made when it is needed.
  const std::string quarantine = quarantine_of_run(spec().home);
  for (confine::GuardPlan& plan : plans_) {
    auto guard = confine::GuardWatch::start(std::move(plan), quarantine);
    if (!guard) return with_flag(std::move(guard).error());
    guards_.push_back(std::move(guard).value());
  }
  plans_.clear();
  timer_ = AEGIS_TRY(make_timer());
  return {};
}

std::optional<Ending> Confinement::look_after(confine::GuardWatch& guard, const Note& note) {
  bool is_lost = false;
  for (const confine::GuardFinding& finding : guard.on_event()) {
    note(describe_with_flag(finding));
    is_lost |= finding.is_guard_lost();
  }
  // In tier landlock nothing was mounted, so nothing that was can be lost.
  if (is_lost && spec().tier == confine::Tier::full) {
    log("confine: the program is ended, since its folder can no longer be guarded");
    return Ending::guard_lost;
  }
  if (guard.is_overrun()) {
    log("confine: the program is ended: it goes on making configuration files");
    return Ending::guard_lost;
  }
  return std::nullopt;
}

/// The guards too: what happened before anything was watched, and what no event told.
std::optional<Ending> Confinement::on_timer(const Note& note) {
  std::uint64_t ignored = 0;
  static_cast<void>(!::read(timer_.get(), &ignored, sizeof ignored));
  for (confine::GuardWatch& guard : guards_) {
    if (const auto ending = look_after(guard, note)) return ending;
    if (!confine::is_below_floor(guard.folder_fd())) continue;
    log("confine: the program is ended: the disk that it writes to is nearly full");
    return Ending::disk_floor;
  }
  return std::nullopt;
}

/// All that the supervisor has said by now.
void Confinement::read_reports(const Note& note) {
  std::array<std::byte, sizeof(confine::NetReport)> datagram;
  for (;;) {
    const ssize_t size = ::recv(net_reports_, datagram.data(), datagram.size(), MSG_DONTWAIT);
    if (size <= 0) return;
    const auto report =
        confine::decode_net_report({datagram.data(), static_cast<std::size_t>(size)});
    if (!report) continue;
    if (explained_) explained_->note(*report);
    if (report->lost > 0) note(std::to_string(report->lost) + " reports of the network were lost");
    if (report->kind != confine::NetReport::Kind::connected) note(confine::describe(*report));
  }
}

std::vector<Watch> Confinement::watches(int net_reports, const Note& note) {
  std::vector<Watch> watches;
  for (confine::GuardWatch& guard : guards_) {
    watches.push_back({guard.fd(), [this, &guard, note] { return look_after(guard, note); }});
  }
  if (timer_.is_open()) watches.push_back({timer_.get(), [this, note] { return on_timer(note); }});
  net_reports_ = net_reports;
  if (net_reports >= 0) {
    watches.push_back({net_reports, [this, note]() -> std::optional<Ending> {
                         read_reports(note);
                         return std::nullopt;
                       }});
  }
  return watches;
}

void Confinement::note_errors(std::string_view text) {
  errors_ += text;
  // Cut seldom, not at every line.
  if (errors_.size() > 2 * confine::kMaxHintText)
    errors_.erase(0, errors_.size() - confine::kMaxHintText);
}

/// To grant it would be no advice: the next start would refuse that, or it is granted by the name
/// that it has without links.
bool Confinement::is_beside_advice(const std::string& path) const {
  const auto resolved = confine::resolve_grant(path, {});
  if (!resolved) return false;
  const std::string& real = resolved->grant.path;
  if (real != path && spec().paths.find(real) != nullptr) return true;
  confine::PathGrants alone;
  alone.add(*resolved);
  return !check_exposure(alone, kept_);
}

void Confinement::explain_end(int wait_status) const {
  if (wait_status == 0 || explained_) return;
  const auto is_on_host = [this](const std::string& path) {
    return ::faccessat(AT_FDCWD, path.c_str(), F_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0 &&
           !is_beside_advice(path);
  };
  const confine::Spec& done = spec();
  for (const std::string& hint : confine::explain_death(
           {errors_, wait_status, done.paths, done.tier, done.network, done.home, is_on_host}))
    log("confine: likely cause: " + hint);
}

void Confinement::finish(const Note& note) {
  for (const std::string& line : prepared_->finish())
    note(line);
  for (confine::GuardWatch& guard : guards_) {
    for (const confine::GuardFinding& finding : guard.finish())
      note(describe_with_flag(finding));
  }
  if (!explained_) return;
  read_reports(note);
  explained_->report(prepared_->wishes());
}

}  // namespace aegis::wrap
