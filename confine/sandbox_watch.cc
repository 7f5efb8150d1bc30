// SPDX-License-Identifier: Apache-2.0 OR MIT
// See sandbox_watch.h.
#include "confine/sandbox_watch.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <vector>

namespace aegis::confine {
namespace {

using Clock = std::chrono::steady_clock;
using How = SandboxEnd::How;
using std::chrono::milliseconds;

constexpr milliseconds kNow{0};
/// How often a disk is looked at, which gives no sign when it fills.
constexpr milliseconds kLook{1000};
constexpr std::size_t kOwn = 5;  // descriptors that are polled besides the guards'

class Watcher {
 public:
  Watcher(Child& child, SandboxWatch watch) : child_(child), watch_(std::move(watch)) {}

  SandboxEnd run() {
    end_.how = How::ended;
    // As long as nothing has ended it, and it has not ended.
    while (end_.how == How::ended && look_after() && take_in() && is_in_time()) {
    }
    if (end_.how != How::ended) child_.kill();
    const std::optional<int> status = child_.wait();
    if (end_.how == How::ended) end_.wait_status = status;
    if (end_.how == How::ended && !status) {
      end_.how = How::cancelled;
      end_.why = "the sandbox's first process was killed, and with it all that ran there";
    }
    // Nobody is left who could write, so what is in the pipes is all.
    read_rest(watch_.pipes.output, end_.out);
    read_rest(watch_.pipes.errors, end_.err);
    end_.duration = std::chrono::duration_cast<milliseconds>(Clock::now() - start_);
    return std::move(end_);
  }

 private:
  /// Waits once, and moves what can be moved. False when the program has ended, or is to be.
  bool take_in() {
    const auto left = std::chrono::ceil<milliseconds>(start_ + watch_.bounds.time - Clock::now());
    std::vector<pollfd> watched{{child_.end_fd(), POLLIN, 0},
                                {watch_.control, POLLIN, 0},
                                {watch_.pipes.output.get(), POLLIN, 0},
                                {watch_.pipes.errors.get(), POLLIN, 0},
                                {watch_.pipes.input.get(), POLLOUT, 0}};
    for (const int each : watch_.guards.descriptors())
      watched.push_back({each, POLLIN, 0});
    const milliseconds pause = std::clamp(left, kNow, kLook);
    if (::poll(watched.data(), watched.size(), static_cast<int>(pause.count())) < 0)
      return errno == EINTR || ended(How::cancelled);  // out of memory
    for (std::size_t i = kOwn; i < watched.size(); ++i)
      is_to_look_ |= watched[i].revents != 0;
    if (watched[0].revents != 0) return false;
    if (watched[1].revents != 0) return ended(How::cancelled);
    if (watched[2].revents != 0) read_once(watch_.pipes.output, end_.out);
    if (watched[3].revents != 0) read_once(watch_.pipes.errors, end_.err);
    if (watched[4].revents != 0) feed();
    return !end_.is_truncated || ended(How::output);
  }

  bool is_in_time() { return Clock::now() - start_ < watch_.bounds.time || ended(How::timeout); }

  bool look_after() {
    if (!is_to_look_ && Clock::now() < next_look_) return true;
    is_to_look_ = false;
    next_look_ = Clock::now() + kLook;
    if (watch_.guards.look(end_.notes)) return true;
    end_.why = "what it may write can no longer be guarded, or its disk is nearly full";
    return ended(How::cancelled);
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
  const Clock::time_point start_ = Clock::now();
  Clock::time_point next_look_ = start_;
  bool is_to_look_ = false;  // at the guards
  SandboxEnd end_;
};

}  // namespace

SandboxEnd watch_run(Child& child, SandboxWatch watch) {
  return Watcher(child, std::move(watch)).run();
}

}  // namespace aegis::confine
