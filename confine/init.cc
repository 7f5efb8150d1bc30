// SPDX-License-Identifier: Apache-2.0 OR MIT
// The first process of the sandbox: process 1 of its pid namespace, so its end is the end of every
// process in there (pid_namespaces(7)), however deaf or detached. It ends when the program does,
// when its owner closes the control socket, and when its owner dies.
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "confine/net_child.h"
#include "confine/parts.h"
#include "confine/process.h"
#include "confine/tracer.h"

namespace aegis::confine {
namespace {

/// Its own ids, mapped onto themselves.
int map_user(const Prepared::Parts& parts) noexcept {
  int code = write_proc("/proc/self/setgroups", "deny");
  if (code == 0) code = write_proc("/proc/self/gid_map", parts.group_map);
  if (code == 0) code = write_proc("/proc/self/uid_map", parts.user_map);
  // The program runs under the same user: it must not be able to look into this process
  // (ptrace(2)).
  if (code == 0 && ::prctl(PR_SET_DUMPABLE, 0) != 0) code = errno;
  return code;
}

/// SIGTERM for the program's group when the owner says so, SIGCHLD to reap.
int watch_signals() noexcept {
  reset_signals();
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  sigset_t watched;
  ::sigemptyset(&watched);
  ::sigaddset(&watched, SIGCHLD);
  ::sigaddset(&watched, SIGTERM);
  return ::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
}

/// Ends and reaps all that the program has left behind: kill(2) with -1 spares only the caller
/// here, and each round catches what was being forked in the one before. It looks at every process
/// of the host, so it is left out when there is nothing: orphans become children of this process.
void end_the_rest() noexcept {
  if (::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD) return;
  do {
    ::kill(-1, SIGKILL);
  } while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR);
}

struct Kept {
  pid_t program;
  int control;
  int signals;
  Tracer* tracer = nullptr;  // when the program is watched
  int set_up = -1;           // until it has executed, when it is watched
};

void say_running(int set_up) noexcept {
  SetUp running;
  running.stage = Stage::running;
  static_cast<void>(!::write(set_up, &running, sizeof running));
}

/// A watched process has stopped for it.
void look(Kept& kept, pid_t pid, int status) noexcept {
  if (kept.set_up >= 0 && pid == kept.program && status >> 16 == PTRACE_EVENT_EXEC) {
    say_running(kept.set_up);
    ::close(std::exchange(kept.set_up, -1));
  }
  if (kept.tracer != nullptr) kept.tracer->on_stop(pid, status);
}

/// Reaps what has ended. When the program is among it, the rest is ended too, and only then does
/// the owner get the program's wait status: nothing is left by the time it knows.
void reap(Kept& kept) noexcept {
  int status = 0;
  pid_t pid = 0;
  while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
    if (WIFSTOPPED(status)) {
      look(kept, pid, status);
      continue;
    }
    if (kept.tracer != nullptr) kept.tracer->forget(pid);
    if (pid != kept.program) continue;
    end_the_rest();
    static_cast<void>(::send(kept.control, &status, sizeof status, MSG_NOSIGNAL));
    ::_exit(0);
  }
}

[[noreturn]] void keep(Kept kept) noexcept {
  const auto& [program, control, signals, tracer, set_up] = kept;
  pollfd watched[] = {{control, POLLIN, 0}, {signals, POLLIN, 0}};
  for (;;) {
    if (::poll(watched, 2, -1) < 0 && errno != EINTR) ::_exit(1);
    if (watched[0].revents != 0) ::_exit(0);  // nothing is ever sent: it is the owner's end
    signalfd_siginfo signal;
    while (::read(signals, &signal, sizeof signal) == sizeof signal) {
      // Only from outside: what is inside has pid > 0 here and could end the program anyway.
      if (signal.ssi_signo == SIGTERM && signal.ssi_pid == 0) ::kill(-program, SIGTERM);
    }
    reap(kept);
  }
}

/// The resolver's place in the new network namespace, handed out while this is still capable.
int open_network(int inlet) noexcept {
  if (const int code = raise_loopback()) return code;
  int resolver = -1;
  if (const int code = open_resolver_socket(&resolver)) return code;
  const int code = send_fd(inlet, resolver, kResolverTag);
  ::close(resolver);
  return code;
}

SetUp set_up(const Prepared::Parts& parts, const ChildEnds& ends) noexcept {
  be_first_out_of_memory();
  if (const int code = map_user(parts)) return failed_at(Stage::user_map, code);
  SetUp done = parts.root->build();
  if (done.code != 0) return done;
  if (parts.spec.network == Network::granted) {
    if (const int code = open_network(ends.inlet)) return failed_at(Stage::network, code);
  }
  done.process_bound = bound_processes(parts.spec.bounds);
  const bool is_bounded = done.process_bound != ProcessBound::none || parts.cgroups.has_processes();
  if (!is_bounded) return failed_at(Stage::bounds, EOPNOTSUPP);
  const SetUp sealed = RootPlan::seal_proc();
  if (sealed.code != 0) return sealed;
  done.stage = Stage::bounds;
  return done;
}

/// Not copied for nothing: until exec it runs on this process's memory, of which it changes only
/// the stack below here, and this process waits.
pid_t start_program(const Prepared::Parts& parts, const ChildEnds& ends) noexcept {
  // Portably a child of it may do next to nothing; on Linux it is a process of its own but for the
  // memory and that its parent waits (vfork(2)), and posix_spawn(3) has no place for these steps.
  // NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork): as above
  const pid_t program = ::vfork();
  if (program < 0) give_up(ends, failed_at(Stage::fork, errno));
  if (program == 0) run_payload(parts, ends);  // NOLINT(clang-analyzer-unix.Vfork): as above
  // It has executed, or died, or is about to die of what it has reported.
  if (has_executed(program)) say_running(ends.set_up);
  return program;
}

/// A copy that stands still until it is traced. Nobody could let it go on after a vfork(2).
pid_t start_traced(const Prepared::Parts& parts, ChildEnds ends) noexcept {
  int gate[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, gate) != 0)
    give_up(ends, failed_at(Stage::tracing, errno));
  ends.gate = gate[1];
  const pid_t program = ::fork();
  if (program < 0) give_up(ends, failed_at(Stage::fork, errno));
  if (program == 0) {
    ::close(gate[0]);
    run_payload(parts, ends);
  }
  ::close(gate[1]);
  char word = 0;
  static_cast<void>(!::read(gate[0], &word, sizeof word));  // it can be traced from now on
  if (const int code = Tracer::seize(program)) give_up(ends, failed_at(Stage::tracing, code));
  static_cast<void>(::send(gate[0], &word, sizeof word, MSG_NOSIGNAL));
  ::close(gate[0]);
  return program;
}

}  // namespace

void run_init(const Prepared::Parts& parts, const ChildEnds& ends) noexcept {
  // The owner's death before this is seen by the control socket.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NAME, "aegis-init");
  if (const int code = forget_command_line()) give_up(ends, failed_at(Stage::session, code));
  // First of all, so that all it uses counts.
  if (const int code = parts.cgroups.enter()) give_up(ends, failed_at(Stage::bounds, code));
  const int signals = watch_signals();
  if (signals < 0) give_up(ends, failed_at(Stage::session, errno));
  const SetUp done = set_up(parts, ends);
  if (done.code != 0) give_up(ends, done);
  static_cast<void>(!::write(ends.set_up, &done, sizeof done));
  const bool is_traced = parts.tracing.has_value();
  Kept kept{
      is_traced ? start_traced(parts, ends) : start_program(parts, ends), ends.control, signals};
  const int wishes = is_traced ? parts.tracing->wishes.get() : -1;
  if (is_traced) kept.set_up = ends.set_up;
  // The client waits for the end of what was 0 to 2.
  const int needed[] = {ends.control, signals, kept.set_up, wishes};
  close_all_but(needed);
  // Nothing of what it could do is needed any more.
  if (drop_capabilities() != 0) ::_exit(1);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (!is_traced) keep(kept);
  Tracer tracer(parts.spec, wishes);
  kept.tracer = &tracer;
  keep(kept);
}

}  // namespace aegis::confine
