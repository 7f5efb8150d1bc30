// SPDX-License-Identifier: Apache-2.0 OR MIT
// Attempts through a descriptor that the caller left open (param fd): a folder, a log file or a
// socket as stdin, stdout or stderr, and whatever stands beyond them.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <ctime>

#include "tests/probes/probe.h"

namespace probe {
namespace {

int fd() {
  return static_cast<int>(number("fd"));
}

Answer secret_at(int folder, const char* name) {
  const int file = openat(folder, name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return refused("openat");
  close(file);
  return reads_secret("/proc/self/fd/" + std::to_string(folder) + "/" + name);
}

// A folder as descriptor.
Answer fd_read_beside() {
  return secret_at(fd(), "secret");
}
Answer fd_climb() {
  return by_result(openat(fd(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "openat ..");
}
Answer fd_enter() {
  return by_result(fchdir(fd()), "fchdir");
}
Answer fd_create_beside() {
  return by_result(openat(fd(), "new", O_WRONLY | O_CREAT | O_CLOEXEC, 0644), "openat O_CREAT");
}
Answer fd_remove_beside() {
  return by_result(unlinkat(fd(), "doomed", 0), "unlinkat");
}

// A log file as descriptor.
Answer fd_read_log() {
  char held[256];
  const ssize_t n = pread(fd(), held, sizeof held, 0);
  if (n < 0) return refused("pread");
  return std::string_view(held, static_cast<std::size_t>(n)).find(kSecret) != std::string::npos
             ? reached("read what others had logged")
             : broken("the log holds no secret");
}
Answer fd_overwrite_log() {
  return by_result(pwrite(fd(), "X", 1, 0), "pwrite");
}
Answer fd_truncate_log() {
  return by_result(ftruncate(fd(), 0), "ftruncate");
}
Answer fd_allocate_log() {
  return by_result(fallocate(fd(), 0, 0, 1 << 20), "fallocate");
}
Answer fd_seek_log() {
  return by_result(lseek(fd(), 0, SEEK_SET), "lseek");
}
Answer fd_reopen() {
  const std::string path = "/proc/self/fd/" + std::to_string(fd());
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return refused("open " + path);
  struct stat found = {};
  if (fstat(file, &found) != 0) return broken("fstat");
  return S_ISFIFO(found.st_mode) ? refused_by(ESPIPE, "it is a pipe") : reached("reopened " + path);
}

// Either.
Answer fd_kind() {
  struct stat found = {};
  if (fstat(fd(), &found) != 0) return refused("fstat");
  return S_ISFIFO(found.st_mode) ? refused_by(ESPIPE, "it is a pipe")
                                 : reached("it is the caller's own file");
}
// A pipe of the sandbox's own can be chmodded as one likes: it is nobody else's.
bool is_pipe() {
  struct stat found = {};
  return fstat(fd(), &found) == 0 && S_ISFIFO(found.st_mode);
}
Answer unless_pipe(long result, std::string_view doing) {
  if (result >= 0 && is_pipe()) return refused_by(ESPIPE, "it is a pipe");
  errno = result < 0 ? errno : 0;
  return by_result(result, doing);
}
Answer fd_chmod() {
  return unless_pipe(fchmod(fd(), 0600), "fchmod");
}
Answer fd_set_times() {
  const timespec times[2] = {{1, 0}, {1, 0}};
  return unless_pipe(futimens(fd(), times), "futimens");
}
Answer fd_set_attribute() {
  return unless_pipe(fsetxattr(fd(), "user.mark", "x", 1, 0), "fsetxattr");
}
Answer fd_lock() {
  return unless_pipe(flock(fd(), LOCK_EX | LOCK_NB), "flock");
}
Answer fd_set_flags() {
  return unless_pipe(fcntl(fd(), F_SETFL, O_NONBLOCK), "fcntl F_SETFL");
}

// A socket as descriptor: descriptors can cross it.
Answer fd_peer() {
  ucred peer = {};
  socklen_t size = sizeof peer;
  return by_result(getsockopt(fd(), SOL_SOCKET, SO_PEERCRED, &peer, &size), "getsockopt");
}
Answer fd_send_descriptor() {
  char byte = 'x';
  iovec part = {&byte, 1};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  *reinterpret_cast<int*>(CMSG_DATA(header)) = open("/", O_PATH | O_CLOEXEC);
  return by_result(sendmsg(fd(), &message, MSG_NOSIGNAL), "sendmsg SCM_RIGHTS");
}

Answer fd_beyond_stdio() {
  if (born_with().empty()) return refused_by(EBADF, "there is none beyond 2");
  return reached("born with descriptor " + std::to_string(born_with()[0]));
}

constexpr Attempt kAttempts[] = {
    {"fd_read_beside", fd_read_beside},
    {"fd_climb", fd_climb},
    {"fd_enter", fd_enter},
    {"fd_create_beside", fd_create_beside},
    {"fd_remove_beside", fd_remove_beside},
    {"fd_read_log", fd_read_log},
    {"fd_overwrite_log", fd_overwrite_log},
    {"fd_truncate_log", fd_truncate_log},
    {"fd_allocate_log", fd_allocate_log},
    {"fd_seek_log", fd_seek_log},
    {"fd_reopen", fd_reopen},
    {"fd_kind", fd_kind},
    {"fd_chmod", fd_chmod},
    {"fd_set_times", fd_set_times},
    {"fd_set_attribute", fd_set_attribute},
    {"fd_lock", fd_lock},
    {"fd_set_flags", fd_set_flags},
    {"fd_peer", fd_peer},
    {"fd_send_descriptor", fd_send_descriptor},
    {"fd_beyond_stdio", fd_beyond_stdio},
};

}  // namespace

const std::span<const Attempt> kInheritedAttempts = kAttempts;

}  // namespace probe
