// SPDX-License-Identifier: Apache-2.0 OR MIT
// Which system calls a worker of the broker's may make: the other kind of list than seccomp.cc's,
// since it need carry no server, only python and the commands of a policy. What is not here is no
// such call (ENOSYS), on which libraries take another way.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <optional>
#include <span>

#include <seccomp.h>

#include "confine/filter_builder.h"
#include "confine/seccomp.h"
#include "confine/socket_rules.h"

namespace aegis::confine {
namespace {

// Not yet in libseccomp 2.5.4; the numbers are the same on every architecture.
constexpr int kFchmodat2 = 452;  // Linux 6.6
// asm/prctl.h: where a thread's own data is. Not ARCH_SHSTK_*, which no program needs to ask for.
constexpr std::uint32_t kArchSetFs = 0x1002;
constexpr std::uint32_t kArchGetFs = 0x1003;
constexpr std::uint32_t kPrSetVma = 0x53564d41;  // linux/prctl.h; Linux 5.17

/// Whole, whatever its arguments say: all it can name are the caller's own processes, descriptors
/// and memory, and paths, which the root and Landlock judge.
constexpr int kReading[] = {
    SCMP_SYS(read),      SCMP_SYS(pread64),    SCMP_SYS(readv),     SCMP_SYS(preadv),
    SCMP_SYS(preadv2),   SCMP_SYS(lseek),      SCMP_SYS(close),     SCMP_SYS(close_range),
    SCMP_SYS(dup),       SCMP_SYS(dup2),       SCMP_SYS(dup3),      SCMP_SYS(flock),
    SCMP_SYS(fadvise64), SCMP_SYS(readahead),  SCMP_SYS(stat),      SCMP_SYS(fstat),
    SCMP_SYS(lstat),     SCMP_SYS(newfstatat), SCMP_SYS(statx),     SCMP_SYS(statfs),
    SCMP_SYS(fstatfs),   SCMP_SYS(access),     SCMP_SYS(faccessat), SCMP_SYS(faccessat2),
    SCMP_SYS(readlink),  SCMP_SYS(readlinkat), SCMP_SYS(getdents),  SCMP_SYS(getdents64),
    SCMP_SYS(getcwd),    SCMP_SYS(chdir),      SCMP_SYS(fchdir),    SCMP_SYS(getxattr),
    SCMP_SYS(lgetxattr), SCMP_SYS(fgetxattr),  SCMP_SYS(listxattr), SCMP_SYS(llistxattr),
    SCMP_SYS(flistxattr)};
/// To /tmp and to what may be written of the workspace. Not splice(2) and its like: all do without.
constexpr int kWriting[] = {
    SCMP_SYS(write),     SCMP_SYS(pwrite64),  SCMP_SYS(writev),    SCMP_SYS(pwritev),
    SCMP_SYS(pwritev2),  SCMP_SYS(fsync),     SCMP_SYS(fdatasync), SCMP_SYS(sync_file_range),
    SCMP_SYS(fallocate), SCMP_SYS(sendfile),  SCMP_SYS(truncate),  SCMP_SYS(ftruncate),
    SCMP_SYS(umask),     SCMP_SYS(mkdir),     SCMP_SYS(mkdirat),   SCMP_SYS(copy_file_range),
    SCMP_SYS(rmdir),     SCMP_SYS(unlink),    SCMP_SYS(unlinkat),  SCMP_SYS(rename),
    SCMP_SYS(renameat),  SCMP_SYS(renameat2), SCMP_SYS(link),      SCMP_SYS(linkat),
    SCMP_SYS(symlink),   SCMP_SYS(symlinkat), SCMP_SYS(chown),     SCMP_SYS(fchown),
    SCMP_SYS(lchown),    SCMP_SYS(fchownat),  SCMP_SYS(utime),     SCMP_SYS(utimes),
    SCMP_SYS(futimesat), SCMP_SYS(utimensat)};
constexpr int kMemory[] = {SCMP_SYS(mmap),
                           SCMP_SYS(munmap),
                           SCMP_SYS(mprotect),
                           SCMP_SYS(mremap),
                           SCMP_SYS(madvise),
                           SCMP_SYS(msync),
                           SCMP_SYS(mincore),
                           SCMP_SYS(brk),
                           SCMP_SYS(membarrier)};
/// execve(2) goes by a path, so the mounts judge what it runs; execveat(2) and memfd_create(2)
/// would run what has none.
constexpr int kProcesses[] = {SCMP_SYS(execve),
                              SCMP_SYS(fork),
                              SCMP_SYS(vfork),
                              SCMP_SYS(exit),
                              SCMP_SYS(exit_group),
                              SCMP_SYS(wait4),
                              SCMP_SYS(waitid),
                              SCMP_SYS(getpid),
                              SCMP_SYS(getppid),
                              SCMP_SYS(gettid),
                              SCMP_SYS(getpgid),
                              SCMP_SYS(setpgid),
                              SCMP_SYS(getpgrp),
                              SCMP_SYS(getsid),
                              SCMP_SYS(setsid),
                              SCMP_SYS(kill),
                              SCMP_SYS(tkill),
                              SCMP_SYS(tgkill),
                              SCMP_SYS(pidfd_open),
                              SCMP_SYS(rseq),
                              SCMP_SYS(pidfd_send_signal),
                              SCMP_SYS(futex),
                              SCMP_SYS(set_robust_list),
                              SCMP_SYS(set_tid_address),
                              SCMP_SYS(sched_yield),
                              SCMP_SYS(getcpu),
                              SCMP_SYS(sched_getaffinity),
                              SCMP_SYS(getpriority),
                              SCMP_SYS(sched_getparam),
                              SCMP_SYS(sched_getscheduler),
                              SCMP_SYS(sched_get_priority_min),
                              SCMP_SYS(sched_get_priority_max),
                              SCMP_SYS(sched_rr_get_interval)};
constexpr int kSignals[] = {SCMP_SYS(rt_sigaction),
                            SCMP_SYS(rt_sigprocmask),
                            SCMP_SYS(rt_sigreturn),
                            SCMP_SYS(rt_sigpending),
                            SCMP_SYS(rt_sigtimedwait),
                            SCMP_SYS(rt_sigsuspend),
                            SCMP_SYS(rt_sigqueueinfo),
                            SCMP_SYS(rt_tgsigqueueinfo),
                            SCMP_SYS(sigaltstack),
                            SCMP_SYS(pause),
                            SCMP_SYS(restart_syscall),
                            SCMP_SYS(signalfd),
                            SCMP_SYS(signalfd4)};
constexpr int kTime[] = {SCMP_SYS(nanosleep),
                         SCMP_SYS(clock_nanosleep),
                         SCMP_SYS(clock_gettime),
                         SCMP_SYS(clock_getres),
                         SCMP_SYS(gettimeofday),
                         SCMP_SYS(time),
                         SCMP_SYS(times),
                         SCMP_SYS(alarm),
                         SCMP_SYS(getitimer),
                         SCMP_SYS(setitimer),
                         SCMP_SYS(timer_create),
                         SCMP_SYS(timer_settime),
                         SCMP_SYS(timer_gettime),
                         SCMP_SYS(timer_getoverrun),
                         SCMP_SYS(timer_delete),
                         SCMP_SYS(timerfd_create),
                         SCMP_SYS(timerfd_settime),
                         SCMP_SYS(timerfd_gettime)};
constexpr int kWaiting[] = {SCMP_SYS(poll),
                            SCMP_SYS(ppoll),
                            SCMP_SYS(select),
                            SCMP_SYS(pselect6),
                            SCMP_SYS(epoll_create),
                            SCMP_SYS(epoll_ctl),
                            SCMP_SYS(epoll_create1),
                            SCMP_SYS(epoll_wait),
                            SCMP_SYS(epoll_pwait),
                            SCMP_SYS(epoll_pwait2),
                            SCMP_SYS(eventfd),
                            SCMP_SYS(eventfd2),
                            SCMP_SYS(pipe),
                            SCMP_SYS(pipe2)};
/// Of a pair: no other socket can be had, and none can be bound or connected.
constexpr int kPairs[] = {SCMP_SYS(recvfrom),
                          SCMP_SYS(recvmsg),
                          SCMP_SYS(recvmmsg),
                          SCMP_SYS(sendto),
                          SCMP_SYS(sendmsg),
                          SCMP_SYS(sendmmsg),
                          SCMP_SYS(shutdown),
                          SCMP_SYS(getsockname),
                          SCMP_SYS(getpeername),
                          SCMP_SYS(getsockopt)};
/// Who am I, how much is there. A limit can be lowered, and the one user that there is can be set
/// (make does it before each command); anything else needs a capability.
constexpr int kOneself[] = {
    SCMP_SYS(getuid),    SCMP_SYS(geteuid),   SCMP_SYS(getgid),    SCMP_SYS(getegid),
    SCMP_SYS(getresuid), SCMP_SYS(getresgid), SCMP_SYS(setuid),    SCMP_SYS(setgid),
    SCMP_SYS(setreuid),  SCMP_SYS(setregid),  SCMP_SYS(setresuid), SCMP_SYS(setresgid),
    SCMP_SYS(getgroups), SCMP_SYS(capget),    SCMP_SYS(uname),     SCMP_SYS(sysinfo),
    SCMP_SYS(getrusage), SCMP_SYS(getrlimit), SCMP_SYS(setrlimit), SCMP_SYS(getrandom)};

constexpr std::span<const int> kWhole[] = {
    kReading, kWriting, kMemory, kProcesses, kSignals, kTime, kWaiting, kPairs, kOneself};

struct Allowed {
  int call = 0;
  std::array<std::optional<Comparison>, 2> when = {};  // both must be true
};

constexpr Comparison has_none(unsigned index, std::uint32_t flags) {
  return {index, Comparison::Test::low_bits, 0, flags};
}
constexpr Comparison is(unsigned index, std::uint32_t value) {
  return {index, Comparison::Test::low_bits, value};
}
constexpr Comparison is_domain(unsigned index, std::uint32_t domain) {
  return {index, Comparison::Test::equal, domain};
}
/// SOCK_CLOEXEC and its like lie above the kind.
constexpr Comparison is_kind(unsigned index, std::uint32_t kind) {
  return {index, Comparison::Test::low_bits, kind, 0xf};
}
constexpr Comparison is_type(unsigned index, std::uint32_t type) {
  return {index, Comparison::Test::low_bits, type, S_IFMT | S_ISUID | S_ISGID};
}

constexpr std::uint32_t kSetIds = S_ISUID | S_ISGID;
/// Of these open(2) looks at its mode; O_TMPFILE holds O_DIRECTORY, which says nothing of that.
constexpr std::uint32_t kMakes = O_CREAT | (O_TMPFILE & ~O_DIRECTORY);
constexpr std::uint32_t kNewNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
                                         CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

/// Part of what the call can do. Several rows of one call: any of them.
constexpr auto kPartly = std::to_array<Allowed>({
    // clone3(2), whose flags are in memory, is left out, on which glibc takes this one.
    {SCMP_SYS(clone), {has_none(0, kNewNamespaces)}},

    // No set-user-ID or set-group-ID file: on the host it would run as aegis's user, whoever starts
    // it. openat2(2), whose mode is in memory, is left out.
    {SCMP_SYS(open), {has_none(1, kMakes)}},
    {SCMP_SYS(open), {has_none(2, kSetIds)}},
    {SCMP_SYS(openat), {has_none(2, kMakes)}},
    {SCMP_SYS(openat), {has_none(3, kSetIds)}},
    {SCMP_SYS(creat), {has_none(1, kSetIds)}},
    {SCMP_SYS(chmod), {has_none(1, kSetIds)}},
    {SCMP_SYS(fchmod), {has_none(1, kSetIds)}},
    {SCMP_SYS(fchmodat), {has_none(2, kSetIds)}},
    {kFchmodat2, {has_none(2, kSetIds)}},
    {SCMP_SYS(mknod), {is_type(1, S_IFIFO)}},
    {SCMP_SYS(mknod), {is_type(1, S_IFREG)}},
    {SCMP_SYS(mknodat), {is_type(2, S_IFIFO)}},
    {SCMP_SYS(mknodat), {is_type(2, S_IFREG)}},

    // Of the caller alone: the sandbox's first process has the same user.
    {SCMP_SYS(prlimit64), {is(0, 0)}},
    {SCMP_SYS(sched_setaffinity), {is(0, 0)}},
    {SCMP_SYS(sched_setscheduler), {is(0, 0)}},
    {SCMP_SYS(setpriority), {is(0, PRIO_PROCESS), is(1, 0)}},

    // Not F_SETLEASE: whoever opens the file, on the host too, would wait for the program. Below
    // 1024 (F_LINUX_SPECIFIC_BASE) are flags, locks and owners (fcntl(2)).
    {SCMP_SYS(fcntl), {has_none(1, F_SETLEASE)}},
    {SCMP_SYS(fcntl), {is(1, F_DUPFD_CLOEXEC)}},
    {SCMP_SYS(fcntl), {is(1, F_SETPIPE_SZ)}},
    {SCMP_SYS(fcntl), {is(1, F_GETPIPE_SZ)}},

    // What a file, a pipe and a terminal understand; the rest belongs to devices.
    {SCMP_SYS(ioctl), {is(1, TCGETS)}},
    {SCMP_SYS(ioctl), {is(1, TIOCGWINSZ)}},
    {SCMP_SYS(ioctl), {is(1, TIOCGPGRP)}},
    {SCMP_SYS(ioctl), {is(1, FIONREAD)}},
    {SCMP_SYS(ioctl), {is(1, FIONBIO)}},
    {SCMP_SYS(ioctl), {is(1, FIOCLEX)}},
    {SCMP_SYS(ioctl), {is(1, FIONCLEX)}},
    {SCMP_SYS(ioctl), {is(1, FICLONE)}},  // cp(1)

    // What a process says of itself. Not whom it lets trace it, nor its memory map.
    {SCMP_SYS(prctl), {is(0, PR_SET_NAME)}},
    {SCMP_SYS(prctl), {is(0, PR_GET_NAME)}},
    {SCMP_SYS(prctl), {is(0, PR_SET_PDEATHSIG)}},
    {SCMP_SYS(prctl), {is(0, PR_GET_PDEATHSIG)}},
    {SCMP_SYS(prctl), {is(0, PR_GET_DUMPABLE)}},
    {SCMP_SYS(prctl), {is(0, PR_GET_SECCOMP)}},
    {SCMP_SYS(prctl), {is(0, PR_GET_NO_NEW_PRIVS)}},
    {SCMP_SYS(prctl), {is(0, PR_CAPBSET_READ)}},
    {SCMP_SYS(prctl), {is(0, kPrSetVma)}},  // a name, by glibc's malloc
    {SCMP_SYS(arch_prctl), {is(0, kArchSetFs)}},
    {SCMP_SYS(arch_prctl), {is(0, kArchGetFs)}},
    {SCMP_SYS(personality), {is(0, 0xffffffff)}},  // asks what it is

    {SCMP_SYS(socketpair), {is_domain(0, AF_UNIX), is_kind(1, SOCK_STREAM)}},
    // Not SO_ATTACH_FILTER and its kin, which are programs.
    {SCMP_SYS(setsockopt), {is(1, SOL_SOCKET), is(2, SO_SNDBUF)}},
    {SCMP_SYS(setsockopt), {is(1, SOL_SOCKET), is(2, SO_RCVBUF)}},
    {SCMP_SYS(setsockopt), {is(1, SOL_SOCKET), is(2, SO_SNDTIMEO)}},
    {SCMP_SYS(setsockopt), {is(1, SOL_SOCKET), is(2, SO_RCVTIMEO)}},
});

Result<void> allow_whole(FilterBuilder& builder) {
  for (const std::span<const int> group : kWhole) {
    for (const int call : group)
      AEGIS_TRY(builder.allow(call));
  }
  return {};
}

Result<void> allow_partly(FilterBuilder& builder) {
  for (const Allowed& each : kPartly) {
    std::vector<Comparison> when;
    for (const std::optional<Comparison>& one : each.when) {
      if (one) when.push_back(*one);
    }
    AEGIS_TRY(builder.allow(each.call, when));
  }
  return {};
}

}  // namespace

Result<Filter> Filter::compile_worker() {
  FilterBuilder builder = AEGIS_TRY(FilterBuilder::make(FilterBuilder::Otherwise::enosys));
  AEGIS_TRY(allow_whole(builder));
  AEGIS_TRY(allow_partly(builder));
  // What programs know as "there is no such network here".
  AEGIS_TRY(builder.refuse(SCMP_SYS(socket), EAFNOSUPPORT));
  constexpr std::array<Socket, 1> kPair{{{AF_UNIX, SOCK_STREAM, kAny}}};
  AEGIS_TRY(refuse_other_sockets(builder, SCMP_SYS(socketpair), kPair));

  Filter filter;
  filter.program_ = AEGIS_TRY(builder.program());
  filter.instructions_ = filter.program_.size();
  if (filter.instructions_ > BPF_MAXINSNS) return code_error("make the filter", "too long", E2BIG);
  return filter;
}

}  // namespace aegis::confine
