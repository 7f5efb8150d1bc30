// SPDX-License-Identifier: Apache-2.0 OR MIT
// See pump.h.
#include "wrap/pump.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "wrap/exit_codes.h"
#include "wrap/limits.h"
#include "wrap/log.h"
#include "wrap/stdio.h"

namespace aegis::wrap {
namespace {

constexpr std::size_t kBuffer = 65'536;

/// One way, with what was read and not yet written.
class Channel {
 public:
  /// Whether the end of one side is the end of the other too.
  enum class AtEnd : std::uint8_t { close, keep };
  Channel(Stream from, Stream to, AtEnd at_end)
      : from_(std::move(from)), to_(std::move(to)), at_end_(at_end) {}

  /// For poll(2): what this waits for.
  [[nodiscard]] pollfd reading() const {
    return {begin_ == end_ && from_.is_open() ? from_.fd() : -1, POLLIN, 0};
  }
  [[nodiscard]] pollfd writing() const {
    return {to_.fd(), static_cast<short>(begin_ == end_ ? 0 : POLLOUT), 0};
  }
  [[nodiscard]] bool is_done() const { return begin_ == end_ && !from_.is_open(); }

  std::function<void(std::string_view)> on_read = {};  // may be empty

  /// The errno by which what had been read could not be written; 0: all was.
  [[nodiscard]] int failure() const { return failure_; }
  /// Something came when the budget was spent.
  [[nodiscard]] bool is_over() const { return is_over_; }

  /// Reads at most as much as `budget` still has, and takes it from there.
  void move(short readable, short writable, std::uint64_t& budget) {
    if (writable != 0 && begin_ == end_ && (writable & (POLLERR | POLLHUP | POLLNVAL)) != 0)
      close();
    if (readable != 0 && begin_ == end_ && from_.is_open()) read(budget);
    if (begin_ != end_) write();
  }
  /// Nobody reads any more, so nobody may write either.
  void close() {
    from_.close();
    to_.close();
    begin_ = end_ = 0;
  }

 private:
  void read(std::uint64_t& budget) {
    const bool is_spent = budget == 0;  // then one byte tells more from the end
    const std::size_t most = is_spent ? 1 : std::min<std::uint64_t>(buffer_.size(), budget);
    const Transfer got = from_.read({buffer_.data(), most});
    if (got.kind == Transfer::Kind::later) return;
    if (is_spent && got.kind == Transfer::Kind::moved) {
      is_over_ = true;
      from_.close();
      return;
    }
    if (got.kind != Transfer::Kind::moved) {
      from_.close();
      if (at_end_ == AtEnd::close) to_.close();
      return;
    }
    begin_ = 0;
    end_ = got.count;
    budget -= got.count;
    if (on_read) on_read({buffer_.data(), got.count});
  }
  void write() {
    const Transfer put = to_.write(std::string_view(buffer_.data() + begin_, end_ - begin_));
    if (put.kind == Transfer::Kind::moved) begin_ += put.count;
    if (put.kind == Transfer::Kind::failed) failure_ = put.code;
    if (put.kind == Transfer::Kind::closed || put.kind == Transfer::Kind::failed) close();
  }

  Stream from_;
  Stream to_;
  AtEnd at_end_;
  std::array<char, kBuffer> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool is_over_ = false;
  int failure_ = 0;
};

class Pump {
 public:
  Pump(Server& server, PumpOptions options)
      : server_(server),
        options_(std::move(options)),
        input_(Stream::inherited(STDIN_FILENO),
               Stream::own(std::move(server.input())),
               Channel::AtEnd::close),
        output_(Stream::own(std::move(server.output())),
                Stream::inherited(STDOUT_FILENO),
                Channel::AtEnd::close),
        errors_(Stream::own(std::move(server.errors())),
                Stream::inherited(STDERR_FILENO),
                Channel::AtEnd::keep) {  // aegis speaks there too
    errors_.on_read = std::move(options_.on_errors);
  }

  Pumped run() {
    while (!(ended_ && output_.is_done() && errors_.is_done()))
      turn();
    server_.kill();
    server_.wait_for_keeper(kKeeperWait);
    if (stop_signal_) return {kSignalBase + *stop_signal_, std::nullopt};
    // The command believed that its words were taken.
    if (output_.failure() != 0) {
      log(std::string("confine: writing to stdout: ") + std::strerror(output_.failure()));
      return {kAegisFailed, std::nullopt};
    }
    if (is_ended_by_us_) return {kSignalBase + SIGKILL, std::nullopt};
    if (!ended_->wait_status) {
      log("confine: the sandbox was killed before it could tell how the command ended");
      return {kAegisFailed, std::nullopt};
    }
    return {exit_code_of(*ended_->wait_status), ended_->wait_status};
  }

 private:
  void turn() {
    std::vector<pollfd> watched{input_.reading(),
                                input_.writing(),
                                output_.reading(),
                                output_.writing(),
                                errors_.reading(),
                                errors_.writing(),
                                pollfd{options_.signals.get(), POLLIN, 0},
                                pollfd{ended_ ? -1 : server_.control_fd(), POLLIN, 0}};
    const std::size_t own = watched.size();
    for (const Watch& watch : options_.watches)
      watched.push_back({watch.fd, POLLIN, 0});
    if (::poll(watched.data(), watched.size(), timeout_ms()) == 0) server_.kill();
    input_.move(watched[0].revents, watched[1].revents, input_budget_);
    output_.move(watched[2].revents, watched[3].revents, output_budget_);
    errors_.move(watched[4].revents, watched[5].revents, output_budget_);
    check_output();
    if (watched[6].revents != 0) on_signal();
    if (watched[7].revents != 0) on_end();
    for (std::size_t i = 0; i < options_.watches.size(); ++i) {
      if (watched[own + i].revents != 0 && options_.watches[i].on_ready()) end_for_cause();
    }
  }

  [[nodiscard]] int timeout_ms() const {
    if (!kill_at_) return -1;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        *kill_at_ - std::chrono::steady_clock::now());
    return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
  }

  void check_output() {
    if (is_ended_by_us_ || !(output_.is_over() || errors_.is_over())) return;
    log("confine: the command wrote more than --max-output " +
        std::to_string(*options_.max_output) + " bytes and was ended");
    end_for_cause();
  }

  /// The user has been told why. Nothing that comes from now on is carried.
  void end_for_cause() {
    is_ended_by_us_ = true;
    output_budget_ = 0;
    server_.kill();
  }

  void on_signal() {
    signalfd_siginfo signal;
    while (::read(options_.signals.get(), &signal, sizeof signal) == sizeof signal) {
      if (stop_signal_) server_.kill();
      stop_signal_ = static_cast<int>(signal.ssi_signo);
      server_.terminate();
      kill_at_ = std::chrono::steady_clock::now() + kKillDelay;
    }
  }

  /// What it has left behind dies with it; then its pipes reach their end.
  void on_end() {
    ended_ = server_.next_report();
    if (!ended_) return;
    input_.close();
    kill_at_.reset();
    server_.kill();
  }

  Server& server_;
  PumpOptions options_;
  std::uint64_t input_budget_ = UINT64_MAX;
  std::uint64_t output_budget_ = options_.max_output.value_or(UINT64_MAX);  // of both
  Channel input_;
  Channel output_;
  Channel errors_;
  std::optional<Server::Ended> ended_;
  std::optional<int> stop_signal_;
  std::optional<std::chrono::steady_clock::time_point> kill_at_;
  bool is_ended_by_us_ = false;
};

}  // namespace

Pumped run_pump(Server& server, PumpOptions options) {
  return Pump(server, std::move(options)).run();
}

}  // namespace aegis::wrap
