// SPDX-License-Identifier: Apache-2.0 OR MIT
// See pending_connects.h.
#include "confine/pending_connects.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "confine/socket_options.h"
#include "confine/socket_swap.h"

namespace aegis::confine {
namespace {

constexpr std::chrono::seconds kSweep{1};

int connecting_fd(const PendingConnect& pending) {
  return pending.fresh.is_open() ? pending.fresh.get() : pending.old.get();
}

}  // namespace

void PendingConnects::add(PendingConnect pending) {
  if (pending_.size() >= kMaxPending) forget_the_dead();
  if (pending_.size() >= kMaxPending) {
    listener_.answer(pending.call.id, EAGAIN);
    return;
  }
  pending_.push_back(std::move(pending));
}

void PendingConnects::watch(std::vector<pollfd>& polled) {
  watched_from_ = polled.size();
  for (const PendingConnect& each : pending_)
    polled.push_back({connecting_fd(each), POLLOUT, 0});
}

void PendingConnects::serve(const std::vector<pollfd>& polled, Clock::time_point now) {
  std::size_t kept = 0;
  for (std::size_t at = 0; at < pending_.size(); ++at) {
    PendingConnect& each = pending_[at];
    if (polled[watched_from_ + at].revents != 0) {
      finish(each, take_error(connecting_fd(each)));
      continue;
    }
    if (each.deadline && now >= *each.deadline) {
      finish(each, EINPROGRESS);  // as socket(7) says of SO_SNDTIMEO
      continue;
    }
    if (kept != at) pending_[kept] = std::move(each);
    ++kept;
  }
  pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(kept), pending_.end());
  if (now - swept_ < kSweep) return;
  swept_ = now;
  forget_the_dead();
}

void PendingConnects::finish(const PendingConnect& pending, int code) {
  const bool is_going_on = code == 0 || code == EINPROGRESS;
  if (pending.fresh.is_open() && is_going_on) {
    const int failed = swap_socket(
        listener_, pending.call, pending.caller, pending.old.get(), pending.fresh.get());
    if (failed != 0) code = failed;
  }
  if (!pending.fresh.is_open() && code == ECONNREFUSED) {
    NetReport report;
    report.kind = NetReport::Kind::refused_connect;
    report.endpoint = pending.to;
    reporter_.send(report);
  }
  listener_.answer(pending.call.id, code);
}

void PendingConnects::forget_the_dead() {
  std::erase_if(pending_,
                [this](const PendingConnect& each) { return !listener_.is_waiting(each.call.id); });
}

}  // namespace aegis::confine
