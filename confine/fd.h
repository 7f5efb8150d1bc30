// SPDX-License-Identifier: Apache-2.0 OR MIT
// The owner of one file descriptor. It opens nothing: who opens passes O_CLOEXEC (or its kin) in
// the same call, so that no fork in between can leak it. Descriptors 0 to 2, which belong to the
// caller of the program, are never put in one.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <utility>

namespace aegis::confine {

/// Move-only. There is no conversion to int: a number that outlives its owner may name somebody
/// else's file.
class Fd {
 public:
  Fd() noexcept = default;
  /// Takes what open(2) and its kin returned; a negative number is "not open". Keeps errno as it
  /// was.
  explicit Fd(int fd) noexcept : fd_(fd) {
    assert(fd < 0 || (::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
  }
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = other.release();
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }
  /// Hands the number over; this no longer owns it.
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

  /// Closes. Keeps errno, so that a failed call's cause survives the clean-up on the way out. EINTR
  /// is not repeated: on Linux the descriptor is gone by then (close(2)), and its number may be
  /// another's.
  void reset() noexcept {
    if (fd_ < 0) return;
    const int kept = errno;
    ::close(std::exchange(fd_, -1));
    errno = kept;
  }

 private:
  int fd_ = -1;
};

}  // namespace aegis::confine
