// SPDX-License-Identifier: Apache-2.0 OR MIT
// Every row of the filter against the kernel, in a child; those about sockets are in
// seccomp_sockets_test.cc. What must work is tried without a filter below ours.
#include "confine/seccomp.h"

#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "tests/confine/filtered_calls.h"
#include "tests/wrap/scratch.h"

namespace {

using namespace aegis::test;  // NOLINT(google-build-using-namespace): the table's own words

/// The numbers that are refused even with all arguments 0.
std::set<std::string> refused_with_zeros(const FilterOptions& options) {
  constexpr long kHighestNumber = 511;
  // The kernel's own, which no filter sees, and which kill who calls them by hand (Linux 6.14).
  constexpr std::array<long, 2> kProbes = {335, 336};
  std::vector<Call> calls;
  for (long number = 0; number <= kHighestNumber; ++number) {
    if (number == SYS_exit_group || number == SYS_seccomp) continue;
    if (std::find(kProbes.begin(), kProbes.end(), number) != kProbes.end()) continue;
    calls.push_back({"with zeros", number, {}, 0});
  }
  const std::vector<int> errors = errors_of(options, calls);
  std::set<std::string> refused;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (errors[i] != kStopped) refused.insert(syscall_name(static_cast<int>(calls[i].number)));
  }
  return refused;
}

// Those with ENOSYS cannot be told from what the filter below stops: they have a test of their own.
#if defined(__x86_64__)
const std::set<std::string>& refused_whole() {
  static const std::set<std::string> names = {"unshare",
                                              "setns",
                                              "ptrace",
                                              "process_vm_readv",
                                              "process_vm_writev",
                                              "process_madvise",
                                              "pidfd_getfd",
                                              "kcmp",
                                              "add_key",
                                              "request_key",
                                              "keyctl",
                                              "bpf",
                                              "perf_event_open",
                                              "userfaultfd",
                                              "fanotify_init",
                                              "fanotify_mark",
                                              "mount",
                                              "umount2",
                                              "pivot_root",
                                              "chroot",
                                              "open_tree",
                                              "move_mount",
                                              "fsopen",
                                              "fsconfig",
                                              "fsmount",
                                              "fspick",
                                              "mount_setattr",
                                              "system call 467",
                                              "kexec_load",
                                              "kexec_file_load",
                                              "init_module",
                                              "finit_module",
                                              "delete_module",
                                              "create_module",
                                              "query_module",
                                              "get_kernel_syms",
                                              "swapon",
                                              "swapoff",
                                              "reboot",
                                              "acct",
                                              "quotactl",
                                              "quotactl_fd",
                                              "settimeofday",
                                              "clock_settime",
                                              "clock_adjtime",
                                              "adjtimex",
                                              "iopl",
                                              "ioperm",
                                              "sethostname",
                                              "setdomainname",
                                              "syslog",
                                              "vhangup",
                                              "name_to_handle_at",
                                              "open_by_handle_at",
                                              "nfsservctl",
                                              "lookup_dcookie",
                                              "personality",
                                              "socket",
                                              "socketpair"};
  return names;
}

TEST_CASE("exactly these calls are refused whatever their arguments") {
  for (const FilterOptions& options : {kFull, kGranted, kUnconfined, kLandlock}) {
    const std::set<std::string> refused = refused_with_zeros(options);
    for (const std::string& name : refused) {
      CAPTURE(name);
      CHECK(refused_whole().count(name) == 1);
    }
    for (const std::string& name : refused_whole()) {
      CAPTURE(name);
      CHECK(refused.count(name) == 1);
    }
  }
}
#endif

constexpr std::uint64_t kThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                                  CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |
                                  CLONE_CHILD_CLEARTID;

TEST_CASE("of these calls it depends on an argument") {
  const std::vector<Call> calls = {
      {"a new mount namespace", SYS_clone, {CLONE_NEWNS | SIGCHLD}, EPERM},
      {"a new cgroup namespace", SYS_clone, {CLONE_NEWCGROUP | SIGCHLD}, EPERM},
      {"a new uts namespace", SYS_clone, {CLONE_NEWUTS | SIGCHLD}, EPERM},
      {"a new ipc namespace", SYS_clone, {CLONE_NEWIPC | SIGCHLD}, EPERM},
      {"a new user namespace", SYS_clone, {CLONE_NEWUSER | SIGCHLD}, EPERM},
      {"a new pid namespace", SYS_clone, {CLONE_NEWPID | SIGCHLD}, EPERM},
      {"a new net namespace", SYS_clone, {CLONE_NEWNET | SIGCHLD}, EPERM},
      {"all of them", SYS_clone, {0x7e020000 | SIGCHLD}, EPERM},
      {"the upper half of the flags", SYS_clone, {kUpperHalf | CLONE_NEWUSER}, EPERM},
      {"a thread", SYS_clone, {kThread}, kStopped},
      {"fork", SYS_clone, {CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD}, kStopped},
      {"vfork", SYS_clone, {CLONE_VM | CLONE_VFORK | SIGCHLD}, kStopped},

      {"TIOCSTI", SYS_ioctl, {0, TIOCSTI, 1}, EPERM},
      {"TIOCSTI with an upper half", SYS_ioctl, {0, kUpperHalf | TIOCSTI, 1}, EPERM},
      {"TIOCLINUX", SYS_ioctl, {0, TIOCLINUX, 1}, EPERM},
      {"TIOCLINUX with an upper half", SYS_ioctl, {0, kUpperHalf | TIOCLINUX, 1}, EPERM},
      {"TCGETS", SYS_ioctl, {0, TCGETS, 1}, kStopped},
      {"FIONREAD", SYS_ioctl, {0, FIONREAD, 1}, kStopped},
      {"TIOCGWINSZ", SYS_ioctl, {0, TIOCGWINSZ, 1}, kStopped},
      {"FIONBIO", SYS_ioctl, {0, FIONBIO, 1}, kStopped},

      {"a lease", SYS_fcntl, {0, F_SETLEASE, F_WRLCK}, EINVAL},
      {"a lease with an upper half", SYS_fcntl, {0, kUpperHalf | F_SETLEASE, F_RDLCK}, EINVAL},
      {"what lease there is", SYS_fcntl, {0, F_GETLEASE}, kStopped},
      {"a lock", SYS_fcntl, {0, F_SETLK}, kStopped},

      {"the personality asked for", SYS_personality, {0xffffffff}, kStopped},
      {"asked for as -1", SYS_personality, {~0ULL}, kStopped},
      {"asked for with an upper half", SYS_personality, {kUpperHalf | 0xffffffff}, kStopped},
      {"READ_IMPLIES_EXEC", SYS_personality, {READ_IMPLIES_EXEC}, EPERM},
      {"ADDR_NO_RANDOMIZE", SYS_personality, {ADDR_NO_RANDOMIZE}, EPERM},
      {"all flags but the lowest", SYS_personality, {0xfffffffe}, EPERM},
      {"all flags but the highest", SYS_personality, {0x7fffffff}, EPERM},
      {"an upper half of ones", SYS_personality, {0xffffffff00000000}, EPERM},

      {"chmod 4755", SYS_chmod, {0, 04755}, EPERM},
      {"chmod 2755 with an upper half", SYS_chmod, {0, kUpperHalf | 02755}, EPERM},
      {"chmod 1777", SYS_chmod, {0, 01777}, kStopped},
      {"fchmod 4700", SYS_fchmod, {0, 04700}, EPERM},
      {"fchmod 755", SYS_fchmod, {0, 0755}, kStopped},
      {"fchmodat 6755", SYS_fchmodat, {0, 0, 06755}, EPERM},
      {"fchmodat 644", SYS_fchmodat, {0, 0, 0644}, kStopped},
      {"fchmodat2 4755", 452, {0, 0, 04755}, EPERM},
      {"creat 4755", SYS_creat, {0, 04755}, EPERM},
      {"creat 644", SYS_creat, {0, 0644}, kStopped},
      {"mknod of a file, 4755", SYS_mknod, {0, 0104755}, EPERM},
      {"mknodat of a fifo, 644", SYS_mknodat, {0, 0, 0010644}, kStopped},
      {"open O_CREAT 4755", SYS_open, {0, O_CREAT, 04755}, EPERM},
      {"open with a mode that does not count", SYS_open, {0, 0, 04755}, kStopped},
      {"openat O_CREAT 2755", SYS_openat, {0, 0, O_CREAT | O_WRONLY, 02755}, EPERM},
      {"openat O_CREAT 644", SYS_openat, {0, 0, O_CREAT | O_WRONLY, 0644}, kStopped},
      {"openat O_TMPFILE 4755", SYS_openat, {0, 0, O_TMPFILE | O_WRONLY, 04755}, EPERM},
      {"openat of a folder", SYS_openat, {0, 0, O_DIRECTORY, 04755}, kStopped},
  };
  for (const FilterOptions& options : {kFull, kGranted, kUnconfined, kLandlock}) {
    check_all(options, calls);
  }
}

TEST_CASE("without namespaces a program may change itself alone") {
  const std::vector<Call> calls = {
      {"limits of its own", SYS_prlimit64, {0, RLIMIT_NOFILE}, kStopped},
      {"limits of another", SYS_prlimit64, {1, RLIMIT_NOFILE}, EPERM},
      {"limits of another, sign-extended", SYS_prlimit64, {~0ULL, RLIMIT_NOFILE}, EPERM},
      {"limits, upper half only", SYS_prlimit64, {kUpperHalf, RLIMIT_NOFILE}, EPERM},
      {"a priority of its own", SYS_setpriority, {PRIO_PROCESS, 0, 5}, kStopped},
      {"the priority of another", SYS_setpriority, {PRIO_PROCESS, 4711, 5}, EPERM},
      {"the priority of its user", SYS_setpriority, {PRIO_USER, 0, 5}, EPERM},
      {"the same, upper half", SYS_setpriority, {kUpperHalf | PRIO_USER, 0, 5}, EPERM},
      {"an i/o priority of its own", SYS_ioprio_set, {1, 0, 0}, kStopped},
      {"the i/o priority of another", SYS_ioprio_set, {1, 4711, 0}, EPERM},
      {"the i/o priority of its user", SYS_ioprio_set, {3, 0, 0}, EPERM},
      {"a processor of its own", SYS_sched_setaffinity, {0, 8}, kStopped},
      {"a processor for another", SYS_sched_setaffinity, {4711, 8}, EPERM},
      {"the scheduling of another", SYS_sched_setscheduler, {4711, SCHED_IDLE}, EPERM},
      {"a parameter of another", SYS_sched_setparam, {4711}, EPERM},
      {"an attribute of another", SYS_sched_setattr, {4711}, EPERM},
  };
  check_all(kLandlock, calls);
  std::vector<Call> free = calls;
  for (Call& call : free)
    call.error = kStopped;
  check_all(kFull, free);
}

/// Real calls that fail by themselves, without the filter below.
void check_is_absent(const FilterOptions& options, const std::vector<Call>& calls) {
  struct Errors {
    std::array<int, 32> before;
    std::array<int, 32> after;
  };
  const Filter filter = compiled(options);
  const Found<Errors> found = run_forked<Errors>([&](Errors& errors) {
    for (std::size_t i = 0; i < calls.size(); ++i)
      errors.before[i] = try_call(calls[i]);
    if (!set_no_new_privs() || filter.load() != 0) return;
    for (std::size_t i = 0; i < calls.size(); ++i)
      errors.after[i] = try_call(calls[i]);
  });
  REQUIRE(found.has_ended_well());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    CAPTURE(calls[i].what);
    CHECK(found.value.after[i] == ENOSYS);
    if (found.value.before[i] == ENOSYS) {
      MESSAGE("skipped: 1: this kernel has no " << calls[i].what << " to refuse");
    }
  }
}

TEST_CASE("io_uring and clone3 are not there, and programs take another way") {
  for (const FilterOptions& options : {kFull, kGranted, kUnconfined, kLandlock}) {
    check_is_absent(options,
                    {{"io_uring_setup", SYS_io_uring_setup, {1, 0}, ENOSYS},
                     {"io_uring_enter", SYS_io_uring_enter, {~0ULL, 0, 0, 0xff00}, ENOSYS},
                     {"io_uring_register", SYS_io_uring_register, {~0ULL, 0xff, 0, 0}, ENOSYS},
                     {"clone3", SYS_clone3, {0, 0}, ENOSYS}});
  }
}

TEST_CASE("without an ipc namespace the objects of the user are not there") {
  check_is_absent(kLandlock,
                  {{"shmget", SYS_shmget, {1, ~0ULL, 0}, ENOSYS},
                   {"shmat", SYS_shmat, {~0ULL}, ENOSYS},
                   {"shmctl", SYS_shmctl, {~0ULL, 4711}, ENOSYS},
                   {"msgget", SYS_msgget, {1, 0}, ENOSYS},
                   {"msgsnd", SYS_msgsnd, {~0ULL, 0, ~0ULL}, ENOSYS},
                   {"msgrcv", SYS_msgrcv, {~0ULL, 0, ~0ULL}, ENOSYS},
                   {"msgctl", SYS_msgctl, {~0ULL, 4711}, ENOSYS},
                   {"semget", SYS_semget, {1, ~0ULL, 0}, ENOSYS},
                   {"semop", SYS_semop, {~0ULL, 0, 0}, ENOSYS},
                   {"semtimedop", SYS_semtimedop, {~0ULL, 0, 0}, ENOSYS},
                   {"semctl", SYS_semctl, {~0ULL, 0, 4711}, ENOSYS},
                   {"mq_open", SYS_mq_open, {0, 0}, ENOSYS},
                   {"mq_unlink", SYS_mq_unlink, {0}, ENOSYS}});
}

#if defined(__x86_64__)
long call_as_i386(long number) {
  long result = number;
  asm volatile("int $0x80" : "+a"(result) : : "memory", "cc", "r8", "r9", "r10", "r11");
  return result;
}

TEST_CASE("the numbers of another architecture end the process") {
  constexpr long kGetpidOfI386 = 20;
  constexpr long kX32Bit = 0x40000000;
  struct Case {
    const char* what;
    long (*call)();
  };
  const std::array<Case, 2> cases = {{
      {"int 0x80", [] { return call_as_i386(kGetpidOfI386); }},
      {"x32", [] { return ::syscall(kX32Bit | SYS_getpid); }},
  }};
  const Filter filter = compiled(kFull);
  for (const Case& one : cases) {
    CAPTURE(one.what);
    const Found<long> before = run_forked<long>([&](long& result) { result = one.call(); });
    const Found<long> after = run_forked<long>([&](long& result) {
      if (!set_no_new_privs() || filter.load() != 0) return;
      result = one.call();
    });
    if (before.signal() != 0) {  // a kernel without 32-bit programs: int 0x80 is a fault
      MESSAGE("skipped: 1: no " << one.what << " here");
      continue;
    }
    CHECK(before.has_ended_well());
    CHECK(after.signal() == SIGSYS);
  }
}
#endif

struct Works {
  bool thread;
  bool program;
  bool stream_pair;
  bool named_socket;
  bool executable_memory;
  bool personality;
  bool own_limits;
};

bool can_talk_in_a_pair(int type) {
  std::array<int, 2> pair = {};
  char byte = 0;
  return ::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair.data()) == 0 &&
         ::write(pair[0], "x", 1) == 1 && ::read(pair[1], &byte, 1) == 1 && byte == 'x';
}

bool can_run_program() {
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/bin/sh", "sh", "-c", "echo x | cat >/dev/null", nullptr);
    ::_exit(1);
  }
  int status = 1;
  return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
}

TEST_CASE("threads, programs, pipes, pairs and just-in-time code work as before") {
  for (const FilterOptions& options :
       {kFull, kGranted, kUnconfined, kLandlock, kLandlockUnconfined}) {
    const Filter filter = compiled(options);
    const Found<Works> found = run_forked<Works>([&](Works& works) {
      if (!set_no_new_privs() || filter.load() != 0) return;
      std::thread([&] { works.thread = true; }).join();
      works.program = can_run_program();
      works.stream_pair = can_talk_in_a_pair(SOCK_STREAM) && can_talk_in_a_pair(SOCK_SEQPACKET);
      works.named_socket = ::socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
      void* const page =
          ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      works.executable_memory = ::mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0;
      works.personality = ::personality(0xffffffff) >= 0;
      rlimit limit = {};
      works.own_limits =
          ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
    });
    CHECK(found.has_ended_well());
    CHECK(found.value.thread);
    CHECK(found.value.program);
    CHECK(found.value.stream_pair);
    CHECK(found.value.named_socket == (options.tier == Tier::full));
    CHECK(found.value.executable_memory);
    CHECK(found.value.personality);
    CHECK(found.value.own_limits);
  }
}

TEST_CASE("a network cannot be granted without namespaces") {
  const Result<Filter> filter = Filter::compile({Tier::landlock, Network::granted, 7});
  REQUIRE_FALSE(filter.is_ok());
  CHECK(describe(filter.error()) ==
        "make the filter: network grants: they need tier full; leave out --tier landlock");
}

TEST_CASE("a filter that the kernel refuses says so") {
  const Filter filter = compiled(kFull);
  // Its loader may gain privileges by exec, and has no capability (seccomp(2): EACCES).
  const Found<int> found = run_forked<int>([&](int& code) {
    if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) < 0) return;
    code = filter.load();
  });
  CHECK(found.value == EACCES);
}

TEST_CASE("a system call has its name, or its number") {
  CHECK(syscall_name(SYS_openat) == "openat");
  CHECK(syscall_name(9999) == "system call 9999");
}

}  // namespace
