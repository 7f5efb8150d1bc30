// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reading and writing descriptors without ever waiting in the call, also those that aegis
// inherited: O_NONBLOCK lives on the open description, which the client's terminal and others
// share, so it is never set on theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "confine/fd.h"

namespace aegis::wrap {

/// What one read or write came to.
struct Transfer {
  enum class Kind : std::uint8_t {
    moved,   // `count` bytes, at least one
    later,   // would have waited
    closed,  // end of input, or nobody reads any more
    failed,  // `code` is the errno
  };
  Kind kind;
  std::size_t count = 0;
  int code = 0;
};

/// One descriptor and the way it can be used without waiting.
class Stream {
 public:
  /// Nothing: is_open() is false.
  Stream() = default;
  /// One of 0, 1, 2. A socket is used with MSG_DONTWAIT; a pipe, and a terminal to be written to,
  /// is opened anew through /proc/self/fd, put in the old one's place and made non-blocking there
  /// (a terminal with room for one byte is ready, and holds who writes two); anything else (a
  /// terminal to be read, a file) is used as it is, once poll(2) has said that it is ready, in
  /// pieces of at most 4096 bytes (PIPE_BUF: what POLLOUT promises of a pipe).
  static Stream inherited(int fd);
  /// A pipe end of our own, already non-blocking.
  static Stream own(confine::Fd fd);

  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  /// Closes what it owns; an inherited descriptor only close() gives up, and puts /dev/null in its
  /// place.
  ~Stream() = default;

  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  /// For poll(2); -1 when closed.
  [[nodiscard]] int fd() const { return fd_; }
  /// A read or write of it never waits, whether poll(2) was asked or not.
  [[nodiscard]] bool is_nonblocking() const { return way_ != Way::careful; }
  /// SIGPIPE must be ignored. A read of what is not is_nonblocking() only after poll(2) has said
  /// that it is ready.
  [[nodiscard]] Transfer read(std::span<char> into) const;
  [[nodiscard]] Transfer write(std::string_view bytes) const;
  void close();

 private:
  enum class Way : std::uint8_t { nonblocking, socket, careful };

  int fd_ = -1;
  Way way_ = Way::careful;
  confine::Fd owned_;
};

}  // namespace aegis::wrap
