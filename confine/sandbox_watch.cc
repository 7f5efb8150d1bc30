// SPDX-License-Identifier: Apache-2.0 OR MIT
// See sandbox_watch.h.
#include "confine/sandbox_watch.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

namespace aegis::confine {
namespace {

using Clock = std::chrono::steady_clock;
using How = SandboxEnd::How;
using std::chrono::milliseconds;

class Watcher {
 public:
  Watcher(Child& child, SandboxWatch watch) : child_(child), watch_(std::move(watch)) {}

  SandboxEnd run() {
    const Clock::time_point start = Clock::now();
    const Clock::time_point deadline = start + watch_.bounds.time;
    end_.how = How::ended;
    while (is_going_on(deadline)) {
    }
    if (end_.how != How::ended) child_.kill();
    const std::optional<int> status = child_.wait();
    if (end_.how == How::ended) end_.wait_status = status;
    // Nobody is left who could write, so what is in the pipes is all.
    read_rest(watch_.pipes.output, end_.out);
    read_rest(watch_.pipes.errors, end_.err);
    end_.duration = std::chrono::duration_cast<milliseconds>(Clock::now() - start);
    return std::move(end_);
  }

 private:
  /// Waits once. False when the program has ended or is to be ended.
  bool is_going_on(Clock::time_point deadline) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    std::array<pollfd, 5> watched{{{child_.end_fd(), POLLIN, 0},
                                   {watch_.control, POLLIN, 0},
                                   {watch_.pipes.output.get(), POLLIN, 0},
                                   {watch_.pipes.errors.get(), POLLIN, 0},
                                   {watch_.pipes.input.get(), POLLOUT, 0}}};
    const int ready = ::poll(watched.data(),
                             watched.size(),
                             static_cast<int>(std::max<milliseconds::rep>(left.count(), 0)));
    if (ready < 0 && errno != EINTR) return ended(How::cancelled);  // out of memory: end it
    if (ready <= 0) return Clock::now() < deadline || ended(How::timeout);
    if (watched[0].revents != 0) return false;
    if (watched[1].revents != 0) return ended(How::cancelled);
    if (watched[2].revents != 0) read_once(watch_.pipes.output, end_.out);
    if (watched[3].revents != 0) read_once(watch_.pipes.errors, end_.err);
    if (watched[4].revents != 0) feed();
    if (end_.is_truncated) return ended(How::output);
    return Clock::now() < deadline || ended(How::timeout);
  }

  bool ended(How how) {
    end_.how = how;
    return false;
  }

  /// What one read(2) gives, of which as much is kept as both streams may bring. Closes at its end.
  /// False when there is nothing more now.
  bool read_once(Fd& pipe, std::string& into) {
    std::array<char, std::size_t{64} << 10U> piece;  // NOLINT(*-member-init): read(2) fills it
    const ssize_t got = ::read(pipe.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) return true;
    if (got < 0 && errno == EAGAIN) return false;
    if (got <= 0) {
      pipe.reset();
      return false;
    }
    const auto size = static_cast<std::size_t>(got);
    const std::uint64_t room = watch_.bounds.output - (end_.out.size() + end_.err.size());
    into.append(piece.data(), std::min<std::uint64_t>(size, room));
    if (size > room) end_.is_truncated = true;
    return true;
  }

  void read_rest(Fd& pipe, std::string& into) {
    while (pipe.is_open() && read_once(pipe, into)) {
    }
    // It may have written too much and ended before that was seen.
    if (end_.is_truncated && end_.how == How::ended) end_.how = How::output;
  }

  void feed() {
    std::string_view& input = watch_.input;
    const ssize_t size = ::write(watch_.pipes.input.get(), input.data(), input.size());
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (size > 0) input.remove_prefix(static_cast<std::size_t>(size));
    if (size <= 0 || input.empty()) watch_.pipes.input.reset();  // EPIPE: it does not read
  }

  Child& child_;
  SandboxWatch watch_;
  SandboxEnd end_;
};

}  // namespace

SandboxEnd watch_run(Child& child, SandboxWatch watch) {
  return Watcher(child, std::move(watch)).run();
}

}  // namespace aegis::confine
