// SPDX-License-Identifier: Apache-2.0 OR MIT
// See supervisor.h. One thread, one poll; whoever can wait (name resolution, the other side of a
// connection) is waited for there.
#include "confine/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "confine/listener.h"
#include "confine/name_service.h"
#include "confine/net_child.h"
#include "confine/pending_connects.h"
#include "confine/reporter.h"
#include "confine/socket_calls.h"

namespace aegis::confine {
namespace {

constexpr int kTick = 1000;  // milliseconds, when time alone can bring work

/// While it lives, no system call waits for long: what the program can make slow (a connect on a
/// socket that it turned into a blocking one, the closing of a file in its place) is interrupted,
/// again and again, since the first time may come before the wait has begun.
class Interruptions {
 public:
  Interruptions() { set(kPeriod); }
  ~Interruptions() { set(0); }
  Interruptions(const Interruptions&) = delete;
  Interruptions& operator=(const Interruptions&) = delete;

 private:
  static constexpr suseconds_t kPeriod = 20'000;  // microseconds
  static void set(suseconds_t period) {
    const itimerval timer{{0, period}, {0, period}};
    ::setitimer(ITIMER_REAL, &timer, nullptr);
  }
};

/// Nothing but SIGKILL ends it, and SIGALRM interrupts it.
void set_signals() {
  sigset_t blocked;
  ::sigfillset(&blocked);
  ::sigdelset(&blocked, SIGALRM);
  ::sigprocmask(SIG_SETMASK, &blocked, nullptr);
  static_cast<void>(::signal(SIGCHLD, SIG_DFL));
  struct sigaction interrupt {};
  interrupt.sa_handler = [](int) {};  // without SA_RESTART
  ::sigaction(SIGALRM, &interrupt, nullptr);
}

/// Moves `fd` to `number`; every number up to there is above `floor` or free by then.
void move_to(Fd& fd, int number) {
  Fd moved(::dup3(fd.get(), number, O_CLOEXEC));
  static_cast<void>(fd.release());  // close_range(2) below is what closes it
  fd = std::move(moved);
}

/// Leaves nothing of aegis open but `ends`. False when that cannot be done.
bool settle_in(SupervisorEnds& ends) {
  constexpr int kInlet = 3;
  constexpr int kReports = 4;
  constexpr int kControl = 5;
  constexpr int kAbove = 6;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a death before this closed `control`
  ::prctl(PR_SET_NAME, "aegis-net");
  ::prctl(PR_SET_DUMPABLE, 0);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::setsid();
  set_signals();
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (null < 0 || ::dup2(null, fd) < 0) return false;
  }
  for (Fd* each : {&ends.inlet, &ends.reports, &ends.control}) {
    // None of the three may stand where another is to go.
    Fd high(::fcntl(each->get(), F_DUPFD_CLOEXEC, kAbove));
    if (!high.is_open()) return false;
    static_cast<void>(each->release());
    *each = std::move(high);
  }
  move_to(ends.inlet, kInlet);
  move_to(ends.reports, kReports);
  move_to(ends.control, kControl);
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  return ends.inlet.is_open() && ends.reports.is_open() && ends.control.is_open() &&
         ::syscall(SYS_close_range, kAbove, ~0U, 0U) == 0;
}

struct Received {
  Fd resolver;
  Fd listener;
};

/// Waits for both. False when the program's side or aegis is gone before.
bool receive(const SupervisorEnds& ends, Received& received) {
  while (!received.resolver.is_open() || !received.listener.is_open()) {
    std::array<pollfd, 2> polled{{{ends.inlet.get(), POLLIN, 0}, {ends.control.get(), POLLIN, 0}}};
    if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return false;
    if (polled[1].revents != 0) return false;
    if (polled[0].revents == 0) continue;
    int fd = -1;
    char tag = 0;
    if (receive_fd(ends.inlet.get(), &fd, &tag) != 0) return false;
    (tag == kResolverTag ? received.resolver : received.listener) = Fd(fd);
  }
  return true;
}

Egress::Time seconds(Clock::time_point now) {
  return std::chrono::duration_cast<Egress::Time>(now.time_since_epoch());
}

class Supervision {
 public:
  struct Parts {
    Received received;
    Fd reports;
    int control = -1;
    std::uint64_t host_network = 0;
  };
  Supervision(Parts parts, const std::vector<NetGrant>& grants, const ResolveName& resolve)
      : control_(parts.control),
        proc_(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC)),
        listener_(std::move(parts.received.listener)),
        egress_(grants),
        reporter_(std::move(parts.reports)),
        names_(std::move(parts.received.resolver), egress_, reporter_, resolve),
        pending_(listener_, reporter_),
        calls_({listener_, egress_, reporter_, pending_, parts.host_network, proc_.get()}) {}

  /// Waits for something and does it. False when there is nothing left to do.
  bool turn() {
    polled_ = {{listener_.fd(), POLLIN, 0}, {control_, POLLIN, 0}};
    names_.watch(polled_);
    pending_.watch(polled_);
    const int timeout = names_.has_deadline() || pending_.has_deadline() ? kTick : -1;
    if (::poll(polled_.data(), polled_.size(), timeout) < 0) return errno == EINTR;
    if (polled_[1].revents != 0) return false;
    const Clock::time_point now = Clock::now();
    const Interruptions interruptions;
    names_.serve(polled_, seconds(now));
    pending_.serve(polled_, now);
    if (polled_[0].revents == 0) return true;
    if ((polled_[0].revents & POLLIN) == 0) return false;  // nobody is left who could call
    if (const std::optional<Call> call = listener_.take()) calls_.handle(*call, now);
    return true;
  }

 private:
  int control_;
  Fd proc_;
  Listener listener_;
  Egress egress_;
  Reporter reporter_;
  NameService names_;
  PendingConnects pending_;
  SocketCalls calls_;
  std::vector<pollfd> polled_;
};

}  // namespace

void run_supervisor(SupervisorEnds ends,
                    const std::vector<NetGrant>& grants,
                    const ResolveName& resolve) noexcept {
  Supervision::Parts parts;
  if (!settle_in(ends) || !receive(ends, parts.received)) ::_exit(1);
  ends.inlet.reset();
  const std::optional<std::uint64_t> host_network = own_network();
  if (!host_network) ::_exit(1);  // the program's sockets could not be told from the host's
  parts.host_network = *host_network;
  parts.reports = std::move(ends.reports);
  parts.control = ends.control.get();
  Supervision supervision(std::move(parts), grants, resolve);
  while (supervision.turn()) {
  }
  ::_exit(0);
}

}  // namespace aegis::confine
