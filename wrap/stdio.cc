// SPDX-License-Identifier: Apache-2.0 OR MIT
// See stdio.h.
#include "wrap/stdio.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include <climits>

namespace aegis::wrap {
namespace {

/// Which terminal is behind `fd`, whatever name it was opened by (ioctl_tty(2), Linux 2.6.39).
unsigned terminal_of(int fd) {
  unsigned device = 0;
  return ::ioctl(fd, TIOCGDEV, &device) == 0 ? device : 0;
}

/// One that is read needs nothing: what poll(2) has announced is there; and to try before that, in
/// the background, would stop this process (SIGTTIN).
bool is_terminal_to_write(int fd) {
  return fd != STDIN_FILENO && terminal_of(fd) != 0;
}

/// A description of our own for the pipe or the terminal behind `fd`, in `fd`'s place. Fails
/// without /proc, for what another user made, and for the master of a pseudo terminal, which nobody
/// can open again: that makes a new one (pts(4)).
bool reopen_in_place(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0) return false;
  char path[32];
  static_cast<void>(std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd));
  const confine::Fd own(::open(path, (flags & O_ACCMODE) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  return own.is_open() && terminal_of(own.get()) == terminal_of(fd) &&
         ::dup3(own.get(), fd, O_CLOEXEC) == fd;
}

Transfer transferred(ssize_t result) {
  if (result > 0) return {Transfer::Kind::moved, static_cast<std::size_t>(result)};
  if (result == 0) return {Transfer::Kind::closed};
  switch (errno) {
    case EAGAIN:
    case EINTR:
      return {Transfer::Kind::later};
    case EPIPE:
    case ECONNRESET:
    case EIO:  // a terminal whose other side is gone
      return {Transfer::Kind::closed, 0, errno};
    default:
      return {Transfer::Kind::failed, 0, errno};
  }
}

}  // namespace

Stream Stream::inherited(int fd) {
  Stream stream;
  stream.fd_ = fd;
  struct stat status = {};
  if (::fstat(fd, &status) != 0) return stream;  // with care, whatever it is
  if (S_ISSOCK(status.st_mode)) {
    stream.way_ = Way::socket;
  } else if ((S_ISFIFO(status.st_mode) || is_terminal_to_write(fd)) && reopen_in_place(fd)) {
    stream.way_ = Way::nonblocking;
  }
  return stream;
}

Stream Stream::own(confine::Fd fd) {
  Stream stream;
  stream.fd_ = fd.get();
  stream.way_ = Way::nonblocking;
  stream.owned_ = std::move(fd);
  return stream;
}

Stream::Stream(Stream&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), way_(other.way_), owned_(std::move(other.owned_)) {}

Stream& Stream::operator=(Stream&& other) noexcept {
  fd_ = std::exchange(other.fd_, -1);
  way_ = other.way_;
  owned_ = std::move(other.owned_);
  return *this;
}

Transfer Stream::read(std::span<char> into) const {
  if (way_ == Way::socket) return transferred(::recv(fd_, into.data(), into.size(), MSG_DONTWAIT));
  return transferred(::read(fd_, into.data(), into.size()));
}

Transfer Stream::write(std::string_view bytes) const {
  switch (way_) {
    case Way::socket:
      return transferred(::send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
    case Way::careful: {
      pollfd watched{fd_, POLLOUT, 0};
      if (::poll(&watched, 1, 0) == 0) return {Transfer::Kind::later};
      bytes = bytes.substr(0, PIPE_BUF);
      break;
    }
    case Way::nonblocking:
      break;
  }
  return transferred(::write(fd_, bytes.data(), bytes.size()));
}

void Stream::close() {
  if (owned_.is_open()) {
    owned_.reset();
  } else if (fd_ >= 0) {
    // The other side sees the end, and the number stays taken: a file opened later must not become
    // anybody's stdin, stdout or stderr.
    const confine::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!null.is_open() || ::dup2(null.get(), fd_) < 0) ::close(fd_);
  }
  fd_ = -1;
}

}  // namespace aegis::wrap
