// SPDX-License-Identifier: Apache-2.0 OR MIT
// See process.h.
#include "confine/process.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <system_error>

namespace aegis::confine {
namespace {

constexpr std::string_view kUnexecuted = "aegis/payload";  // at most 15 bytes
constexpr std::string_view kInitName = "aegis-init";
constexpr int kNoMore = 0x7fffffff;  // above every descriptor

/// The fields of /proc/self/stat that follow the process's name, which may hold anything, by their
/// numbers in proc(5).
constexpr int kFirstField = 3;
constexpr int kArgStart = 48;  // Linux 3.5, as kArgEnd
constexpr int kArgEnd = 49;

/// Field `number` of what stands behind the name; 0 when there is none.
std::uintptr_t field_of(std::string_view fields, int number) noexcept {
  for (int at = kFirstField; at < number; ++at) {
    const std::size_t space = fields.find(' ');
    if (space == fields.npos) return 0;
    fields.remove_prefix(space + 1);
  }
  std::uintptr_t value = 0;
  static_cast<void>(std::from_chars(fields.data(), fields.data() + fields.size(), value));
  return value;
}

/// `last` included.
void close_between(int first, int last) noexcept {
  if (first > last) return;
  if (::syscall(SYS_close_range, static_cast<unsigned>(first), static_cast<unsigned>(last), 0U) ==
      0)
    return;
  const long most = ::sysconf(_SC_OPEN_MAX);
  for (int fd = first; fd <= last && fd < most; ++fd)
    ::close(fd);
}

}  // namespace

pid_t clone_process(std::uint64_t flags, std::optional<int> birthplace) noexcept {
  // With no stack given the child goes on on its copy. clone3(2) only where it is needed: filters
  // of containers refuse it, since they cannot see its flags.
  if (!birthplace) return static_cast<pid_t>(::syscall(SYS_clone, flags | SIGCHLD, 0L, 0L, 0L, 0L));
  clone_args args{};
  args.flags = flags | CLONE_INTO_CGROUP;
  args.exit_signal = SIGCHLD;
  args.cgroup = static_cast<__u64>(*birthplace);
  return static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof args));
}

void reset_signals() noexcept {
  // The kernel itself is asked: glibc's sigaction refuses the two signals that it keeps for its
  // threads, and its posix_spawn, by which make and others start us, leaves them ignored.
  constexpr std::size_t kKernelSet = 8;        // bytes of the kernel's sigset_t
  constexpr std::array<char, 64> kStandard{};  // its sigaction, no larger than this: SIG_DFL is 0
  for (int number = 1; number < NSIG; ++number)
    ::syscall(SYS_rt_sigaction, number, kStandard.data(), nullptr, kKernelSet);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void close_all_but(std::span<const int> kept) noexcept {
  int first = 0;
  for (;;) {
    int next = kNoMore;
    for (const int fd : kept) {
      if (fd >= first && fd < next) next = fd;
    }
    close_between(first, next == kNoMore ? kNoMore : next - 1);
    if (next == kNoMore) return;
    first = next + 1;
  }
}

void mark_unexecuted() noexcept {
  ::prctl(PR_SET_NAME, kUnexecuted.data());
}

bool has_executed(int pid) noexcept {
  char path[32];
  char text[128];
  static_cast<void>(std::snprintf(path, sizeof path, "/proc/%d/stat", pid));
  for (;;) {
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    const ssize_t size = ::read(fd, text, sizeof text);
    ::close(fd);
    if (size <= 0) return false;
    // "<pid> (<name>) <state> …" (proc(5)). exec closes what is close-on-exec before it sets the
    // name (begin_new_exec in fs/exec.c), so the old name of a process that lives says nothing yet.
    const std::string_view stat(text, static_cast<std::size_t>(size));
    const std::size_t name = stat.find('(');
    if (name == stat.npos || stat.substr(name + 1, kUnexecuted.size()) != kUnexecuted) return true;
    const std::size_t state = name + 1 + kUnexecuted.size() + 2;
    if (state >= stat.size() || stat[state] == 'Z' || stat[state] == 'X') return false;
    ::sched_yield();
  }
}

bool has_own_proc() noexcept {
  char text[16];
  const ssize_t size = ::readlink("/proc/self", text, sizeof text);
  if (size <= 0) return false;
  int self = 0;
  const auto [end, code] = std::from_chars(text, text + size, self);
  return code == std::errc{} && end == text + size && self == ::getpid();
}

int forget_command_line() noexcept {
  const int fd = ::open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  char text[1024];
  const ssize_t size = ::read(fd, text, sizeof text);
  const int code = size < 0 ? errno : 0;
  ::close(fd);
  if (code != 0) return code;
  std::string_view fields(text, static_cast<std::size_t>(size));
  const std::size_t name_end = fields.rfind(") ");
  if (name_end == fields.npos) return EPROTO;
  fields.remove_prefix(name_end + 2);
  const std::uintptr_t begin = field_of(fields, kArgStart);
  const std::uintptr_t end = field_of(fields, kArgEnd);
  if (begin == 0 || end <= begin) return EPROTO;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel tells it as a number
  char* const words = reinterpret_cast<char*>(begin);
  std::memset(words, 0, end - begin);
  // For who looks from the host. The last byte stays NUL, or more than these words would be shown.
  std::memcpy(words, kInitName.data(), std::min(kInitName.size(), end - begin - 1));
  return 0;
}

int write_proc(const char* path, std::string_view text) noexcept {
  // The files in /proc are root's while a process is not dumpable.
  const int was_dumpable = ::prctl(PR_GET_DUMPABLE);
  ::prctl(PR_SET_DUMPABLE, 1);
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  int code = fd < 0 ? errno : 0;
  if (fd >= 0) {
    if (::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) code = errno;
    ::close(fd);
  }
  ::prctl(PR_SET_DUMPABLE, was_dumpable);
  return code;
}

void be_first_out_of_memory() noexcept {
  static_cast<void>(write_proc("/proc/self/oom_score_adj", "1000"));
}

}  // namespace aegis::confine
