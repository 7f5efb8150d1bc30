// SPDX-License-Identifier: Apache-2.0 OR MIT
// The last steps before the program runs, in the only order that works: each takes away what the
// one before needed. Nothing here allocates.
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "confine/commons.h"
#include "confine/mounts.h"
#include "confine/net_child.h"
#include "confine/parts.h"
#include "confine/process.h"

namespace aegis::confine {
namespace {

constexpr int kFirstOwnFd = 3;

/// 0, 1 and 2 are the pipes; everything else closes with exec, or at once where the kernel cannot
/// mark it (close_range(2): CLOSE_RANGE_CLOEXEC is Linux 5.11).
int take_stdio(const Stdio& stdio) noexcept {
  // Aegis's own 0 to 2 are open, so no pipe end has one of these numbers.
  if (::dup2(stdio.input, STDIN_FILENO) < 0 || ::dup2(stdio.output, STDOUT_FILENO) < 0 ||
      ::dup2(stdio.errors, STDERR_FILENO) < 0)
    return errno;
  return ::close_range(kFirstOwnFd, ~0U, CLOSE_RANGE_CLOEXEC) == 0 ? 0 : errno;
}

/// Connecting is the supervisor's from here on. Landlock has taken it from this process before, so
/// that nothing which the supervisor lets go on can be turned into another connection.
int hand_over_calls(int inlet) noexcept {
  int listener = -1;
  if (const int code = load_listener(&listener)) return code;
  const int code = send_fd(inlet, listener, kListenerTag);
  ::close(listener);
  return code;
}

/// Stops here until the first process traces this one: what it may look into must be dumpable
/// (ptrace(2)), and what is not traced cannot make a call that the tracing filter shows.
int await_tracer(int gate) noexcept {
  char word = 0;
  if (::prctl(PR_SET_DUMPABLE, 1) != 0) return errno;
  if (::send(gate, &word, sizeof word, MSG_NOSIGNAL) != sizeof word) return errno;
  const ssize_t size = ::read(gate, &word, sizeof word);
  if (size == sizeof word) return 0;
  return size < 0 ? errno : ESRCH;
}

/// What every program may use, and what stands in for its home.
int allow_own(const Prepared::Parts& parts) noexcept {
  const auto runs = parts.spec.worker ? RunsInScratch::no : RunsInScratch::yes;
  if (const int code = allow_commons(parts.ruleset, parts.spec.tier, runs)) return code;
  if (parts.spec.host_view) {
    const Fd root(open_exactly(AT_FDCWD, "/"));
    return root.is_open() ? parts.ruleset.allow_moves(root.get()) : errno;
  }
  if (!parts.root) return 0;
  if (parts.spec.worker) {
    if (const int code = parts.root->allow_copy(parts.ruleset)) return code;
  }
  return parts.root->allow_home(parts.ruleset);
}

/// Landlock, seccomp, exec. From here on nothing can be undone.
SetUp lock_up_and_run(const Prepared::Parts& parts, const ChildEnds& ends) noexcept {
  SetUp report;
  report.stage = Stage::landlock;
  if ((report.code = parts.ruleset.enforce()) != 0) return report;
  if (parts.spec.network == Network::granted) {
    report.stage = Stage::supervision;
    if ((report.code = hand_over_calls(ends.inlet)) != 0) return report;
  }
  report.stage = Stage::seccomp;
  if (parts.tracing && (report.code = parts.tracing->filter.load()) != 0) return report;
  if ((report.code = parts.filter.load()) != 0) return report;
  // The owner believes in the program only after this, and only when nothing follows but the end of
  // the pipe that exec brings.
  report.stage = Stage::exec;
  static_cast<void>(!::write(ends.set_up, &report, sizeof report));
  ::execve(parts.spec.program.c_str(), parts.argv.data(), parts.environment.data());
  report.code = errno;
  return report;
}

}  // namespace

namespace {

bool has_capability(const std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>& sets,
                    unsigned number) noexcept {
  constexpr unsigned kBits = 32;
  return (sets[number / kBits].effective & (1U << (number % kBits))) != 0;
}

}  // namespace

int drop_capabilities() noexcept {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return errno;
  // Root's uid must not bring them back at exec; who may not say so has none to lose.
  ::prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED);
  // Up to the first number that is no capability (EINVAL); without CAP_SETPCAP none can be dropped,
  // and none can be gained either.
  if (has_capability(sets, CAP_SETPCAP)) {
    for (unsigned long each = 0; ::prctl(PR_CAPBSET_DROP, each) == 0; ++each) {
    }
    if (errno != EINVAL) return errno;
  }
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  sets = {};
  if (::syscall(SYS_capset, &header, sets.data()) != 0) return errno;
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return errno;
  for (const __user_cap_data_struct& each : sets) {
    if ((each.effective | each.permitted | each.inheritable) != 0) return EPERM;
  }
  return 0;
}

void give_up(const ChildEnds& ends, const SetUp& report) noexcept {
  static_cast<void>(!::write(ends.set_up, &report, sizeof report));
  ::_exit(127);
}

void run_payload(const Prepared::Parts& parts, const ChildEnds& ends) noexcept {
  const auto check = [&ends](Stage stage, int code) noexcept {
    if (code != 0) give_up(ends, failed_at(stage, code));
  };
  const auto code_of = [](bool is_done) noexcept { return is_done ? 0 : errno; };

  mark_unexecuted();
  reset_signals();
  // SIGXFSZ is ignored, so that a file that is too large is an error of the write (EFBIG).
  static_cast<void>(::signal(SIGXFSZ, SIG_IGN));
  check(Stage::session, code_of(::setsid() >= 0));
  if (ends.gate >= 0) check(Stage::tracing, await_tracer(ends.gate));
  // Where there is no first process to do it. Root cannot be bound there, which its tier says.
  if (!parts.root) {
    be_first_out_of_memory();
    check(Stage::bounds, parts.cgroups.enter());
    SetUp report;
    report.stage = Stage::bounds;
    report.process_bound = bound_processes(parts.spec.bounds);
    static_cast<void>(!::write(ends.set_up, &report, sizeof report));
  }
  check(Stage::stdio, take_stdio(ends.stdio));
  Bounds bounds = parts.spec.bounds;
  if (parts.cgroups.memory() != MemoryBound::per_process) bounds.address_space.reset();
  check(Stage::rlimits, set_rlimits(bounds));
  check(Stage::working_directory, code_of(::chdir(parts.spec.working_directory.c_str()) == 0));
  check(Stage::landlock, allow_own(parts));
  check(Stage::capabilities, drop_capabilities());
  check(Stage::no_new_privs, code_of(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0));
  give_up(ends, lock_up_and_run(parts, ends));
}

}  // namespace aegis::confine
