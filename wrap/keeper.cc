// SPDX-License-Identifier: Apache-2.0 OR MIT
// See keeper.h. It was forked by a process with one thread, so it may allocate.
#include "wrap/keeper.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "confine/process.h"

namespace aegis::wrap {
namespace {

void report(int control, const KeeperReport& report) noexcept {
  // Aegis gone: the next poll says so.
  static_cast<void>(::send(control, &report, sizeof report, MSG_NOSIGNAL));
}

/// In the server's process, between fork and exec: answers with an errno on `failure`, or not at
/// all.
[[noreturn]] void become_server(const KeeperEnds& ends,
                                int failure,
                                pid_t keeper,
                                const KeeperProgram& program) noexcept {
  confine::reset_signals();
  // Only the first process gets it, and only while the keeper's one thread lives: a second string
  // beside the keeper's own clean-up, for a server that kills the keeper.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const bool is_orphan = ::getppid() != keeper;
  const bool is_ready = !is_orphan && ::setpgid(0, 0) == 0 &&
                        ::dup2(ends.input.get(), STDIN_FILENO) >= 0 &&
                        ::dup2(ends.output.get(), STDOUT_FILENO) >= 0 &&
                        ::dup2(ends.errors.get(), STDERR_FILENO) >= 0;
  if (is_ready) {
    // The failure pipe stays until exec closes it.
    const int kept[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, failure};
    confine::close_all_but(kept);
    if (program.builtin.serve != nullptr) {
      ::close(failure);  // as exec would: it runs
      program.builtin.serve(program.builtin.max_frame);
      ::_exit(0);
    }
    ::execvp(program.argv[0], program.argv);
  }
  const std::int32_t why = errno;
  static_cast<void>(!::write(failure, &why, sizeof why));
  ::_exit(127);
}

struct Running {
  pid_t server = -1;                      // until it has been reaped
  pid_t group = -1;                       // its process group, for good, when it is not confined
  std::optional<confine::Child> sandbox;  // when it is
};

/// With a copy of a pipe's end here, its reader would never see the end.
void let_go(KeeperEnds& ends) noexcept {
  ends.input.reset();
  ends.output.reset();
  ends.errors.reset();
  ends.net_reports.reset();
}

/// The same for a confined one: what was enforced goes along.
void start_confined(KeeperEnds& ends, const confine::Prepared& prepared, Running& running) {
  KeeperReport said{KeeperReport::Kind::executed, 0};
  auto started = confine::Child::start(
      prepared,
      {ends.input.get(), ends.output.get(), ends.errors.get(), ends.net_reports.get()},
      said.set_up);
  let_go(ends);
  if (started) {
    running.sandbox.emplace(std::move(*started));
    running.server = running.sandbox->pid();
    said.enforced = running.sandbox->enforced();
  } else {
    said.value = said.set_up.code != 0 ? said.set_up.code : ECHILD;
  }
  report(ends.control.get(), said);
}

/// Starts the server and waits until its program runs or cannot. Returns its pid, or -1 with the
/// reason reported.
pid_t start_server(KeeperEnds& ends, const KeeperProgram& program) noexcept {
  int failure[2];
  const pid_t keeper = ::getpid();
  pid_t server = -1;
  std::int32_t why = 0;
  if (::pipe2(failure, O_CLOEXEC) != 0 || (server = ::fork()) < 0) {
    why = errno;
  } else if (server == 0) {
    become_server(ends, failure[1], keeper, program);
  }
  let_go(ends);
  if (server > 0) {
    ::close(failure[1]);
    while (::read(failure[0], &why, sizeof why) < 0 && errno == EINTR) {
    }
    ::close(failure[0]);
  }
  report(ends.control.get(), {KeeperReport::Kind::executed, why});
  return why == 0 ? server : -1;
}

/// Whether `pid` is a child of this process, as /proc/<pid>/stat tells (proc(5): the 4th field,
/// after the last ')').
bool is_child(pid_t pid) noexcept {
  char path[32];
  char text[512];
  static_cast<void>(std::snprintf(path, sizeof path, "/proc/%d/stat", pid));
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t size = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  if (size <= 0) return false;
  text[size] = '\0';
  const char* name_end = std::strrchr(text, ')');
  if (name_end == nullptr || std::strlen(name_end) < 4) return false;
  return ::strtol(name_end + 4, nullptr, 10) == ::getpid();
}

/// Kills each child and its process group. A child that is not reaped keeps its pid, so no stranger
/// can be hit; and its group is of this session, which holds only descendants.
void kill_child(pid_t pid) noexcept {
  const pid_t group = ::getpgid(pid);
  if (group > 0 && group != ::getpgrp()) ::kill(-group, SIGKILL);
  ::kill(pid, SIGKILL);
}

/// In another namespace's /proc a child's number would be a stranger's.
void kill_children() noexcept {
  if (!confine::has_own_proc()) return;
  DIR* processes = ::opendir("/proc");
  if (processes == nullptr) return;
  while (const dirent* entry = ::readdir(processes)) {
    const auto pid = static_cast<pid_t>(::strtol(entry->d_name, nullptr, 10));
    if (pid > 0 && is_child(pid)) kill_child(pid);
  }
  ::closedir(processes);
}

/// The confined server's own wait status; nothing when its first process was killed.
KeeperReport end_of(Running& running, int wait_status) noexcept {
  if (!running.sandbox) return {KeeperReport::Kind::ended, wait_status};
  const std::optional<int> status = running.sandbox->ended(wait_status);
  if (!status) return {KeeperReport::Kind::lost, 0};
  return {KeeperReport::Kind::ended, *status};
}

/// Reaps all that has ended, and says so when the server is among it. False when no child is left.
bool reap(int control, Running& running) noexcept {
  int status = 0;
  pid_t pid = 0;
  while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
    if (pid != running.server) continue;
    running.server = -1;
    report(control, end_of(running, status));
  }
  return pid == 0 || errno == EINTR;  // ECHILD, or a kernel that does not tell
}

/// Until no descendant is left. Killing a child makes its children ours (PR_SET_CHILD_SUBREAPER,
/// Linux 3.4), so each round reaches one generation deeper; whole process groups go at once, which
/// a fork cannot outrun.
void kill_descendants(int control, Running& running) noexcept {
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  // Normally a death ends the wait; the limit is for a round that could not look into /proc.
  constexpr timespec kRound{0, 10'000'000};
  if (running.group > 0) ::kill(-running.group, SIGKILL);
  while (reap(control, running)) {
    kill_children();
    ::sigtimedwait(&child, nullptr, &kRound);
  }
}

/// Makes this fork of aegis a keeper: own session, sub-reaper, nothing of aegis's open.
void settle_in(const KeeperEnds& ends, const KeeperProgram& program) noexcept {
  ::setsid();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_NAME, "aegis-keeper");
  // The server must not read or stop it through ptrace(2) or /proc.
  ::prctl(PR_SET_DUMPABLE, 0);
  // The client waits for the end of these, and would wait for the keeper too.
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (null >= 0) ::dup2(null, fd);
  }
  std::vector<int> kept{STDIN_FILENO,
                        STDOUT_FILENO,
                        STDERR_FILENO,
                        ends.input.get(),
                        ends.output.get(),
                        ends.errors.get(),
                        ends.control.get(),
                        ends.net_reports.get()};
  if (program.confined != nullptr) {
    for (const int fd : program.confined->descriptors())
      kept.push_back(fd);
  }
  confine::close_all_but(kept);
}

/// A signalfd of SIGCHLD, with every signal blocked: nothing but SIGKILL ends a keeper.
int watch_children() noexcept {
  confine::reset_signals();
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  return ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

/// Carries out one order. False when there is no more to come.
bool obey(KeeperEnds& ends, Running& running, KeeperProgram program) noexcept {
  KeeperOrder order = KeeperOrder::kill;
  if (::recv(ends.control.get(), &order, sizeof order, 0) != sizeof order) return false;
  switch (order) {
    case KeeperOrder::start:
      if (running.group >= 0 || running.sandbox) return true;
      if (program.confined != nullptr) {
        start_confined(ends, *program.confined, running);
      } else {
        running.group = running.server = start_server(ends, program);
      }
      return true;
    case KeeperOrder::terminate:
      if (running.group > 0) ::kill(-running.group, SIGTERM);
      if (running.sandbox) running.sandbox->terminate();
      return true;
    case KeeperOrder::kill:
      break;
  }
  return false;
}

}  // namespace

void run_keeper(KeeperEnds ends, KeeperProgram program) noexcept {
  settle_in(ends, program);
  const int children = watch_children();
  if (children < 0) ::_exit(1);  // out of descriptors: it could not tell how the server ends
  Running running;
  pollfd watched[] = {{ends.control.get(), POLLIN, 0}, {children, POLLIN, 0}};
  bool is_kept = true;
  while (is_kept) {
    if (::poll(watched, 2, -1) < 0 && errno != EINTR) break;
    if ((watched[1].revents & POLLIN) != 0) {
      signalfd_siginfo ignored;
      while (::read(children, &ignored, sizeof ignored) > 0) {
      }
      reap(ends.control.get(), running);
    }
    if (watched[0].revents != 0) is_kept = obey(ends, running, program);
  }
  if (running.sandbox) running.sandbox->kill();  // and with it all that is in it
  kill_descendants(ends.control.get(), running);
  // Aegis does it too, if it still can.
  if (program.confined != nullptr) static_cast<void>(program.confined->finish());
  ::_exit(0);
}

}  // namespace aegis::wrap
