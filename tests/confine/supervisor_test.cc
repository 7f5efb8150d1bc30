// SPDX-License-Identifier: Apache-2.0 OR MIT
// A program in its own network reaches what it was granted, by the hand of the supervisor, and
// nothing else.
#include "confine/supervisor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "net_world.h"

namespace {

using namespace aegis::test;
using aegis::confine::NetReport;
using Kind = aegis::confine::NetReport::Kind;

TEST_CASE("a granted address is connected to") {
  if (!NetWorld::is_possible()) return;
  const EchoServer server;
  NetWorld world({{"127.0.0.1", server.port()}});
  Shared<int[4]> got;
  const int code = world.run([&] {
    const int blocking = tcp_socket();
    (*got)[0] = connect_v4(blocking, "127.0.0.1", server.port());
    (*got)[1] = is_echoed(blocking) ? 1 : 0;
    const int other = tcp_socket(AF_INET, SOCK_NONBLOCK);
    (*got)[2] = connect_v4(other, "127.0.0.1", server.port());
    (*got)[3] = await_connect(other) == 0 && is_echoed(other) ? 1 : 0;
    return 0;
  });
  CHECK(code == 0);
  CHECK((*got)[0] == 0);
  CHECK((*got)[1] == 1);
  CHECK((*got)[2] == -EINPROGRESS);
  CHECK((*got)[3] == 1);
  CHECK(server.count() == 2);
  REQUIRE(world.reports().size() == 2);
  const NetReport report = world.reports().front();
  CHECK(report.kind == Kind::connected);
  CHECK(report.endpoint.port == server.port());
  CHECK(report.name_view() == "127.0.0.1");
}

TEST_CASE("what is not granted is refused and reported") {
  if (!NetWorld::is_possible()) return;
  const EchoServer granted;
  const EchoServer other;
  NetWorld world({{"127.0.0.1", granted.port()}});
  Shared<int[8]> got;
  const int code = world.run([&] {
    (*got)[0] = connect_v4(tcp_socket(), "192.0.2.1", granted.port());
    (*got)[1] = connect_v4(tcp_socket(AF_INET, SOCK_NONBLOCK), "10.0.0.1", 80);
    (*got)[2] = connect_v6(tcp_socket(AF_INET6), "2001:db8::1", granted.port());
    (*got)[3] = connect_v4(tcp_socket(), "127.0.0.1", other.port());
    (*got)[4] = connect_v4(tcp_socket(), "127.0.0.2", granted.port());
    (*got)[5] = connect_v4(tcp_socket(AF_INET6), "127.0.0.1", granted.port());
    (*got)[6] = connect_v4(STDIN_FILENO, "127.0.0.1", granted.port());
    (*got)[7] = connect_v4(1000, "127.0.0.1", granted.port());
    return 0;
  });
  CHECK(code == 0);
  CHECK((*got)[0] == -EACCES);
  CHECK((*got)[1] == -EACCES);
  CHECK((*got)[2] == -EACCES);
  CHECK((*got)[3] == -ECONNREFUSED);  // in its own network nobody listens
  CHECK((*got)[4] == -ECONNREFUSED);
  CHECK((*got)[5] == -EAFNOSUPPORT);
  CHECK((*got)[6] == -ENOTSOCK);
  CHECK((*got)[7] == -EBADF);
  CHECK(granted.count() == 0);
  CHECK(other.count() == 0);
  CHECK(world.count(Kind::refused_connect) == 5);
  CHECK(world.count(Kind::connected) == 0);
  CHECK(describe(world.reports()[1]) == "connect to 10.0.0.1:80 refused: not granted");
  CHECK(describe(world.reports()[2]) ==
        "connect to [2001:db8::1]:" + std::to_string(granted.port()) + " refused: not granted");
}

TEST_CASE("an IPv4 address inside an IPv6 one is that address") {
  if (!NetWorld::is_possible()) return;
  const EchoServer server;
  NetWorld world({{"127.0.0.1", server.port()}});
  Shared<int[2]> got;
  world.run([&] {
    const int socket = tcp_socket(AF_INET6);
    (*got)[0] = connect_v6(socket, "::ffff:127.0.0.1", server.port());
    (*got)[1] = is_echoed(socket) ? 1 : 0;
    return 0;
  });
  CHECK((*got)[0] == 0);
  CHECK((*got)[1] == 1);
}

TEST_CASE("duplicates made before connect follow, each with its own close-on-exec") {
  if (!NetWorld::is_possible()) return;
  const EchoServer server;
  NetWorld world({{"127.0.0.1", server.port()}});
  Shared<int[5]> got;
  world.run([&] {
    const int socket = tcp_socket();
    const int copy = ::fcntl(socket, F_DUPFD, 0);
    const int far = ::fcntl(socket, F_DUPFD_CLOEXEC, 900);
    const int other = tcp_socket();
    (*got)[0] = connect_v4(socket, "127.0.0.1", server.port());
    (*got)[1] = is_echoed(copy) && is_echoed(far) && is_echoed(socket) ? 1 : 0;
    (*got)[2] = ::fcntl(socket, F_GETFD);
    (*got)[3] = ::fcntl(copy, F_GETFD);
    (*got)[4] = is_echoed(other) ? 1 : 0;
    return 0;
  });
  CHECK((*got)[0] == 0);
  CHECK((*got)[1] == 1);
  CHECK((*got)[2] == FD_CLOEXEC);
  CHECK((*got)[3] == 0);
  CHECK((*got)[4] == 0);
  CHECK(server.count() == 1);
}

TEST_CASE("what was registered with epoll before connect follows") {
  if (!NetWorld::is_possible()) return;
  const EchoServer server;
  NetWorld world({{"127.0.0.1", server.port()}});
  Shared<int[8]> got;
  const int code = world.run([&] {
    const int first = ::epoll_create1(EPOLL_CLOEXEC);
    const int second = ::epoll_create1(EPOLL_CLOEXEC);
    const int socket = tcp_socket(AF_INET, SOCK_NONBLOCK);
    const int copy = ::fcntl(socket, F_DUPFD, 0);
    epoll_event wanted{};
    wanted.events = EPOLLOUT;
    wanted.data.u64 = 0x123456789abcdef0;
    ::epoll_ctl(first, EPOLL_CTL_ADD, socket, &wanted);
    wanted.events = EPOLLIN | EPOLLET;
    wanted.data.u64 = 7;
    ::epoll_ctl(second, EPOLL_CTL_ADD, copy, &wanted);
    (*got)[0] = connect_v4(socket, "127.0.0.1", server.port());
    epoll_event event{};
    (*got)[1] = ::epoll_wait(first, &event, 1, 5000);
    (*got)[2] = event.events == EPOLLOUT && event.data.u64 == 0x123456789abcdef0 ? 1 : 0;
    ::send(socket, "ping", 4, MSG_NOSIGNAL);
    (*got)[3] = ::epoll_wait(second, &event, 1, 5000) == 1 && event.data.u64 == 7 ? 1 : 0;
    (*got)[4] = ::epoll_wait(second, &event, 1, 0);  // edge-triggered: not again
    wanted.events = EPOLLIN;
    (*got)[5] = ::epoll_ctl(first, EPOLL_CTL_MOD, socket, &wanted);
    (*got)[6] = ::epoll_wait(first, &event, 1, 5000) == 1 && event.events == EPOLLIN ? 1 : 0;
    (*got)[7] = ::epoll_ctl(second, EPOLL_CTL_DEL, copy, nullptr);
    return 0;
  });
  CHECK(code == 0);
  CHECK((*got)[0] == -EINPROGRESS);
  CHECK((*got)[1] == 1);
  CHECK((*got)[2] == 1);
  CHECK((*got)[3] == 1);
  CHECK((*got)[4] == 0);
  CHECK((*got)[5] == 0);
  CHECK((*got)[6] == 1);
  CHECK((*got)[7] == 0);
}

/// Connects, is echoed, and goes.
bool is_served(std::uint16_t port, int flags) {
  const int socket = tcp_socket(AF_INET, flags);
  const int result = connect_v4(socket, "127.0.0.1", port);
  const bool is_connected =
      result == 0 || (result == -EINPROGRESS && flags != 0 && await_connect(socket) == 0);
  const bool is_there = is_connected && is_echoed(socket);
  ::close(socket);
  return is_there;
}

TEST_CASE("a hundred at once all get through") {
  if (!NetWorld::is_possible()) return;
  const EchoServer server;
  NetWorld world({{"127.0.0.1", server.port()}});
  Shared<std::atomic<int>> echoed;
  const int code = world.run([&] {
    constexpr int kThreads = 100;
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int count = 0; count < kThreads; ++count) {
      threads.emplace_back([&, count] {
        if (is_served(server.port(), count % 2 == 0 ? SOCK_NONBLOCK : 0)) echoed->fetch_add(1);
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    return 0;
  });
  CHECK(code == 0);
  CHECK(echoed->load() == 100);
  CHECK(server.count() == 100);
}

TEST_CASE("one that waits for the other side holds up nobody") {
  if (!NetWorld::is_possible()) return;
  const FullServer full;
  const EchoServer server;
  NetWorld world({{"127.0.0.1", full.port()}, {"127.0.0.1", server.port()}});
  Shared<int[4]> got;
  const int code = world.run([&] {
    const int slow = tcp_socket();
    const timeval limit{2, 0};
    ::setsockopt(slow, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    std::thread waiting([&] { (*got)[0] = connect_v4(slow, "127.0.0.1", full.port()); });
    ::usleep(100'000);
    for (int count = 0; count < 20; ++count) {
      (*got)[1] += is_served(server.port(), 0) ? 1 : 0;
    }
    (*got)[2] = (*got)[0];
    waiting.join();
    (*got)[3] = connect_v4(slow, "127.0.0.1", full.port());
    return 0;
  });
  CHECK(code == 0);
  CHECK((*got)[1] == 20);
  CHECK((*got)[2] == 0);             // still waiting by then
  CHECK((*got)[0] == -EINPROGRESS);  // socket(7): SO_SNDTIMEO
  CHECK((*got)[3] == -EALREADY);
}

TEST_CASE("a connect that fails leaves a socket that can connect elsewhere") {
  if (!NetWorld::is_possible()) return;
  std::uint16_t nobody = 0;
  { nobody = EchoServer().port(); }
  const EchoServer server;
  NetWorld world({{"127.0.0.1", nobody}, {"127.0.0.1", server.port()}});
  Shared<int[7]> got;
  world.run([&] {
    const int blocking = tcp_socket();
    (*got)[0] = connect_v4(blocking, "127.0.0.1", nobody);
    (*got)[1] = connect_v4(blocking, "127.0.0.1", server.port());
    (*got)[2] = connect_v4(blocking, "127.0.0.1", server.port());
    const int other = tcp_socket(AF_INET, SOCK_NONBLOCK);
    (*got)[3] = connect_v4(other, "127.0.0.1", nobody);
    (*got)[4] = await_connect(other);
    (*got)[5] = connect_v4(other, "127.0.0.1", server.port());
    (*got)[6] = await_connect(other) == 0 && is_echoed(other) && is_echoed(blocking) ? 1 : 0;
    return 0;
  });
  CHECK((*got)[0] == -ECONNREFUSED);
  CHECK((*got)[1] == 0);
  CHECK((*got)[2] == -EISCONN);
  CHECK((*got)[3] == -EINPROGRESS);
  CHECK((*got)[4] == ECONNREFUSED);
  CHECK((*got)[5] == -EINPROGRESS);
  CHECK((*got)[6] == 1);
}

TEST_CASE("what a program set on its socket is set on the connection") {
  if (!NetWorld::is_possible()) return;
  const EchoServer server;
  NetWorld world({{"127.0.0.1", server.port()}});
  Shared<int[6]> got;
  world.run([&] {
    const int socket = tcp_socket(AF_INET, SOCK_NONBLOCK);
    const int on = 1;
    const int idle = 77;
    const int size = 100'000;
    ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    static_cast<void>(connect_v4(socket, "127.0.0.1", server.port()));
    const auto read = [&](int level, int name) {
      int value = -1;
      socklen_t length = sizeof value;
      ::getsockopt(socket, level, name, &value, &length);
      return value;
    };
    (*got)[0] = read(SOL_SOCKET, SO_KEEPALIVE);
    (*got)[1] = read(IPPROTO_TCP, TCP_NODELAY);
    (*got)[2] = read(IPPROTO_TCP, TCP_KEEPIDLE);
    (*got)[3] = read(SOL_SOCKET, SO_RCVBUF);
    (*got)[4] = ::fcntl(socket, F_GETFL) & O_NONBLOCK;
    const int plain = tcp_socket();
    static_cast<void>(connect_v4(plain, "127.0.0.1", server.port()));
    (*got)[5] = ::fcntl(plain, F_GETFL) & O_NONBLOCK;
    return 0;
  });
  CHECK((*got)[0] == 1);
  CHECK((*got)[1] == 1);
  CHECK((*got)[2] == 77);
  CHECK((*got)[3] == 200'000);
  CHECK((*got)[4] == O_NONBLOCK);
  CHECK((*got)[5] == 0);
}

TEST_CASE("a program's own loopback and its unix sockets go on as ever") {
  if (!NetWorld::is_possible()) return;
  NetWorld world({{"192.0.2.1", 80}});
  Shared<int[8]> got;
  const int code = world.run([&] {
    const int server = tcp_socket();
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* address = reinterpret_cast<sockaddr*>(&here);
    (*got)[0] = ::bind(server, address, sizeof here);
    (*got)[1] = ::listen(server, 4);
    socklen_t size = sizeof here;
    ::getsockname(server, address, &size);
    const int client = tcp_socket();
    (*got)[2] = connect_v4(client, "127.0.0.1", ntohs(here.sin_port));
    const int accepted = ::accept4(server, nullptr, nullptr, SOCK_CLOEXEC);
    ::send(accepted, "x", 1, MSG_NOSIGNAL);
    char heard = 0;
    (*got)[3] = ::recv(client, &heard, 1, 0) == 1 && heard == 'x' ? 1 : 0;
    here.sin_port = htons(80);
    (*got)[4] = ::bind(tcp_socket(), address, sizeof here) == 0 ? 0 : errno;

    const int listening = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    constexpr socklen_t kAuto = sizeof(sa_family_t);  // unix(7): a name is found for it
    (*got)[5] = ::bind(listening, reinterpret_cast<sockaddr*>(&name), kAuto);
    size = sizeof name;
    ::getsockname(listening, reinterpret_cast<sockaddr*>(&name), &size);
    (*got)[6] = ::listen(listening, 4);
    const int caller = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (*got)[7] = ::connect(caller, reinterpret_cast<sockaddr*>(&name), size);
    return 0;
  });
  CHECK(code == 0);
  CHECK((*got)[0] == 0);
  CHECK((*got)[1] == 0);
  CHECK((*got)[2] == 0);
  CHECK((*got)[3] == 1);
  CHECK((*got)[4] == EACCES);
  CHECK((*got)[5] == 0);
  CHECK((*got)[6] == 0);
  CHECK((*got)[7] == 0);
  CHECK(world.reports().empty());
}

TEST_CASE("a granted connection's socket can be dissolved but neither bound nor listened on") {
  if (!NetWorld::is_possible()) return;
  const EchoServer server;
  NetWorld world({{"127.0.0.1", server.port()}});
  Shared<int[6]> got;
  world.run([&] {
    const int socket = tcp_socket();
    (*got)[0] = connect_v4(socket, "127.0.0.1", server.port());
    const sockaddr nowhere{AF_UNSPEC, {}};
    (*got)[1] = ::connect(socket, &nowhere, sizeof nowhere);
    (*got)[2] = ::listen(socket, 4) == 0 ? 0 : errno;
    sockaddr_in here{};
    here.sin_family = AF_INET;
    (*got)[3] = ::bind(socket, reinterpret_cast<sockaddr*>(&here), sizeof here) == 0 ? 0 : errno;
    (*got)[4] = connect_v4(socket, "127.0.0.1", static_cast<std::uint16_t>(server.port() - 1));
    (*got)[5] = connect_v4(socket, "127.0.0.1", server.port()) == 0 && is_echoed(socket) ? 1 : 0;
    return 0;
  });
  CHECK((*got)[0] == 0);
  CHECK((*got)[1] == 0);
  CHECK((*got)[2] == EACCES);
  CHECK((*got)[3] == EACCES);
  CHECK((*got)[4] == -EACCES);  // and not its own loopback: the socket is the host's
  CHECK((*got)[5] == 1);
  CHECK(world.count(Kind::refused_bind) == 2);
}

TEST_CASE("what is not TCP goes nowhere") {
  if (!NetWorld::is_possible()) return;
  const EchoServer server;
  NetWorld world({{"127.0.0.1", server.port()}});
  Shared<int[9]> got;
  world.run([&] {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(server.port());
    ::inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    const auto* address = reinterpret_cast<const sockaddr*>(&to);
    const auto code = [](long result) { return result >= 0 ? 0 : errno; };
    (*got)[0] = code(::sendto(tcp_socket(), "x", 1, MSG_FASTOPEN, address, sizeof to));
    iovec data{const_cast<char*>("x"), 1};
    msghdr message{};
    message.msg_name = &to;
    message.msg_namelen = sizeof to;
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    (*got)[1] = code(::sendmsg(tcp_socket(), &message, MSG_FASTOPEN));
    mmsghdr several{message, 0};
    (*got)[2] = code(::sendmmsg(tcp_socket(), &several, 1, MSG_FASTOPEN));
    constexpr int kMptcp = 262;
    (*got)[3] = code(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, kMptcp));
    for (int count = 0; count < 50; ++count)  // told once
      (*got)[4] = code(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0));
    (*got)[5] = code(::socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMPV6));
    ::inet_pton(AF_INET, "192.0.2.1", &to.sin_addr);
    const int udp = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    (*got)[6] = code(::sendto(udp, "x", 1, 0, address, sizeof to));
    (*got)[7] = code(::connect(udp, address, sizeof to));
    (*got)[8] = code(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    return 0;
  });
  CHECK((*got)[0] == EOPNOTSUPP);
  CHECK((*got)[1] == EOPNOTSUPP);
  CHECK((*got)[2] == EOPNOTSUPP);
  CHECK((*got)[3] == EPROTONOSUPPORT);
  CHECK((*got)[4] == EAFNOSUPPORT);
  CHECK((*got)[5] == EPROTONOSUPPORT);
  CHECK((*got)[6] == ENETUNREACH);
  CHECK((*got)[7] == ENETUNREACH);
  CHECK(server.count() == 0);
  CHECK((*got)[8] == EAFNOSUPPORT);
  REQUIRE(world.count(Kind::refused_socket) == 4);
  CHECK(describe(world.reports()[1]) ==
        "socket of AF_NETLINK, protocol 0 refused: grants are for TCP");
}

TEST_CASE("without its supervisor a program connects to nothing") {
  if (!NetWorld::is_possible()) return;
  const EchoServer server;
  NetWorld world({{"127.0.0.1", server.port()}});
  Shared<int[3]> got;
  Shared<std::atomic<int>> step;
  std::thread killer([&] {
    while (step->load() == 0)
      ::usleep(1000);
    ::kill(world.supervisor(), SIGKILL);
    siginfo_t ended{};
    ::waitid(P_PID, static_cast<id_t>(world.supervisor()), &ended, WEXITED | WNOWAIT);
    step->store(2);
  });
  world.run([&] {
    (*got)[0] = connect_v4(tcp_socket(), "127.0.0.1", server.port());
    step->store(1);
    while (step->load() != 2)
      ::usleep(1000);
    (*got)[1] = connect_v4(tcp_socket(), "127.0.0.1", server.port());
    (*got)[2] = ::listen(tcp_socket(), 1) == 0 ? 0 : errno;
    return 0;
  });
  killer.join();
  CHECK((*got)[0] == 0);
  CHECK((*got)[1] == -ENOSYS);
  CHECK((*got)[2] == ENOSYS);
  CHECK(server.count() == 1);
}

}  // namespace
