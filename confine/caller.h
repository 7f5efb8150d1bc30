// SPDX-License-Identifier: Apache-2.0 OR MIT
// The thread that made a supervised call: its descriptors and its memory, by handles that cannot
// come to mean another process. What is read here is the confined program's word.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>

#include "confine/fd.h"
#include "confine/listener.h"

namespace aegis::confine {

/// A socket address as the program gave it, copied once.
struct CopiedAddress {
  sockaddr_storage storage = {};
  socklen_t size = 0;

  /// Its sa_family, or -1 when it is too short to have one.
  [[nodiscard]] int family() const;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

class Caller {
 public:
  /// `proc`: /proc, as the supervisor sees it. Only what Listener::is_waiting confirms afterwards
  /// is the caller's. Needs the right to trace it (ptrace(2), PTRACE_MODE_ATTACH), which the owner
  /// of its user namespace has. 0 or an errno.
  [[nodiscard]] static int find(const Call& call, int proc, Caller& found);

  /// A copy of its descriptor `number` (pidfd_getfd(2)). Not open on failure, with errno: EBADF.
  [[nodiscard]] Fd duplicate(int number) const;
  /// One read of its memory. 0, EINVAL when `size` is none of an address, or EFAULT.
  [[nodiscard]] int copy_address(std::uint64_t at, std::uint64_t size, CopiedAddress& copied) const;
  /// Its folder in /proc (O_PATH), or -1 when that cannot be had.
  [[nodiscard]] int folder() const { return folder_.get(); }
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }

 private:
  pid_t thread_ = 0;
  Fd pidfd_;
  Fd folder_;
};

/// pidfd_getfd(2), Linux 5.6.
Fd duplicate_of(int pidfd, int number);

}  // namespace aegis::confine
