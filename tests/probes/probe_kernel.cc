// SPDX-License-Identifier: Apache-2.0 OR MIT
// Attempts on what the kernel offers beyond files and processes: namespaces, other system-call
// tables, tracing, modules, clocks, terminals, identity. Made so that they harm nobody even where
// nothing confines them: a name is set to what it is, or the arguments are such that only the code
// behind the check of privilege can find them wrong (its line says in what order the kernel looks).
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <sys/fanotify.h>
#include <sys/io.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/quota.h>
#include <sys/reboot.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <optional>
#include <string>

#include "tests/probes/probe.h"

#ifndef UFFD_USER_MODE_ONLY  // Linux 5.11
#define UFFD_USER_MODE_ONLY 1
#endif

namespace probe {
namespace {

constexpr unsigned long kHighBit = 1UL << 32U;  // above what the kernel looks at in an int

// --- Namespaces
// -----------------------------------------------------------------------------------
Answer unshares(unsigned long flags) {
  return by_result(syscall(SYS_unshare, flags), "unshare");
}
Answer unshare_user() {
  return unshares(CLONE_NEWUSER);
}
Answer unshare_mount() {
  return unshares(CLONE_NEWNS);
}
Answer unshare_pid() {
  return unshares(CLONE_NEWPID);
}
Answer unshare_net() {
  return unshares(CLONE_NEWNET);
}
Answer unshare_ipc() {
  return unshares(CLONE_NEWIPC);
}
Answer unshare_uts() {
  return unshares(CLONE_NEWUTS);
}
Answer unshare_cgroup() {
  return unshares(CLONE_NEWCGROUP);
}
Answer unshare_time() {
  return unshares(CLONE_NEWTIME);
}
Answer unshare_user_and_net() {
  return unshares(CLONE_NEWUSER | CLONE_NEWNET);
}

Answer clones(unsigned long flags) {
  const long child = syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (child == 0) _exit(0);
  if (child < 0) return refused("clone");
  waitpid(static_cast<pid_t>(child), nullptr, 0);
  return reached("a child in a new namespace");
}
Answer clone_user() {
  return clones(CLONE_NEWUSER);
}
Answer clone_mount() {
  return clones(CLONE_NEWNS);
}
Answer clone_net() {
  return clones(CLONE_NEWNET);
}
Answer clone_pid() {
  return clones(CLONE_NEWPID);
}
Answer clone_user_high_bit() {
  return clones(kHighBit | CLONE_NEWUSER);
}
Answer clone3_user() {
  clone_args args = {};
  args.flags = CLONE_NEWUSER;
  args.exit_signal = SIGCHLD;
  const long child = syscall(SYS_clone3, &args, sizeof args);
  if (child == 0) _exit(0);
  if (child < 0) return refused("clone3");
  waitpid(static_cast<pid_t>(child), nullptr, 0);
  return reached("a child in a new namespace");
}
Answer enter_namespaces() {
  const auto process = syscall(SYS_pidfd_open, getppid(), 0);
  if (process >= 0) return by_result(setns(static_cast<int>(process), CLONE_NEWUTS), "setns");
  const int fd = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);
  return fd < 0 ? refused("open /proc/self/ns/uts") : by_result(setns(fd, CLONE_NEWUTS), "setns");
}
// A descriptor that is none: EBADF comes from setns itself.
Answer enter_no_namespace() {
  return by_kernels_own(setns(-1, 0), "setns", {EBADF, EINVAL});
}

// --- Other ways into the kernel
// -------------------------------------------------------------------
Answer uring_setup() {
  alignas(8) char space[120] = {};  // struct io_uring_params
  return by_result(syscall(SYS_io_uring_setup, 4, space), "io_uring_setup");
}
Answer uring_enter() {
  return by_kernels_own(
      syscall(SYS_io_uring_enter, -1, 0, 0, 0, nullptr, 0), "io_uring_enter", {EBADF, EOPNOTSUPP});
}
Answer uring_register() {
  return by_kernels_own(
      syscall(SYS_io_uring_register, -2, 0, nullptr, 0), "io_uring_register", {EBADF, EINVAL});
}

#ifdef __x86_64__
long by_interrupt(long number, long first, long second, long third) {
  long result = 0;
  asm volatile("int $0x80"
               : "=a"(result)
               : "a"(number), "b"(first), "c"(second), "d"(third)
               : "memory", "r8", "r9", "r10", "r11");
  if (result < 0 && result > -4096) {
    errno = static_cast<int>(-result);
    return -1;
  }
  return result;
}
// Numbers of arch/x86/entry/syscalls/syscall_32.tbl.
Answer i386_getpid() {
  return by_result(by_interrupt(20, 0, 0, 0), "int 0x80 getpid");
}
Answer i386_socket() {
  constexpr long kInet = 2;
  return by_result(by_interrupt(359, kInet, 1, 0), "int 0x80 socket");
}
Answer i386_socketcall() {
  // Its argument block must lie below 4 GiB.
  void* low =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  if (low == MAP_FAILED) return broken("mmap MAP_32BIT");
  const std::uint32_t words[3] = {2, 1, 0};  // AF_INET, SOCK_STREAM
  std::memcpy(low, words, sizeof words);
  constexpr long kSocket = 1;
  return by_result(by_interrupt(102, kSocket, reinterpret_cast<long>(low), 0),
                   "int 0x80 socketcall");
}
constexpr long kX32 = 0x40000000;
Answer x32_getpid() {
  return by_result(syscall(kX32 | SYS_getpid), "x32 getpid");
}
Answer x32_socket() {
  return by_result(syscall(kX32 | SYS_socket, 2, 1, 0), "x32 socket");
}
#endif

// --- Watching and changing the kernel
// ------------------------------------------------------------- kernel/bpf/syscall.c asks for
// privilege only of the commands that make something; a look-up in a map that is none is judged by
// its descriptor.
Answer bpf_lookup() {
  bpf_attr attr = {};
  attr.map_fd = 0xffff;
  return by_kernels_own(
      syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &attr, sizeof attr), "bpf", {EBADF, EINVAL});
}
Answer perf_events() {
  perf_event_attr attr = {};
  attr.type = PERF_TYPE_SOFTWARE;
  attr.size = sizeof attr;
  attr.config = PERF_COUNT_SW_TASK_CLOCK;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  return by_result(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0), "perf_event_open");
}
Answer user_faults() {
  return by_result(syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY), "userfaultfd");
}
Answer watch_all_files() {
  return by_result(fanotify_init(FAN_CLASS_NOTIF | FAN_REPORT_FID, O_RDONLY), "fanotify_init");
}
// Where modules or kexec are not compiled in, the kernel's own answer is ENOSYS; else it asks for
// privilege first.
Answer load_module() {
  return by_kernels_own(syscall(SYS_init_module, nullptr, 0, ""), "init_module", {ENOSYS, ENOEXEC});
}
Answer load_module_file() {
  return by_kernels_own(
      syscall(SYS_finit_module, -1, "", 0), "finit_module", {ENOSYS, EBADF, EINVAL});
}
Answer unload_module() {
  return by_kernels_own(
      syscall(SYS_delete_module, "aegis_no_module", O_NONBLOCK), "delete_module", {ENOSYS, ENOENT});
}
Answer load_kernel() {
  constexpr unsigned long kNoSuchFlag = 1UL << 20U;
  return by_kernels_own(
      syscall(SYS_kexec_load, 0, 0, nullptr, kNoSuchFlag), "kexec_load", {ENOSYS, EINVAL});
}
Answer load_kernel_file() {
  return by_kernels_own(syscall(SYS_kexec_file_load, -1, -1, 0, nullptr, 1UL << 20U),
                        "kexec_file_load",
                        {ENOSYS, EINVAL});
}

// --- The machine
// ---------------------------------------------------------------------------------- mm/swapfile.c
// looks at the flags first.
Answer swap_on() {
  constexpr int kNoSuchFlag = 1 << 30;
  return by_kernels_own(swapon(victim("file").c_str(), kNoSuchFlag), "swapon", {EINVAL});
}
// Privilege first, then the magic numbers: with wrong ones nothing happens.
Answer restart() {
  return by_kernels_own(syscall(SYS_reboot, 0, 0, 0, nullptr), "reboot", {EINVAL});
}
// kernel/time/time.c looks at the microseconds first. Raw, since glibc looks at them too.
Answer set_clock() {
  const timeval wrong = {1, -1};
  return by_kernels_own(syscall(SYS_settimeofday, &wrong, nullptr), "settimeofday", {EINVAL});
}
Answer set_clock_finely() {
  const timespec wrong = {1, -1};
  return by_kernels_own(
      syscall(SYS_clock_settime, CLOCK_REALTIME, &wrong), "clock_settime", {EINVAL});
}
Answer tune_clock() {
  timex wrong = {};
  wrong.modes = ADJ_TICK;
  wrong.tick = 1;
  return by_kernels_own(adjtimex(&wrong), "adjtimex", {EINVAL});
}
Answer set_host_name() {
  utsname name = {};
  if (uname(&name) != 0) return broken("uname");
  return by_result(sethostname(name.nodename, std::strlen(name.nodename)), "sethostname");
}
Answer set_domain_name() {
  utsname name = {};
  if (uname(&name) != 0) return broken("uname");
  return by_result(setdomainname(name.domainname, std::strlen(name.domainname)), "setdomainname");
}
Answer change_personality() {
  return by_result(personality(READ_IMPLIES_EXEC | ADDR_NO_RANDOMIZE), "personality");
}
#ifdef __x86_64__
// Both look at the range of their numbers first (arch/x86/kernel/ioport.c), where they are compiled
// in.
Answer raise_io_level() {
  return by_kernels_own(iopl(4), "iopl", {EINVAL, ENOSYS});
}
Answer reach_io_ports() {
  return by_kernels_own(ioperm(65536, 1, 1), "ioperm", {EINVAL, ENOSYS});
}
#endif
// fs/quota/quota.c looks at the type first.
Answer control_quota() {
  return by_kernels_own(
      syscall(SYS_quotactl, QCMD(Q_SYNC, 99), nullptr, 0, nullptr), "quotactl", {EINVAL});
}
// Privilege first; the file is not there.
Answer account() {
  return by_kernels_own(acct("/no/such/file"), "acct", {ENOENT});
}

// --- Terminals
// ------------------------------------------------------------------------------------ A terminal
// that becomes this process's own: then none of the kernel's checks is in the way (but
// kernel.legacy_tiocsti, whose answer is EIO). Where none can be had, a pipe, whose own answer is
// ENOTTY.
int some_terminal() {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master >= 0 && unlockpt(master) == 0) {
    setsid();
    const int terminal = open(ptsname(master), O_RDWR | O_CLOEXEC);
    if (terminal >= 0) return terminal;
  }
  int ends[2];
  return pipe2(ends, O_CLOEXEC) == 0 ? ends[0] : -1;
}
Answer asks_terminal(unsigned long request, void* argument) {
  const int fd = some_terminal();
  if (fd < 0) return broken("neither a terminal nor a pipe");
  return by_kernels_own(syscall(SYS_ioctl, fd, request, argument), "ioctl", {ENOTTY, EIO});
}
Answer push_input() {
  char key = 'x';
  return asks_terminal(TIOCSTI, &key);
}
Answer push_input_high_bit() {
  char key = 'x';
  return asks_terminal(kHighBit | TIOCSTI, &key);
}
Answer control_console() {
  char code = 6;  // read the state of the shift keys
  return asks_terminal(TIOCLINUX, &code);
}

// --- Identity
// -------------------------------------------------------------------------------------
Answer has_capability() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (syscall(SYS_capget, &header, data) != 0) return broken("capget");
  if ((data[0].effective | data[1].effective | data[0].permitted | data[1].permitted |
       data[0].inheritable | data[1].inheritable) == 0)
    return refused_by(EPERM, "it has none");
  return reached("it has some capability");
}
Answer has_bounding_capability() {
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) {
    if (prctl(PR_CAPBSET_READ, capability) == 1) return reached("its bounding set has some");
  }
  return refused_by(EPERM, "its bounding set is empty");
}
Answer can_gain_privileges() {
  return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? refused_by(EPERM, "no_new_privs is set")
                                                     : reached("no_new_privs is not set");
}
Answer has_no_filter() {
  return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2 ? refused_by(EPERM, "a filter is on")
                                                : reached("no filter is on");
}
Answer change_user() {
  const uid_t other = getuid() == 0 ? 65534 : 0;
  return by_result(syscall(SYS_setresuid, other, other, other), "setresuid");
}
// A copy of this program with root's set-user-ID bit (param setuid) or with capabilities in its
// file (param filecaps): what it then has, it says itself.
Answer run_as_owner() {
  const int status = run(param("setuid"), {"has_capability"});
  if (status == -1) return refused("exec");
  return status == 0 ? reached("ran as its owner") : refused_by(EPERM, "it ran as its caller");
}
// The real and the effective user of a process by this name, from /proc.
struct Users {
  unsigned real = 0;
  unsigned effective = 0;
};
std::optional<Users> users_of(pid_t process, std::string_view name) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  bool is_it = false;
  for (std::string line; std::getline(file, line);) {
    is_it = is_it || line == std::string("Name:\t").append(name);
    Users users;
    if (is_it && std::sscanf(line.c_str(), "Uid: %u %u", &users.real, &users.effective) == 2)
      return users;
  }
  return std::nullopt;
}
// The system's own: while it waits for a password its effective user can be seen.
Answer run_system_setuid() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return broken("pipe2");
  const pid_t child = fork();
  if (child < 0) return broken("fork");
  if (child == 0) {
    dup2(ends[0], STDIN_FILENO);
    execl("/usr/bin/su", "su", "-c", "true", nullptr);
    _exit(126);
  }
  Answer answer = refused_by(EPERM, "su gave up");
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    const auto users = users_of(child, "su");
    if (users) {
      answer = users->real != users->effective ? reached("su runs as its owner")
                                               : refused_by(EPERM, "su runs as its caller");
      break;
    }
    usleep(1000);
  }
  kill(child, SIGKILL);
  return answer;
}
Answer run_with_capabilities() {
  const int status = run(param("filecaps"), {"has_capability"});
  if (status == -1) return refused("exec");
  return status == 0 ? reached("ran with capabilities") : refused_by(EPERM, "it ran without");
}
constexpr Attempt kAttempts[] = {
    {"unshare_user", unshare_user},
    {"unshare_mount", unshare_mount},
    {"unshare_pid", unshare_pid},
    {"unshare_net", unshare_net},
    {"unshare_ipc", unshare_ipc},
    {"unshare_uts", unshare_uts},
    {"unshare_cgroup", unshare_cgroup},
    {"unshare_time", unshare_time},
    {"unshare_user_and_net", unshare_user_and_net},
    {"clone_user", clone_user},
    {"clone_mount", clone_mount},
    {"clone_net", clone_net},
    {"clone_pid", clone_pid},
    {"clone_user_high_bit", clone_user_high_bit},
    {"clone3_user", clone3_user},
    {"enter_namespaces", enter_namespaces},
    {"enter_no_namespace", enter_no_namespace},
    {"uring_setup", uring_setup},
    {"uring_enter", uring_enter},
    {"uring_register", uring_register},
#ifdef __x86_64__
    {"i386_getpid", i386_getpid},
    {"i386_socket", i386_socket},
    {"i386_socketcall", i386_socketcall},
    {"x32_getpid", x32_getpid},
    {"x32_socket", x32_socket},
    {"raise_io_level", raise_io_level},
    {"reach_io_ports", reach_io_ports},
#endif
    {"bpf_lookup", bpf_lookup},
    {"perf_events", perf_events},
    {"user_faults", user_faults},
    {"watch_all_files", watch_all_files},
    {"load_module", load_module},
    {"load_module_file", load_module_file},
    {"unload_module", unload_module},
    {"load_kernel", load_kernel},
    {"load_kernel_file", load_kernel_file},
    {"swap_on", swap_on},
    {"restart", restart},
    {"set_clock", set_clock},
    {"set_clock_finely", set_clock_finely},
    {"tune_clock", tune_clock},
    {"set_host_name", set_host_name},
    {"set_domain_name", set_domain_name},
    {"change_personality", change_personality},
    {"control_quota", control_quota},
    {"account", account},
    {"push_input", push_input},
    {"push_input_high_bit", push_input_high_bit},
    {"control_console", control_console},
    {"has_capability", has_capability},
    {"has_bounding_capability", has_bounding_capability},
    {"can_gain_privileges", can_gain_privileges},
    {"has_no_filter", has_no_filter},
    {"change_user", change_user},
    {"run_as_owner", run_as_owner},
    {"run_system_setuid", run_system_setuid},
    {"run_with_capabilities", run_with_capabilities},
};

}  // namespace

const std::span<const Attempt> kKernelAttempts = kAttempts;

}  // namespace probe
