// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the loop does for a broker: hands it what may begin, brings its answers to the client, and
// ends it. Nothing here waits but the session's end, and that for milliseconds.
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "wrap/clock.h"
#include "wrap/limits.h"
#include "wrap/loop.h"

namespace aegis::wrap {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

/// What it has begun, cancelled or done at once; after the intents were recorded.
void Loop::begin_tasks() {
  if (options_.broker == nullptr) return;
  for (BrokerTask& task : session_.take_tasks())
    tasks_.push_back(std::move(task));
  for (const std::uint64_t ticket : session_.take_cancelled())
    cancel_task(ticket);
  take_done();
  // An answer may be a thousand times as long as what asks for it: a client that does not read gets
  // no more than one above the limit.
  while (!tasks_.empty() && to_client_.queued_own() < kReplyLimit) {
    options_.broker->begin(tasks_.front().ticket, tasks_.front().request);
    tasks_.pop_front();
    take_done();
  }
}

/// One that waits is begun for it: every task has an end, and that is the broker's to tell.
void Loop::cancel_task(Broker::Ticket ticket) {
  const auto waiting = std::find_if(
      tasks_.begin(), tasks_.end(), [&](const BrokerTask& task) { return task.ticket == ticket; });
  if (waiting != tasks_.end()) {
    options_.broker->begin(ticket, waiting->request);
    tasks_.erase(waiting);
  }
  options_.broker->cancel(ticket);
}

void Loop::take_done() {
  for (Broker::Done& done : options_.broker->take_done()) {
    session_.broker_done(std::move(done), to_client_.queued_total());
    to_client_.insert(session_.take_replies());
    // The grace bounds silence, not work.
    if (phase_ == Phase::draining) arm_deadline();
    if (broker_deadline_ns_) broker_deadline_ns_ = now_.mono_ns + nanoseconds(options_.grace);
  }
}

/// `first_watched`: where in watched_ its descriptors begin.
void Loop::on_broker(std::size_t first_watched) {
  if (options_.broker == nullptr) return;
  for (std::size_t i = first_watched; i < watched_.size(); ++i) {
    if (watched_[i].revents != 0) options_.broker->on_ready(watched_[i].fd);
  }
  take_done();
}

/// A client that does not read gets none: they are worth nothing later.
void Loop::report_progress() {
  const auto next = session_.next_progress_ns();
  if (!next || now_.mono_ns < *next) return;
  session_.report_progress(now_);
  std::string frames = session_.take_replies();
  if (client_out_.is_open() && to_client_.queued_own() < kReplyLimit)
    to_client_.insert(std::move(frames));
}

/// The client's input has ended, and it still reads: what runs may finish within the grace, even if
/// the server has ended with its own input.
bool Loop::awaits_broker() const {
  return broker_deadline_ns_ && session_.brokered() > 0 && client_out_.is_open() && !stop_signal_ &&
         !enforced_;
}

/// Kills what runs and takes its end onto the record, with what it had been granted.
void Loop::end_broker(Ending why) {
  if (options_.broker == nullptr || session_.brokered() == 0) return;
  session_.end_broker(why);
  tasks_.clear();  // the session closes them
  options_.broker->cancel_all();
  take_done();
  const auto until = Clock::now() + kBrokerWait;
  std::vector<pollfd> watched;
  while (session_.brokered() > 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    watched.clear();
    for (const int fd : options_.broker->descriptors())
      watched.push_back({fd, POLLIN, 0});
    if (left.count() <= 0 || watched.empty()) return;
    if (::poll(watched.data(), watched.size(), static_cast<int>(left.count())) <= 0) return;
    for (const pollfd& each : watched) {
      if (each.revents != 0) options_.broker->on_ready(each.fd);
    }
    take_done();
  }
}

}  // namespace aegis::wrap
