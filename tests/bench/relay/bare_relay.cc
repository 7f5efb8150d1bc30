// SPDX-License-Identifier: Apache-2.0 OR MIT
// The yardstick: one process between client and server that polls, reads up to 64 KiB and writes
// them, and looks at nothing. It has aegis's place in the process tree. It is no model of a relay:
// it may block on a full pipe.
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "confine/fd.h"
#include "tests/bench/relay/fail.h"
#include "tests/bench/relay/modes.h"

namespace aegis::relay_bench {
namespace {

using confine::Fd;

std::array<char, std::size_t{64} << 10> buffer;

/// About what aegis's two Lines of a call take.
constexpr std::size_t kIntentBytes = 320;
constexpr std::size_t kOutcomeBytes = 960;

/// False at the end of input.
bool move_once(int from, int to) {
  const ssize_t count = ::read(from, buffer.data(), buffer.size());
  if (count < 0) fail("bare relay: read");
  for (ssize_t done = 0; done < count;) {
    const ssize_t part = ::write(to, buffer.data() + done, static_cast<std::size_t>(count - done));
    if (part < 0) fail("bare relay: write");
    done += part;
  }
  return count > 0;
}

template <std::size_t kSize>
void append(const Fd& file) {
  std::array<char, kSize> line;
  line.fill('x');
  if (::write(file.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    fail("recording relay: append");
}

/// Before a call goes on its way; the file may be none.
void record_intent(const Fd& file) {
  if (!file.is_open()) return;
  append<kIntentBytes>(file);
  if (::fdatasync(file.get()) != 0) fail("recording relay: fdatasync");
}

/// After its answer did, which waits for nothing: the next sync has these bytes to write as well.
void record_outcome(const Fd& file) {
  if (file.is_open()) append<kOutcomeBytes>(file);
}

struct Server {
  pid_t pid;
  Fd input;
  Fd output;
};

Server start(char** argv) {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0)
    fail("bare relay: pipe");
  const pid_t pid = ::fork();
  if (pid < 0) fail("bare relay: fork");
  if (pid == 0) {
    if (::dup2(in[0], STDIN_FILENO) < 0 || ::dup2(out[1], STDOUT_FILENO) < 0)
      fail("bare relay: dup2");
    ::execv(argv[0], argv);
    fail("bare relay: exec");
  }
  ::close(in[0]);
  ::close(out[1]);
  return {pid, Fd(in[1]), Fd(out[0])};
}

int relay(char** argv, const Fd& file) {
  Server server = start(argv);
  std::array<pollfd, 2> fds{{{STDIN_FILENO, POLLIN, 0}, {server.output.get(), POLLIN, 0}}};
  for (;;) {
    if (::poll(fds.data(), fds.size(), -1) < 0) fail("bare relay: poll");
    if (fds[0].revents != 0) record_intent(file);
    if (fds[0].revents != 0 && !move_once(STDIN_FILENO, server.input.get())) {
      server.input.reset();
      fds[0].fd = -1;
    }
    if (fds[1].revents == 0) continue;
    if (!move_once(server.output.get(), STDOUT_FILENO)) break;
    record_outcome(file);
  }
  int status = 0;
  if (::waitpid(server.pid, &status, 0) < 0) fail("bare relay: wait");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

int relay_bare(char** argv) {
  return relay(argv, Fd());
}

int relay_recording(const char* path, char** argv) {
  const Fd file(::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file.is_open()) fail("recording relay: open");
  return relay(argv, file);
}

}  // namespace aegis::relay_bench
