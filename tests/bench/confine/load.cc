// SPDX-License-Identifier: Apache-2.0 OR MIT
// What is run inside and outside of a confinement to see what it costs: many times the same system
// call, a connection, a server's first answer. Prints nanoseconds, one batch a line; measure.py
// starts it and compares.
//
//   load calls BATCHES           getppid(2), which does nothing but enter the kernel
//   load opens BATCHES PATH      open(2) and close(2)
//   load connects BATCHES PORT   connect(2) to 127.0.0.1, a line for each
//   load listen                  prints a port of 127.0.0.1 and takes connections until it is ended
//   load answer                  one line in, one line out, until the end of input

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

constexpr int kCallsInBatch = 20'000;
constexpr int kOpensInBatch = 2'000;

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

/// Runs `body` `count` times and prints what one took, in nanoseconds.
template <class Body>
void measure(int count, const Body& body) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  for (int i = 0; i < count; ++i)
    body();
  const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
  static_cast<void>(std::printf("%.1f\n", took.count() / count));
}

void calls(int batches) {
  for (int i = 0; i < batches; ++i)
    measure(kCallsInBatch, [] { ::syscall(SYS_getppid); });
}

void opens(int batches, const char* path) {
  for (int i = 0; i < batches; ++i) {
    measure(kOpensInBatch, [path] {
      const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
      if (fd < 0) fail(path);
      ::close(fd);
    });
  }
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// The socket interface takes every kind of address as its first member.
const sockaddr* erase(const sockaddr_in& address) {
  const void* erased = &address;
  return static_cast<const sockaddr*>(erased);
}

/// Closed by a reset, so that no thousands of them stay in TIME_WAIT.
void connects(int batches, std::uint16_t port) {
  const sockaddr_in address = loopback(port);
  for (int i = 0; i < batches; ++i) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) fail("socket");
    measure(1, [&] {
      if (::connect(fd, erase(address), sizeof address) != 0) fail("connect");
    });
    const linger reset = {1, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    ::close(fd);
  }
}

[[noreturn]] void take_connections() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  void* const erased = &address;
  constexpr int kBacklog = 128;
  if (::bind(listener, erase(address), size) != 0 || ::listen(listener, kBacklog) != 0 ||
      ::getsockname(listener, static_cast<sockaddr*>(erased), &size) != 0)
    fail("listen");
  static_cast<void>(std::printf("%d\n", ntohs(address.sin_port)));
  static_cast<void>(std::fflush(stdout));
  for (;;)
    ::close(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
}

void answer() {
  constexpr std::string_view kAnswer = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";
  std::array<char, 4096> bytes{};
  while (::read(STDIN_FILENO, bytes.data(), bytes.size()) > 0) {
    if (::write(STDOUT_FILENO, kAnswer.data(), kAnswer.size()) < 0) fail("write");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  const int batches = argc > 2 ? std::atoi(argv[2]) : 0;
  if (mode == "calls") {
    calls(batches);
  } else if (mode == "opens" && argc > 3) {
    opens(batches, argv[3]);
  } else if (mode == "connects" && argc > 3) {
    connects(batches, static_cast<std::uint16_t>(std::atoi(argv[3])));
  } else if (mode == "listen") {
    take_connections();
  } else if (mode == "answer") {
    answer();
  } else {
    errno = EINVAL;
    fail("load");
  }
  return 0;
}
