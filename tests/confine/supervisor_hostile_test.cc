// SPDX-License-Identifier: Apache-2.0 OR MIT
// A program that tries to turn the supervisor: by what it changes between the look and the deed,
// and by what it leaves unfinished.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "net_world.h"

namespace {

using namespace aegis::test;
using Kind = aegis::confine::NetReport::Kind;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// Does `body` again and again beside the caller.
template <class Body>
class Beside {
 public:
  explicit Beside(Body body)
      : thread_([this, body] {
          while (!is_over_)
            body();
        }) {}
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;
  ~Beside() {
    is_over_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

TEST_CASE("an address that is changed while it is judged never leads elsewhere") {
  if (!NetWorld::is_possible()) return;
  const EchoServer granted;
  const EchoServer other;
  NetWorld world({{"127.0.0.1", granted.port()}});
  Shared<std::atomic<int>[2]> outcomes;
  const int code = world.run([&] {
    sockaddr_in address = loopback(granted.port());
    volatile auto* port = &address.sin_port;
    const Beside flipping([port, &granted, &other] {
      *port = htons(granted.port());
      *port = htons(other.port());
    });
    for (int count = 0; count < 3000; ++count) {
      const int socket = tcp_socket();
      const int result = ::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address);
      (*outcomes)[result == 0 ? 0 : 1].fetch_add(1);
      ::close(socket);
    }
    return 0;
  });
  CHECK(code == 0);
  CHECK((*outcomes)[0].load() > 100);  // else nothing was tried
  CHECK((*outcomes)[1].load() > 100);
  CHECK(granted.count() == (*outcomes)[0].load());
  CHECK(other.count() == 0);
}

/// A socket of the host's network that is connected no more. -1 when it cannot be had.
int dissolved_socket(std::uint16_t granted) {
  const int socket = tcp_socket(AF_INET, SOCK_NONBLOCK);
  const sockaddr nowhere{AF_UNSPEC, {}};
  const bool is_had = connect_v4(socket, "127.0.0.1", granted) == -EINPROGRESS &&
                      ::connect(socket, &nowhere, sizeof nowhere) == 0;
  return is_had ? socket : -1;
}

/// 0: connected; 1: EINVAL, the kernel's own word about a unix socket; 2: EACCES, ours or
/// Landlock's.
std::size_t outcome_of(int result) {
  if (result == 0) return 0;
  if (errno == EINVAL) return 1;
  return errno == EACCES ? 2 : 3;
}

TEST_CASE("a socket that is changed while it is judged never leads elsewhere") {
  if (!NetWorld::is_possible()) return;
  const EchoServer granted;
  const EchoServer other;
  NetWorld world({{"127.0.0.1", granted.port()}});
  Shared<std::atomic<int>[4]> outcomes;
  const int code = world.run([&] {
    // Under one number, by turns: a unix socket, whose connect is left to the kernel; a closed
    // socket of the host's network; one of the program's own.
    const int local = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int host = dissolved_socket(granted.port());
    if (host < 0) return 1;
    const int own = tcp_socket(AF_INET, SOCK_NONBLOCK);
    const int changing = ::fcntl(local, F_DUPFD, 0);
    sockaddr_in address = loopback(other.port());
    const Beside flipping([=] {
      for (const int each : {local, host, own})
        ::dup3(each, changing, O_CLOEXEC);
    });
    for (int count = 0; count < 3000; ++count) {
      const int result = ::connect(changing, reinterpret_cast<sockaddr*>(&address), sizeof address);
      (*outcomes)[outcome_of(result)].fetch_add(1);
    }
    return 0;
  });
  CHECK(code == 0);
  CHECK((*outcomes)[0].load() == 0);
  CHECK((*outcomes)[1].load() > 10);
  CHECK((*outcomes)[2].load() > 10);
  CHECK(other.count() == 0);
}

TEST_CASE("a socket that is changed while listen is judged never listens on the host") {
  if (!NetWorld::is_possible()) return;
  const EchoServer granted;
  NetWorld world({{"127.0.0.1", granted.port()}});
  Shared<std::atomic<int>[3]> outcomes;
  const int code = world.run([&] {
    const int local = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    if (::bind(local, reinterpret_cast<sockaddr*>(&name), sizeof(sa_family_t)) != 0) return 1;
    const int host = dissolved_socket(granted.port());
    if (host < 0) return 2;
    const int changing = ::fcntl(local, F_DUPFD, 0);
    const Beside flipping([=] {
      ::dup3(local, changing, O_CLOEXEC);
      ::dup3(host, changing, O_CLOEXEC);
    });
    for (int count = 0; count < 3000; ++count) {
      const bool is_done = ::listen(changing, 4) == 0;
      (*outcomes)[is_done ? 0 : 1].fetch_add(1);
      int is_listening = 0;
      socklen_t size = sizeof is_listening;
      ::getsockopt(host, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size);
      (*outcomes)[2].fetch_add(is_listening);
    }
    return 0;
  });
  CHECK(code == 0);
  CHECK((*outcomes)[0].load() > 100);
  CHECK((*outcomes)[1].load() > 100);
  CHECK((*outcomes)[2].load() == 0);
}

bool is_served(std::uint16_t port) {
  const int socket = tcp_socket();
  const bool is_there = connect_v4(socket, "127.0.0.1", port) == 0 && is_echoed(socket);
  ::close(socket);
  return is_there;
}

/// A process that is killed while it waits for its connect. False when it had not to be.
bool is_killed_waiting(std::uint16_t port) {
  const pid_t dying = ::fork();
  if (dying == 0) ::_exit(connect_v4(tcp_socket(), "127.0.0.1", port) == 0 ? 1 : 2);
  ::usleep(10'000);
  ::kill(dying, SIGKILL);
  int status = 0;
  ::waitpid(dying, &status, 0);
  return WIFSIGNALED(status);
}

/// A process that executes another program while a thread of it waits for its connect.
int exec_waiting(std::uint16_t port) {
  const pid_t execing = ::fork();
  if (execing == 0) {
    const std::thread waiting([port] { connect_v4(tcp_socket(), "127.0.0.1", port); });
    ::usleep(50'000);
    ::execl("/bin/true", "true", nullptr);
    ::_exit(1);
  }
  int status = 1;
  ::waitpid(execing, &status, 0);
  return status;
}

/// What vfork(2) makes: a process in its parent's memory.
int connect_sharing(std::uint16_t port) {
  const int socket = tcp_socket();
  // NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork): it is what is tried
  const pid_t sharing = ::vfork();
  // NOLINTNEXTLINE(clang-analyzer-unix.Vfork): it only fills its own stack frames
  if (sharing == 0) ::_exit(connect_v4(socket, "127.0.0.1", port) == 0 ? 0 : 1);
  int status = 1;
  ::waitpid(sharing, &status, 0);
  return status;
}

TEST_CASE("callers that die, exec or share their memory leave the supervisor at work") {
  if (!NetWorld::is_possible()) return;
  const FullServer full;
  const EchoServer server;
  NetWorld world({{"127.0.0.1", full.port()}, {"127.0.0.1", server.port()}});
  Shared<int[5]> got;
  const int code = world.run([&] {
    for (int count = 0; count < 20; ++count)
      (*got)[0] += is_killed_waiting(full.port()) ? 1 : 0;
    (*got)[1] = is_served(server.port()) ? 1 : 0;
    (*got)[2] = exec_waiting(full.port());
    (*got)[3] = is_served(server.port()) ? 1 : 0;
    (*got)[4] = connect_sharing(server.port());
    return 0;
  });
  CHECK(code == 0);
  CHECK((*got)[0] == 20);
  CHECK((*got)[1] == 1);
  CHECK((*got)[2] == 0);
  CHECK((*got)[3] == 1);
  CHECK((*got)[4] == 0);
}

TEST_CASE("more waiting connects than there is room for are refused, and the rest goes on") {
  if (!NetWorld::is_possible()) return;
  const FullServer full;
  const EchoServer server;
  NetWorld world({{"127.0.0.1", full.port()}, {"127.0.0.1", server.port()}});
  Shared<std::atomic<int>[2]> got;
  const int code = world.run([&]() -> int {
    constexpr int kThreads = 300;
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int count = 0; count < kThreads; ++count) {
      threads.emplace_back([&] {
        if (connect_v4(tcp_socket(), "127.0.0.1", full.port()) == -EAGAIN) (*got)[0].fetch_add(1);
      });
    }
    for (int waited = 0; waited < 100 && (*got)[0].load() < kThreads - 256; ++waited)
      ::usleep(50'000);
    const int socket = tcp_socket(AF_INET, SOCK_NONBLOCK);
    static_cast<void>(connect_v4(socket, "127.0.0.1", server.port()));
    (*got)[1] = await_connect(socket) == 0 && is_echoed(socket) ? 1 : 0;
    ::_exit(0);  // with all of them waiting
  });
  CHECK(code == 0);
  CHECK((*got)[0].load() == 300 - 256);
  CHECK((*got)[1].load() == 1);
}

TEST_CASE("a connect to its own full queue holds up nobody") {
  if (!NetWorld::is_possible()) return;
  const EchoServer server;
  NetWorld world({{"127.0.0.1", server.port()}});
  Shared<std::atomic<int>[3]> got;
  const int code = world.run([&]() -> int {
    const int listening = tcp_socket();
    sockaddr_in here = loopback(0);
    socklen_t size = sizeof here;
    if (::bind(listening, reinterpret_cast<sockaddr*>(&here), size) != 0) return 1;
    if (::listen(listening, 0) != 0) return 2;
    ::getsockname(listening, reinterpret_cast<sockaddr*>(&here), &size);
    const std::uint16_t port = ntohs(here.sin_port);
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int count = 0; count < 4; ++count) {
      threads.emplace_back([&, port] {
        connect_v4(tcp_socket(), "127.0.0.1", port);
        (*got)[0].fetch_add(1);
      });
    }
    ::usleep(300'000);
    (*got)[1] = (*got)[0].load();
    (*got)[2] = is_served(server.port()) ? 1 : 0;
    ::_exit(0);
  });
  CHECK(code == 0);
  CHECK((*got)[1].load() < 4);  // some are waiting
  CHECK((*got)[2].load() == 1);
}

}  // namespace
