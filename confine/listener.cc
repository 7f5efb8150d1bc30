// SPDX-License-Identifier: Apache-2.0 OR MIT
// See listener.h. An answer that fails means that the caller is gone, which needs nothing done.
#include "confine/listener.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

namespace aegis::confine {
namespace {

// linux/seccomp.h, Linux 6.6: the caller wakes the supervisor on its own processor and the other
// way round, which takes a third of the time.
constexpr unsigned long kSetFlags = _IOW('!', 4, std::uint64_t);
constexpr std::uint64_t kSyncWakeUp = 1;

// The kernel writes as much as its own struct has, and ours may be older (SECCOMP_GET_NOTIF_SIZES).
constexpr std::size_t kRoom = 4096;
union Notification {
  seccomp_notif head;
  std::array<char, kRoom> room;
};

void send(int fd, const seccomp_notif_resp& response) {
  union {
    seccomp_notif_resp head;
    std::array<char, kRoom> room;
  } whole{};
  whole.head = response;
  while (::ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &whole) != 0 && errno == EINTR) {
  }
}

}  // namespace

Listener::Listener(Fd fd) : fd_(std::move(fd)) {
  static_cast<void>(::ioctl(fd_.get(), kSetFlags, kSyncWakeUp));  // only makes it faster
}

std::optional<Call> Listener::take() const {
  Notification taken{};  // the kernel refuses one that is not all zero
  std::memset(&taken, 0, sizeof taken);
  if (::ioctl(fd_.get(), SECCOMP_IOCTL_NOTIF_RECV, &taken) != 0) return std::nullopt;
  Call call;
  call.id = taken.head.id;
  call.thread = static_cast<pid_t>(taken.head.pid);
  call.number = taken.head.data.nr;
  std::copy(
      std::begin(taken.head.data.args), std::end(taken.head.data.args), call.arguments.begin());
  return call;
}

bool Listener::is_waiting(std::uint64_t id) const {
  int result = 0;
  do {
    result = ::ioctl(fd_.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &id);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

void Listener::answer(std::uint64_t id, int code) const {
  seccomp_notif_resp response{};
  response.id = id;
  response.error = -code;
  send(fd_.get(), response);
}

void Listener::let_pass(std::uint64_t id) const {
  seccomp_notif_resp response{};
  response.id = id;
  response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  send(fd_.get(), response);
}

int Listener::put(std::uint64_t id, int fd, int number, OnExec on_exec) const {
  seccomp_notif_addfd added{};
  added.id = id;
  added.flags = SECCOMP_ADDFD_FLAG_SETFD;
  added.srcfd = static_cast<std::uint32_t>(fd);
  added.newfd = static_cast<std::uint32_t>(number);
  added.newfd_flags = on_exec == OnExec::close ? O_CLOEXEC : 0;
  // Interrupted, it may be taken back before the caller had the time (the clock of supervisor.cc);
  // a caller that never has it is given up.
  constexpr int kTries = 5;
  for (int tries = 0; tries < kTries; ++tries) {
    if (::ioctl(fd_.get(), SECCOMP_IOCTL_NOTIF_ADDFD, &added) >= 0) return 0;
    if (errno != EINTR) break;
  }
  return errno;
}

}  // namespace aegis::confine
