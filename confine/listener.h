// SPDX-License-Identifier: Apache-2.0 OR MIT
// The supervising end of a seccomp listener (seccomp_unotify(2)): takes calls, answers them, puts
// descriptors into the caller. Judges nothing.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>

#include "confine/fd.h"

namespace aegis::confine {

/// A system call that waits for its answer. Its arguments are registers: nobody can change them.
struct Call {
  std::uint64_t id = 0;
  pid_t thread = 0;  // in our pid namespace; 0 when it is not visible there
  int number = 0;    // SYS_*
  std::array<std::uint64_t, 6> arguments = {};
};

class Listener {
 public:
  explicit Listener(Fd fd);

  /// For poll(2): POLLIN when a call waits, POLLHUP when nobody is left who could make one.
  [[nodiscard]] int fd() const { return fd_.get(); }

  /// Nothing when the caller died before. Blocks unless poll said POLLIN.
  [[nodiscard]] std::optional<Call> take() const;

  /// Whether the caller still waits. While it does, its thread id is nobody else's.
  [[nodiscard]] bool is_waiting(std::uint64_t id) const;

  /// Ends the call with -1 and errno `code`, or with 0 when `code` is 0.
  void answer(std::uint64_t id, int code) const;
  /// Lets the kernel run the call as it stands in the caller's memory by then.
  void let_pass(std::uint64_t id) const;

  enum class OnExec : std::uint8_t { keep, close };
  /// Puts a copy of `fd` into the caller under `number`, closing what stood there. 0 or an errno.
  [[nodiscard]] int put(std::uint64_t id, int fd, int number, OnExec on_exec) const;

 private:
  Fd fd_;
};

}  // namespace aegis::confine
