// SPDX-License-Identifier: Apache-2.0 OR MIT
// A wait with an end for a lock that has none of its own: flock(2) sleeps until the holder lets go,
// and a timer's signal ends the sleep.
#include "wrap/record_lock.h"

#include <sys/file.h>
#include <sys/time.h>

#include <cerrno>
#include <chrono>
#include <csignal>

namespace aegis::wrap {
namespace {

using Clock = std::chrono::steady_clock;

constexpr suseconds_t kMicrosPerMilli = 1000;
constexpr int kMillisPerSecond = 1000;
/// A signal that comes between the look at the clock and flock would be lost: so it comes again.
constexpr suseconds_t kRepeatMicros = 20 * kMicrosPerMilli;

void wake(int /*signal*/) {}

/// While it lives, system calls are interrupted from `wait_ms` on.
class Alarm {
 public:
  explicit Alarm(int wait_ms) {
    struct sigaction action {};
    action.sa_handler = wake;  // no SA_RESTART: being interrupted is the point
    ::sigaction(SIGALRM, &action, &old_action_);
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    ::pthread_sigmask(SIG_UNBLOCK, &alarm, &old_mask_);
    itimerval timer{};
    timer.it_value.tv_sec = wait_ms / kMillisPerSecond;
    timer.it_value.tv_usec = (wait_ms % kMillisPerSecond) * kMicrosPerMilli;
    timer.it_interval.tv_usec = kRepeatMicros;
    ::setitimer(ITIMER_REAL, &timer, nullptr);
  }
  ~Alarm() {
    const itimerval off{};
    ::setitimer(ITIMER_REAL, &off, nullptr);
    ::pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
    ::sigaction(SIGALRM, &old_action_, nullptr);
  }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

 private:
  struct sigaction old_action_ {};
  sigset_t old_mask_{};
};

}  // namespace

confine::Result<void> lock_record(const confine::Fd& file, const std::string& path, int wait_ms) {
  constexpr const char* kDoing = "lock the record";
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return {};
  if (errno != EWOULDBLOCK) return confine::errno_error(kDoing, path);

  const Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(wait_ms);
  const Alarm alarm(wait_ms > 0 ? wait_ms : 1);
  while (Clock::now() < deadline) {
    if (::flock(file.get(), LOCK_EX) == 0) return {};
    if (errno != EINTR) return confine::errno_error(kDoing, path);
  }
  return confine::refusal(kDoing,
                          path,
                          "another session is writing it; name a folder instead (PATH/), which "
                          "takes one file a session");
}

}  // namespace aegis::wrap
