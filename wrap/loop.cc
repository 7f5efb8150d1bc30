// SPDX-License-Identifier: Apache-2.0 OR MIT
// The wake-ups and the end of a session. How bytes are read and written is in loop_transfer.cc.
#include "wrap/loop.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "wrap/clock.h"
#include "wrap/exit_codes.h"
#include "wrap/limits.h"
#include "wrap/log.h"

namespace aegis::wrap {
namespace {

constexpr std::size_t kOwnWatched = 8;  // descriptors of the loop itself
constexpr std::uint64_t kNanosecondsPerMillisecond = 1'000'000;

Moment moment() {
  return {monotonic_ns(), wall_clock()};
}

}  // namespace

Loop::Loop(LoopParts parts, LoopOptions options)
    : session_(parts.session),
      record_(parts.record),
      server_(parts.server),
      options_(std::move(options)),
      client_in_(Stream::inherited(STDIN_FILENO)),
      client_out_(Stream::inherited(STDOUT_FILENO)),
      errors_out_(Stream::inherited(STDERR_FILENO)),
      server_in_(Stream::own(std::move(server_.input()))),
      server_out_(Stream::own(std::move(server_.output()))),
      server_errors_(Stream::own(std::move(server_.errors()))),
      to_server_(options_.max_frame),
      to_client_(options_.max_frame) {}

void Loop::say(std::string_view what) const {
  log(std::string(options_.verb).append(": ").append(what));
}

struct Loop::Ready {
  short client_in, client_out, server_in, server_out, server_errors, errors_out, signals, keeper;
};

int Loop::run() {
  const LogQueue own_lines(errors_, kQueueLimit);
  now_ = moment();
  // A named pipe without a writer shows no end of input to poll(2) (fifo(7)); a read does.
  if (client_in_.is_nonblocking()) {
    read_client();
    write_server();
    update_record();
  }
  while (!is_done()) {
    const Ready ready = wait();
    now_ = moment();
    take_in(ready);
    report_progress();
    write_client();
    begin_tasks();
    write_server();
    write_errors();
    update_record();
    on_deadline();
  }
  seal({server_ending(), cause_.value_or(server_ending())});
  return end_server();
}

std::optional<int> Loop::wait_status() const {
  if (stop_signal_ || enforced_ || !server_ended_) return std::nullopt;
  return server_ended_->wait_status;
}

/// Signals first: what they stop must not be read any more.
void Loop::take_in(const Ready& ready) {
  if (ready.signals != 0) on_signals();
  if (ready.keeper != 0) on_keeper();
  if ((ready.client_out & (POLLERR | POLLHUP | POLLNVAL)) != 0) client_gone();
  // Before the server's words: what it was refused belongs to the call that it now answers.
  for (std::size_t i = 0; i < options_.watches.size() && !watched_.empty(); ++i) {
    if (watched_[kOwnWatched + i].revents == 0) continue;
    if (const auto ending = options_.watches[i].on_ready()) enforce(*ending);
  }
  on_broker(kOwnWatched + options_.watches.size());
  // What happened above may have closed any of them.
  if (ready.server_out != 0 && server_out_.is_open()) read_server();
  if (ready.client_in != 0 && client_in_.is_open())
    is_client_wanted_ ? read_client() : await_server(Ending::client_closed);
  if (ready.server_errors != 0) read_errors();
}

/// Returns aegis's exit code.
int Loop::end_server() {
  server_.kill();
  if (!server_.wait_for_keeper(kKeeperWait)) {
    say("ending the server: some of its processes are still ending");
  }
  write_errors();  // as far as that goes at once
  if (stop_signal_) return kSignalBase + *stop_signal_;
  if (enforced_) return kSignalBase + SIGKILL;
  if (server_ended_ && server_ended_->wait_status) return exit_code_of(*server_ended_->wait_status);
  return kAegisFailed;
}

Loop::Ready Loop::wait() {
  const auto when = [](bool wanted, const Stream& stream, short events) {
    return pollfd{wanted ? stream.fd() : -1, events, 0};
  };
  const short client_events = to_client_.front().empty() ? 0 : POLLOUT;
  // While the server does not read, neither is the client read; that its input has ended is seen
  // all the same, or a server that never reads again would never be ended.
  is_client_wanted_ = wants_client();
  const bool is_end_watched = !is_client_wanted_ && phase_ == Phase::relaying;
  const std::array<pollfd, kOwnWatched> own{
      is_end_watched ? when(true, client_in_, POLLRDHUP)
                     : when(is_client_wanted_, client_in_, POLLIN),
      // Without an event asked for, it still tells that the client's reading end is gone.
      when(true, client_out_, client_events),
      when(!to_server_.front().empty(), server_in_, POLLOUT),
      when(wants_server(), server_out_, POLLIN),
      when(errors_.empty(), server_errors_, POLLIN),
      when(!errors_.empty(), errors_out_, POLLOUT),
      pollfd{options_.signals.get(), POLLIN, 0},
      pollfd{server_ended_ ? -1 : server_.control_fd(), POLLIN, 0},
  };
  watched_.assign(own.begin(), own.end());
  for (const Watch& watch : options_.watches)
    watched_.push_back({watch.fd, POLLIN, 0});
  if (options_.broker != nullptr) {
    for (const int fd : options_.broker->descriptors())
      watched_.push_back({fd, POLLIN, 0});
  }
  const int count = ::poll(watched_.data(), watched_.size(), timeout_ms());
  if (count <= 0) {  // EINTR cannot be: every handled signal is blocked
    watched_.clear();
    return {};
  }
  return {watched_[0].revents,
          watched_[1].revents,
          watched_[2].revents,
          watched_[3].revents,
          watched_[4].revents,
          watched_[5].revents,
          watched_[6].revents,
          watched_[7].revents};
}

int Loop::timeout_ms() const {
  std::uint64_t next = UINT64_MAX;
  for (const auto& each : {deadline_ns_,
                           sync_deadline_ns_,
                           broker_deadline_ns_,
                           errors_deadline_ns_,
                           session_.next_progress_ns()})
    next = std::min(next, each.value_or(UINT64_MAX));
  if (next == UINT64_MAX) return -1;
  const std::uint64_t now = monotonic_ns();
  if (next <= now) return 0;
  // Rounded up: waking before the deadline would only spin.
  return static_cast<int>((next - now + kNanosecondsPerMillisecond - 1) /
                          kNanosecondsPerMillisecond);
}

bool Loop::is_done() const {
  if (awaits_broker()) return false;
  if (!server_ended_) return is_abandoned_;
  const bool is_read = !server_out_.is_open() && !server_errors_.is_open();
  const bool is_delivered = !client_out_.is_open() || to_client_.queued() == 0;
  const bool is_told = !errors_out_.is_open() || errors_.empty() || stop_signal_;
  return (is_read || is_abandoned_) && is_delivered && is_told;
}

void Loop::on_signals() {
  signalfd_siginfo info{};
  while (::read(options_.signals.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGHUP) {
      if (options_.reload_policy) options_.reload_policy();
    } else {
      stop(static_cast<int>(info.ssi_signo));
    }
  }
}

/// Nothing more is relayed; the record is sealed now, while the server is still ending.
void Loop::stop(int signal) {
  if (stop_signal_) {
    server_.kill();
    set_phase(Phase::killed);
    return;
  }
  stop_signal_ = signal;
  client_in_.close();
  client_out_.close();
  to_client_.discard();
  to_server_.discard();
  session_.client_gone();
  seal({Ending::stopped, Ending::stopped});
  server_in_.close();
  if (phase_ == Phase::killed) return;
  server_.terminate();
  set_phase(Phase::ending);
}

void Loop::on_keeper() {
  server_ended_ = server_.next_report();
  if (!server_ended_) return;
  if (!server_ended_->wait_status && !enforced_) {
    say("watching the server: its keeper process was killed, so the server was ended");
  }
  to_server_.discard();
  client_in_.close();
  server_in_.close();
}

/// The server has ended: once its last words are read, what it left behind is killed, so that its
/// pipes end too.
void Loop::finish_server() {
  if (!server_ended_ || phase_ == Phase::killed) return;
  is_output_drained_ = false;
  while (server_out_.is_open() && !is_output_drained_ && wants_server())
    read_server();
  if (server_out_.is_open() && !is_output_drained_) return;  // until the client has read some
  server_.kill();
  set_phase(Phase::killed);
}

/// Phases only advance.
void Loop::set_phase(Phase phase) {
  if (phase <= phase_) return;
  phase_ = phase;
  arm_deadline();
}

void Loop::arm_deadline() {
  switch (phase_) {
    case Phase::relaying:
      deadline_ns_.reset();
      break;
    case Phase::draining:
      deadline_ns_ = now_.mono_ns + nanoseconds(options_.grace);
      break;
    case Phase::ending:
      deadline_ns_ = now_.mono_ns + nanoseconds(kKillDelay);
      break;
    case Phase::killed:
      deadline_ns_ = now_.mono_ns + nanoseconds(kKeeperWait);
      break;
  }
}

void Loop::on_deadline() {
  finish_server();
  bound_errors();
  if (broker_deadline_ns_ && now_.mono_ns >= *broker_deadline_ns_) {
    end_broker(Ending::grace_ran_out);
    broker_deadline_ns_.reset();
  }
  if (!deadline_ns_ || now_.mono_ns < *deadline_ns_) return;
  switch (phase_) {
    case Phase::relaying:
      break;
    case Phase::draining:
      client_in_.close();  // what was not read of it will not be
      if (!session_.is_sealed() && session_.in_flight() > session_.brokered()) {
        say("ending the server: it did not answer within the grace after its client closed "
            "(--grace)");
      }
      seal({to_client_.is_oversize() ? Ending::server_oversize : Ending::grace_ran_out,
            cause_ == Ending::client_closed ? Ending::grace_ran_out : *cause_});
      server_.terminate();
      set_phase(Phase::ending);
      break;
    case Phase::ending:
      server_.kill();
      set_phase(Phase::killed);
      break;
    case Phase::killed:
      is_abandoned_ = true;
      deadline_ns_.reset();
      break;
  }
}

/// Its client has ended: from now on the grace bounds its silence.
void Loop::await_server(Ending cause) {
  if (phase_ != Phase::relaying) return;
  cause_ = cause;
  set_phase(Phase::draining);
  if (options_.broker != nullptr) broker_deadline_ns_ = deadline_ns_;
}

/// No more frames of the client can come.
void Loop::client_closed(Ending ending) {
  client_in_.close();
  await_server(ending);
}

/// The client reads no more: what it was to get is thrown away, and answers are only recorded.
void Loop::client_gone() {
  client_out_.close();
  to_client_.discard();
  session_.client_gone();
  client_closed(Ending::client_closed);
  if (options_.broker != nullptr) {
    session_.end_broker(Ending::client_closed);
    options_.broker->cancel_all();
  }
}

/// The server is killed for what it did; its calls are closed with that.
void Loop::enforce(Ending ending) {
  if (enforced_) return;
  enforced_ = ending;
  if (!cause_) cause_ = ending;
  server_.kill();
  set_phase(Phase::killed);
}

/// What goes beyond is not relayed.
bool Loop::is_within_output(std::size_t bytes) {
  output_ += bytes;
  if (!options_.max_output || output_ <= *options_.max_output) return true;
  if (enforced_) return false;
  say("the server wrote more than --max-output " + std::to_string(*options_.max_output) +
      " bytes and is ended");
  enforce(Ending::output_exceeded);
  return false;
}

/// What the server's own end is called.
Ending Loop::server_ending() const {
  if (enforced_) return *enforced_;
  const bool is_trapped = server_ended_ && server_ended_->wait_status &&
                          WIFSIGNALED(*server_ended_->wait_status) &&
                          WTERMSIG(*server_ended_->wait_status) == SIGSYS;
  if (is_trapped) return Ending::server_trapped;
  // Its output was cut there: whatever it answered later was not read.
  return to_client_.is_oversize() ? Ending::server_oversize : Ending::server_ended;
}

void Loop::seal(Session::Seal seal) {
  if (session_.is_sealed()) return;
  end_broker(seal.calls);
  session_.delivered(to_client_.written_total(), now_);
  session_.seal(seal, now_);
  commit(options_.durability == Durability::off ? AuditFile::Force::written
                                                : AuditFile::Force::synced);
  sync_deadline_ns_.reset();
}

}  // namespace aegis::wrap
