// SPDX-License-Identifier: Apache-2.0 OR MIT
// Attempts on processes that are not the program's own: one that holds a secret (param pid, its
// secret's address in param address, a descriptor on a secret file in param secret_fd) and the one
// that confines (param runner). Signals are SIGURG, which nobody minds who does not wait for it.
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tests/probes/probe.h"

namespace probe {
namespace {

pid_t pid() {
  return static_cast<pid_t>(number("pid"));
}
pid_t runner() {
  return static_cast<pid_t>(number("runner"));
}
void* address() {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): another process's, told as a number
  return reinterpret_cast<void*>(std::strtoull(param("address").c_str(), nullptr, 0));
}
// The secret is at the beginning of one (host_files.cc).
void* page() {
  return address();
}
std::string proc(const char* name) {
  return "/proc/" + param("pid") + "/" + name;
}

int pidfd_of(pid_t process) {
  return static_cast<int>(syscall(SYS_pidfd_open, process, 0));
}

Answer attach() {
  const long result = ptrace(PTRACE_ATTACH, pid(), nullptr, nullptr);
  if (result < 0) return refused("ptrace ATTACH");
  waitpid(pid(), nullptr, __WALL);
  ptrace(PTRACE_DETACH, pid(), nullptr, nullptr);
  return reached("attached to it");
}
Answer seize() {
  const long result = ptrace(PTRACE_SEIZE, pid(), nullptr, nullptr);
  if (result < 0) return refused("ptrace SEIZE");
  ptrace(PTRACE_INTERRUPT, pid(), nullptr, nullptr);
  waitpid(pid(), nullptr, __WALL);
  ptrace(PTRACE_DETACH, pid(), nullptr, nullptr);
  return reached("seized it");
}
Answer trace_me() {
  return by_result(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr), "ptrace TRACEME");
}

Answer read_memory() {
  char held[64] = {};
  iovec here = {held, kSecret.size()};
  iovec there = {address(), kSecret.size()};
  if (process_vm_readv(pid(), &here, 1, &there, 1, 0) < 0) return refused("process_vm_readv");
  return kSecret == held ? reached("read the secret in its memory") : broken("no secret there");
}
Answer write_memory() {
  char word = 'X';
  iovec here = {&word, 1};
  iovec there = {address(), 1};
  return by_result(process_vm_writev(pid(), &here, 1, &there, 1, 0), "process_vm_writev");
}
Answer open_memory() {
  const int fd = open(proc("mem").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return refused("open " + proc("mem"));
  char held[64] = {};
  if (pread(fd,
            held,
            kSecret.size(),
            static_cast<off_t>(std::strtoull(param("address").c_str(), nullptr, 0))) < 0)
    return refused("read " + proc("mem"));
  return kSecret == held ? reached("read the secret in its memory") : broken("no secret there");
}

Answer read_environment() {
  return reads_secret(proc("environ"));
}
Answer read_command_line() {
  return by_result(open(proc("cmdline").c_str(), O_RDONLY | O_CLOEXEC), "open cmdline");
}
Answer read_maps() {
  return by_result(open(proc("maps").c_str(), O_RDONLY | O_CLOEXEC), "open maps");
}
Answer through_its_root() {
  return reads_secret(proc("root") + victim("secret"));
}
Answer through_its_cwd() {
  return reads_secret(proc("cwd") + "/secret");
}
Answer through_its_descriptor() {
  return reads_secret(proc("fd") + "/" + param("secret_fd"));
}
Answer list_its_descriptors() {
  DIR* folder = opendir(proc("fd").c_str());
  return folder == nullptr ? refused("opendir " + proc("fd")) : reached("listed " + proc("fd"));
}
Answer see_in_proc() {
  const std::string path = "/proc/" + param("pid");
  return by_result(access(path.c_str(), F_OK), "access " + path);
}

// The first process that can be seen, and the parent: whatever these are where it runs, they must
// not hold what the caller's environment holds.
Answer read_first_environment() {
  return reads_secret("/proc/1/environ");
}
Answer read_parents_environment() {
  return reads_secret("/proc/" + std::to_string(number("runner")) + "/environ");
}
Answer through_first_root() {
  return reads_secret("/proc/1/root" + victim("secret"));
}
Answer through_first_cwd() {
  return reads_secret("/proc/1/cwd/../victims/secret");
}
Answer through_first_memory() {
  return by_result(open("/proc/1/mem", O_RDWR | O_CLOEXEC), "open /proc/1/mem");
}
Answer through_first_descriptors() {
  char target[256];
  return by_result(readlink("/proc/1/fd/0", target, sizeof target), "readlink /proc/1/fd/0");
}
Answer own_environment() {
  const char* value = std::getenv("AWS_SECRET_ACCESS_KEY");
  if (value == nullptr) return refused_by(ENOENT, "getenv");
  return kSecret == value ? reached("the caller's secret is in the environment") : broken(value);
}
Answer all_environments() {
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return refused("opendir /proc");
  Answer last = refused_by(ENOENT, "no environment holds it");
  while (const dirent* entry = readdir(folder)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    const Answer one = reads_secret(std::string("/proc/") + entry->d_name + "/environ");
    if (one.verdict == Verdict::reached) last = one;
  }
  closedir(folder);
  return last;
}

Answer open_pidfd() {
  return by_result(pidfd_of(pid()), "pidfd_open");
}
Answer take_descriptor() {
  const int process = pidfd_of(pid());
  if (process < 0) return refused("pidfd_open");
  return by_result(syscall(SYS_pidfd_getfd, process, number("secret_fd"), 0), "pidfd_getfd");
}
Answer signal_by_pidfd() {
  const int process = pidfd_of(pid());
  if (process < 0) return refused("pidfd_open");
  return by_result(syscall(SYS_pidfd_send_signal, process, SIGURG, nullptr, 0),
                   "pidfd_send_signal");
}
Answer compare() {
  constexpr int kFile = 0;
  return by_result(syscall(SYS_kcmp, pid(), getpid(), kFile, 0, 0), "kcmp");
}
Answer advise_memory() {
  const int process = pidfd_of(pid());
  if (process < 0) return refused("pidfd_open");
  iovec range = {page(), 4096};
  constexpr int kCold = 20;
  return by_result(syscall(SYS_process_madvise, process, &range, 1, kCold, 0), "process_madvise");
}

Answer read_limits() {
  rlimit64 old = {};
  return by_result(prlimit64(pid(), RLIMIT_NOFILE, nullptr, &old), "prlimit");
}
Answer set_limits() {
  const rlimit64 wanted = {123, 123};
  return by_result(prlimit64(pid(), RLIMIT_MSGQUEUE, &wanted, nullptr), "prlimit");
}
Answer set_priority() {
  constexpr int kLast = 19;  // that nice is allowed to all but who is so already
  return by_result(setpriority(PRIO_PROCESS, static_cast<id_t>(pid()), kLast), "setpriority");
}
Answer set_io_priority() {
  constexpr int kProcess = 1;
  constexpr int kIdle = 3 << 13;
  return by_result(syscall(SYS_ioprio_set, kProcess, pid(), kIdle), "ioprio_set");
}
Answer set_scheduler() {
  const sched_param wanted = {};
  return by_result(sched_setscheduler(pid(), SCHED_BATCH, &wanted), "sched_setscheduler");
}
Answer set_affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(0, &set);
  return by_result(sched_setaffinity(pid(), sizeof set, &set), "sched_setaffinity");
}
Answer read_session() {
  return by_result(getsid(pid()), "getsid");
}
Answer robust_list() {
  void* head = nullptr;
  std::size_t size = 0;
  return by_result(syscall(SYS_get_robust_list, pid(), &head, &size), "get_robust_list");
}
Answer move_its_pages() {
  void* its_page = page();
  int status = 0;
  return by_result(syscall(SYS_move_pages, pid(), 1UL, &its_page, nullptr, &status, 0),
                   "move_pages");
}

Answer signal_one() {
  return by_result(kill(pid(), SIGURG), "kill");
}
Answer signal_thread() {
  return by_result(tgkill(pid(), pid(), SIGURG), "tgkill");
}
Answer signal_queued() {
  return by_result(sigqueue(pid(), SIGURG, {.sival_int = 1}), "rt_sigqueueinfo");
}
Answer signal_runner() {
  return by_result(kill(runner(), SIGURG), "kill");
}
Answer signal_its_group() {
  return by_result(kill(-static_cast<pid_t>(number("group")), SIGURG), "kill");
}
// These reach the program's own processes too, so their results say nothing.
Answer signal_all() {
  kill(-1, SIGURG);
  return tried("kill -1");
}
Answer signal_own_group() {
  kill(0, SIGURG);
  return tried("kill 0");
}
Answer signal_by_owner() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return broken("pipe2");
  if (fcntl(ends[0], F_SETSIG, SIGURG) != 0 || fcntl(ends[0], F_SETFL, O_ASYNC) != 0)
    return broken("fcntl");
  if (fcntl(ends[0], F_SETOWN, pid()) != 0) return refused("fcntl F_SETOWN");
  return write(ends[1], "x", 1) == 1 ? tried("the pipe's owner is it") : broken("write");
}

constexpr Attempt kAttempts[] = {
    {"attach", attach},
    {"seize", seize},
    {"trace_me", trace_me},
    {"read_memory", read_memory},
    {"write_memory", write_memory},
    {"open_memory", open_memory},
    {"read_environment", read_environment},
    {"read_command_line", read_command_line},
    {"read_maps", read_maps},
    {"through_its_root", through_its_root},
    {"through_its_cwd", through_its_cwd},
    {"through_its_descriptor", through_its_descriptor},
    {"list_its_descriptors", list_its_descriptors},
    {"see_in_proc", see_in_proc},
    {"read_first_environment", read_first_environment},
    {"read_parents_environment", read_parents_environment},
    {"through_first_root", through_first_root},
    {"through_first_cwd", through_first_cwd},
    {"through_first_memory", through_first_memory},
    {"through_first_descriptors", through_first_descriptors},
    {"own_environment", own_environment},
    {"all_environments", all_environments},
    {"open_pidfd", open_pidfd},
    {"take_descriptor", take_descriptor},
    {"signal_by_pidfd", signal_by_pidfd},
    {"compare", compare},
    {"advise_memory", advise_memory},
    {"read_limits", read_limits},
    {"set_limits", set_limits},
    {"set_priority", set_priority},
    {"set_io_priority", set_io_priority},
    {"set_scheduler", set_scheduler},
    {"set_affinity", set_affinity},
    {"read_session", read_session},
    {"robust_list", robust_list},
    {"move_its_pages", move_its_pages},
    {"signal_one", signal_one},
    {"signal_thread", signal_thread},
    {"signal_queued", signal_queued},
    {"signal_runner", signal_runner},
    {"signal_its_group", signal_its_group},
    {"signal_all", signal_all},
    {"signal_own_group", signal_own_group},
    {"signal_by_owner", signal_by_owner},
};

}  // namespace

const std::span<const Attempt> kProcessAttempts = kAttempts;

}  // namespace probe
