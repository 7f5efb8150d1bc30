// SPDX-License-Identifier: Apache-2.0 OR MIT
// Connects of blocking sockets that wait for the other side. Each of them has its caller asleep, so
// there are never more than the program has threads, nor more than kMaxPending.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "confine/address.h"
#include "confine/caller.h"
#include "confine/fd.h"
#include "confine/listener.h"
#include "confine/reporter.h"

namespace aegis::confine {

inline constexpr std::size_t kMaxPending = 256;

using Clock = std::chrono::steady_clock;

struct PendingConnect {
  Call call;
  Caller caller;
  Fd old;    // the program's socket
  Fd fresh;  // the host's, which takes its place; not open when `old` itself is connecting
  Endpoint to;
  std::optional<Clock::time_point> deadline = {};  // SO_SNDTIMEO's
};

class PendingConnects {
 public:
  /// Both outlive this.
  PendingConnects(const Listener& listener, Reporter& reporter)
      : listener_(listener), reporter_(reporter) {}

  /// Answers the call with EAGAIN when there is no room for one more.
  void add(PendingConnect pending);

  /// Adds what to wait for, at the end of `polled`.
  void watch(std::vector<pollfd>& polled);
  /// After poll(2) over what watch() added.
  void serve(const std::vector<pollfd>& polled, Clock::time_point now);
  /// Whether serve() wants to be called about every second.
  [[nodiscard]] bool has_deadline() const { return !pending_.empty(); }

 private:
  void finish(const PendingConnect& pending, int code);
  void forget_the_dead();

  const Listener& listener_;
  Reporter& reporter_;
  std::vector<PendingConnect> pending_;
  std::size_t watched_from_ = 0;  // pending_ in its order
  Clock::time_point swept_ = {};
};

}  // namespace aegis::confine
