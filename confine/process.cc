// SPDX-License-Identifier: Apache-2.0 OR MIT
// See process.h.
#include "confine/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

namespace aegis::confine {
namespace {

constexpr int kNoMore = 0x7fffffff;  // above every descriptor

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

}  // namespace aegis::confine
