// SPDX-License-Identifier: Apache-2.0 OR MIT
// The filter of the broker's workers against the kernel, in a child, with an older filter below it
// that stops all it lets through: of two filters that both give an errno the newer one's counts
// (seccomp(2)), so nothing dangerous is ever carried out and each answer shows whose it is.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "confine/seccomp.h"
#include "tests/confine/forked.h"

namespace {

using aegis::confine::Filter;
using aegis::confine::syscall_name;
using aegis::test::run_forked;
using aegis::test::set_no_new_privs;

constexpr int kPassed = ECHILD;  // what the filter below says
constexpr std::uint64_t kUpperHalf = 0xabcdef0100000000;
constexpr long kFchmodat2 = 452;

struct Call {
  const char* what;
  long number;
  std::array<std::uint64_t, 6> arguments;
  int error;
};

bool stop_all_calls() {
  std::array<sock_filter, 5> program = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | kPassed),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog whole = {static_cast<unsigned short>(program.size()), program.data()};
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &whole) == 0;
}

void check_all(const std::vector<Call>& calls) {
  struct Errors {
    std::array<int, 512> values;
  };
  REQUIRE(calls.size() <= std::tuple_size_v<decltype(Errors::values)>);
  const auto filter = Filter::compile_worker();
  REQUIRE(filter.is_ok());
  const auto found = run_forked<Errors>([&](Errors& errors) {
    if (!set_no_new_privs() || !stop_all_calls() || filter->load() != 0) return;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const auto& a = calls[i].arguments;
      errno = 0;
      const long got = ::syscall(calls[i].number, a[0], a[1], a[2], a[3], a[4], a[5]);
      errors.values[i] = got == -1 ? errno : 0;
    }
  });
  REQUIRE(found.has_ended_well());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    CAPTURE(calls[i].what);
    CAPTURE(syscall_name(static_cast<int>(calls[i].number)));
    CHECK(found.value.values[i] == calls[i].error);
  }
}

}  // namespace

TEST_CASE("a worker's filter knows none of the calls that lead out, look in or widen") {
  std::vector<Call> calls;
  for (const long number : {
           SYS_io_uring_setup,
           SYS_io_uring_enter,
           SYS_io_uring_register,
           SYS_clone3,
           SYS_unshare,
           SYS_setns,
           SYS_ptrace,
           SYS_process_vm_readv,
           SYS_process_vm_writev,
           SYS_process_madvise,
           SYS_pidfd_getfd,
           SYS_kcmp,
           SYS_add_key,
           SYS_request_key,
           SYS_keyctl,
           SYS_bpf,
           SYS_perf_event_open,
           SYS_userfaultfd,
           SYS_fanotify_init,
           SYS_fanotify_mark,
           SYS_mount,
           SYS_umount2,
           SYS_pivot_root,
           SYS_chroot,
           SYS_open_tree,
           SYS_move_mount,
           SYS_fsopen,
           SYS_fsconfig,
           SYS_fsmount,
           SYS_fspick,
           SYS_mount_setattr,
           SYS_kexec_load,
           SYS_init_module,
           SYS_finit_module,
           SYS_delete_module,
           SYS_swapon,
           SYS_swapoff,
           SYS_reboot,
           SYS_acct,
           SYS_quotactl,
           SYS_settimeofday,
           SYS_clock_settime,
           SYS_adjtimex,
           SYS_clock_adjtime,
           SYS_sethostname,
           SYS_setdomainname,
           SYS_syslog,
           SYS_vhangup,
           SYS_name_to_handle_at,
           SYS_open_by_handle_at,
           SYS_memfd_create,
           SYS_execveat,
           SYS_openat2,
           SYS_connect,
           SYS_bind,
           SYS_listen,
           SYS_accept,
           SYS_accept4,
           SYS_shmget,
           SYS_shmat,
           SYS_msgget,
           SYS_semget,
           SYS_mq_open,
           SYS_splice,
           SYS_tee,
           SYS_vmsplice,
           SYS_setgroups,
           SYS_capset,
           SYS_landlock_create_ruleset,
           SYS_setxattr,
           SYS_fsetxattr,
           SYS_ioprio_set,
           SYS_inotify_init1,
           SYS_io_setup,
           SYS_remap_file_pages,
           SYS_mlockall,
           SYS_migrate_pages,
           SYS_move_pages,
           SYS_mbind,
           SYS_sync,
#ifdef SYS_iopl
           SYS_iopl,
           SYS_ioperm,
           SYS_modify_ldt,
           SYS_uselib,
           SYS_ustat,
           SYS__sysctl,
#endif
       }) {
    calls.push_back({"unlisted", number, {}, ENOSYS});
  }
  for (long number = 453; number <= 511; ++number)
    calls.push_back({"newer than the table", number, {}, ENOSYS});
  check_all(calls);
}

TEST_CASE("a worker's filter lets processes, files and pipes be") {
  std::vector<Call> calls;
  for (const long number : {SYS_read,
                            SYS_write,
                            SYS_close,
                            SYS_fstat,
                            SYS_mmap,
                            SYS_mprotect,
                            SYS_munmap,
                            SYS_brk,
                            SYS_execve,
                            SYS_wait4,
                            SYS_kill,
                            SYS_futex,
                            SYS_pipe2,
                            SYS_rt_sigaction,
                            SYS_getrandom,
                            SYS_getdents64,
                            SYS_renameat2,
                            SYS_unlinkat,
                            SYS_epoll_pwait,
                            SYS_clock_nanosleep,
                            SYS_sendmsg,
                            SYS_recvmsg,
                            SYS_copy_file_range,
                            SYS_setresuid})
    calls.push_back({"listed", number, {}, kPassed});
  check_all(calls);
}

TEST_CASE("a worker's filter looks at what a call asks for") {
  constexpr std::uint64_t kAddress = 100;  // an address that is never looked at
  check_all({
      {"a process", SYS_clone, {SIGCHLD}, kPassed},
      {"a thread", SYS_clone, {CLONE_VM | CLONE_THREAD | CLONE_SIGHAND | CLONE_SETTLS}, kPassed},
      {"a user namespace", SYS_clone, {CLONE_NEWUSER | SIGCHLD}, ENOSYS},
      {"a mount namespace", SYS_clone, {CLONE_NEWNS}, ENOSYS},
      {"a pid namespace", SYS_clone, {CLONE_NEWPID}, ENOSYS},
      {"a network namespace", SYS_clone, {CLONE_NEWNET}, ENOSYS},
      {"a namespace, upper half set", SYS_clone, {kUpperHalf | CLONE_NEWUSER}, ENOSYS},

      {"to read", SYS_openat, {0, kAddress, O_RDONLY | O_CLOEXEC, 0}, kPassed},
      {"to read, with rubbish for a mode", SYS_openat, {0, kAddress, O_RDONLY, 07777}, kPassed},
      {"to make", SYS_openat, {0, kAddress, O_CREAT | O_RDWR, 0644}, kPassed},
      {"to make a set-user-ID file", SYS_openat, {0, kAddress, O_CREAT, 04755}, ENOSYS},
      {"to make a set-group-ID file", SYS_openat, {0, kAddress, O_CREAT, 02755}, ENOSYS},
      {"the same without a name", SYS_openat, {0, kAddress, O_TMPFILE | O_RDWR, 04755}, ENOSYS},
      {"the same, upper half set",
       SYS_openat,
       {0, kAddress, kUpperHalf | O_CREAT, kUpperHalf | 04755},
       ENOSYS},
      {"a folder, with rubbish", SYS_openat, {0, kAddress, O_DIRECTORY, 04755}, kPassed},
      {"a mode", SYS_fchmodat, {0, kAddress, 0755}, kPassed},
      {"a set-user-ID mode", SYS_fchmodat, {0, kAddress, 04755}, ENOSYS},
      {"a set-user-ID mode", SYS_fchmod, {0, 04755}, ENOSYS},
      {"a set-group-ID mode", kFchmodat2, {0, kAddress, 02755}, ENOSYS},
      {"a mode", kFchmodat2, {0, kAddress, 0755}, kPassed},
      {"a FIFO", SYS_mknodat, {0, kAddress, S_IFIFO | 0600, 0}, kPassed},
      {"a device", SYS_mknodat, {0, kAddress, S_IFCHR | 0600, 0x103}, ENOSYS},
      {"a socket", SYS_mknodat, {0, kAddress, S_IFSOCK | 0600, 0}, ENOSYS},
      {"a set-user-ID node", SYS_mknodat, {0, kAddress, S_IFREG | 04600, 0}, ENOSYS},
#ifdef SYS_open
      {"to make", SYS_open, {kAddress, O_CREAT, 0644}, kPassed},
      {"to make a set-user-ID file", SYS_open, {kAddress, O_CREAT, 04755}, ENOSYS},
      {"to make a set-user-ID file", SYS_creat, {kAddress, 04755}, ENOSYS},
      {"a set-user-ID mode", SYS_chmod, {kAddress, 04755}, ENOSYS},
#endif

      {"a descriptor's flags", SYS_fcntl, {0, F_GETFD}, kPassed},
      {"a lock", SYS_fcntl, {0, F_OFD_SETLKW}, kPassed},
      {"a copy of a descriptor", SYS_fcntl, {0, F_DUPFD_CLOEXEC}, kPassed},
      {"a lease", SYS_fcntl, {0, F_SETLEASE, F_WRLCK}, ENOSYS},
      {"a lease, upper half set", SYS_fcntl, {0, kUpperHalf | F_SETLEASE, F_WRLCK}, ENOSYS},

      {"how a terminal is set", SYS_ioctl, {0, TCGETS}, kPassed},
      {"how a terminal is set, upper half", SYS_ioctl, {0, kUpperHalf | TCGETS}, kPassed},
      {"to type into a terminal", SYS_ioctl, {0, TIOCSTI}, ENOSYS},
      {"to type, upper half set", SYS_ioctl, {0, kUpperHalf | TIOCSTI}, ENOSYS},
      {"to take a terminal", SYS_ioctl, {0, TIOCSCTTY}, ENOSYS},

      {"its own limit", SYS_prlimit64, {0, 0}, kPassed},
      {"another's limit", SYS_prlimit64, {1, 0}, ENOSYS},
      {"another's limit, upper half", SYS_prlimit64, {kUpperHalf | 1, 0}, ENOSYS},
      {"its own priority", SYS_setpriority, {0, 0, 5}, kPassed},
      {"another's priority", SYS_setpriority, {0, 1, 5}, ENOSYS},
      {"all its user's priority", SYS_setpriority, {2, 0, 5}, ENOSYS},
      {"another's processors", SYS_sched_setaffinity, {1}, ENOSYS},

      {"a name", SYS_prctl, {PR_SET_NAME, kAddress}, kPassed},
      {"a tracer", SYS_prctl, {PR_SET_PTRACER, ~0ULL}, ENOSYS},
      {"to be looked into", SYS_prctl, {PR_SET_DUMPABLE, 1}, ENOSYS},
      {"a memory map", SYS_prctl, {PR_SET_MM, 1}, ENOSYS},
      {"a filter", SYS_prctl, {PR_SET_SECCOMP, 2}, ENOSYS},
      {"what it is", SYS_personality, {0xffffffff}, kPassed},
      {"without randomness", SYS_personality, {0x0040000}, ENOSYS},

      {"a stream pair", SYS_socketpair, {AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0}, kPassed},
      {"a datagram pair", SYS_socketpair, {AF_UNIX, SOCK_DGRAM, 0}, EAFNOSUPPORT},
      {"a pair of another family", SYS_socketpair, {AF_TIPC, SOCK_STREAM, 0}, EAFNOSUPPORT},
      {"a pair, upper half set",
       SYS_socketpair,
       {kUpperHalf | AF_UNIX, SOCK_STREAM, 0},
       EAFNOSUPPORT},
      {"a unix socket", SYS_socket, {AF_UNIX, SOCK_STREAM, 0}, EAFNOSUPPORT},
      {"an internet socket", SYS_socket, {AF_INET, SOCK_STREAM, 0}, EAFNOSUPPORT},
      {"the kernel's crypto", SYS_socket, {AF_ALG, SOCK_SEQPACKET, 0}, EAFNOSUPPORT},
      {"a netlink socket", SYS_socket, {AF_NETLINK, SOCK_RAW, 0}, EAFNOSUPPORT},
      {"a buffer", SYS_setsockopt, {0, SOL_SOCKET, SO_SNDBUF}, kPassed},
      {"a program on a socket", SYS_setsockopt, {0, SOL_SOCKET, SO_ATTACH_FILTER}, ENOSYS},
      {"a program on a socket", SYS_setsockopt, {0, SOL_SOCKET, SO_ATTACH_BPF}, ENOSYS},
  });
}

#if defined(__x86_64__)
TEST_CASE("a worker's filter ends who makes the calls of another architecture") {
  const auto filter = Filter::compile_worker();
  REQUIRE(filter.is_ok());
  const auto found = run_forked<int>([&](int& reached) {
    if (!set_no_new_privs() || filter->load() != 0) return;
    reached = 1;
    constexpr long kX32 = 0x40000000;
    ::syscall(kX32 | SYS_getpid);
    reached = 2;
  });
  CHECK(found.value == 1);
  CHECK(found.signal() == SIGSYS);
}
#endif
