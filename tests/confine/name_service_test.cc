// SPDX-License-Identifier: Apache-2.0 OR MIT
// A program in its own network looks names up: granted ones are answered, and then connected to.
#include "confine/name_service.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "confine/net_child.h"
#include "net_world.h"

namespace {

using namespace aegis::test;
using aegis::confine::kDnsTypeA;
using aegis::confine::kDnsTypeAaaa;
using aegis::confine::Resolved;
using Kind = aegis::confine::NetReport::Kind;
using Outcome = aegis::confine::Resolved::Outcome;

/// What the stub said: its code and the first address.
struct Said {
  int code = -1;  // -1: nothing within 5 s
  int count = 0;
  std::array<unsigned char, 16> address = {};
};

Said ask(const std::string& name, std::uint16_t type) {
  std::string packet("\x12\x34\x01\0\0\x01\0\0\0\0\0\0", 12);
  for (std::size_t start = 0; start < name.size();) {
    const std::size_t dot = std::min(name.find('.', start), name.size());
    packet += static_cast<char>(dot - start);
    packet += name.substr(start, dot - start);
    start = dot + 1;
  }
  packet += '\0';
  const std::size_t question_end = packet.size() + 4;
  packet += {'\0', static_cast<char>(type), '\0', '\x01'};
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  Said said;
  if (connect_v4(socket, "127.0.0.1", 53) == 0 &&
      ::send(socket, packet.data(), packet.size(), 0) == static_cast<ssize_t>(packet.size())) {
    pollfd polled{socket, POLLIN, 0};
    std::array<unsigned char, 512> answer{};
    if (::poll(&polled, 1, 5000) == 1 && ::recv(socket, answer.data(), answer.size(), 0) >= 12) {
      said.code = answer[3] & 0xf;
      said.count = answer[7];
      std::memcpy(said.address.data(), answer.data() + question_end + 12, 16);
    }
  }
  ::close(socket);
  return said;
}

Resolved resolve(const std::string& name) {
  const auto found = [](const char* text) {
    return Resolved{Outcome::found, {*aegis::confine::parse_address(text)}};
  };
  if (name == "good.test") return found("127.0.0.1");
  if (name == "public.test") return found("1.1.1.1");
  if (name == "private.test") return found("10.0.0.1");
  if (name == "mapped.test") return found("::ffff:169.254.169.254");
  if (name == "none.test") return {Outcome::no_such_name, {}};
  if (name == "crash.test") std::abort();
  return {};
}

TEST_CASE("granted names are answered with what may be told, others do not exist") {
  if (!NetWorld::is_possible()) return;
  const EchoServer server;
  NetWorld world({{"127.0.0.1", server.port()},
                  {"good.test", server.port()},
                  {"private.test", 80},
                  {"mapped.test", 80},
                  {"none.test", 80},
                  {"crash.test", 80},
                  {"broken.test", 80}},
                 resolve);
  Shared<Said[12]> said;
  Shared<int> connected;
  const int code = world.run([&] {
    (*said)[0] = ask("Good.TEST", kDnsTypeA);
    *connected = connect_v4(tcp_socket(), "127.0.0.1", server.port());
    (*said)[1] = ask("good.test", kDnsTypeAaaa);
    (*said)[2] = ask("good.test", 65);  // HTTPS, RFC 9460
    (*said)[3] = ask("private.test", kDnsTypeA);
    (*said)[4] = ask("mapped.test", kDnsTypeAaaa);
    (*said)[5] = ask("none.test", kDnsTypeA);
    (*said)[6] = ask("crash.test", kDnsTypeA);
    (*said)[7] = ask("broken.test", kDnsTypeA);
    (*said)[8] = ask("evil.test", kDnsTypeA);
    (*said)[9] = ask("evil.test", kDnsTypeAaaa);
    (*said)[10] = ask("secret.good.test", kDnsTypeA);
    return 0;
  });
  CHECK(code == 0);
  CHECK((*said)[0].code == 0);
  CHECK((*said)[0].count == 1);
  CHECK((*said)[0].address[0] == 127);
  CHECK(*connected == 0);
  CHECK((*said)[1].code == 0);
  CHECK((*said)[1].count == 0);
  CHECK((*said)[2].code == 0);
  CHECK((*said)[2].count == 0);
  CHECK((*said)[3].code == 3);
  CHECK((*said)[4].code == 3);
  CHECK((*said)[5].code == 3);
  CHECK((*said)[6].code == 2);
  CHECK((*said)[7].code == 2);
  CHECK((*said)[8].code == 3);
  CHECK((*said)[9].code == 3);
  CHECK((*said)[10].code == 3);
  // A and AAAA of one name are one look-up.
  REQUIRE(world.count(Kind::refused_name) == 2);
  CHECK(world.count(Kind::refused_answer) == 2);
  CHECK(describe(world.reports()[1]) ==
        "look-up of private.test refused: it leads to 10.0.0.1, which must be granted as an "
        "address");
  CHECK(describe(world.reports().back()) == "look-up of secret.good.test refused: not granted");
}

TEST_CASE("a name that takes long holds up nobody") {
  if (!NetWorld::is_possible()) return;
  const EchoServer server;
  Shared<std::atomic<int>> is_over;
  const auto slow_resolve = [&](const std::string& name) {
    while (name == "slow.test" && is_over->load() == 0)
      ::usleep(1000);
    return name == "slow.test" ? resolve("public.test") : resolve(name);
  };
  NetWorld world({{"127.0.0.1", server.port()}, {"good.test", 80}, {"slow.test", 80}},
                 slow_resolve);
  Shared<Said[3]> said;
  Shared<int> connected;
  const int code = world.run([&] {
    std::thread slow([&] { (*said)[0] = ask("slow.test", kDnsTypeA); });
    std::thread same([&] { (*said)[1] = ask("slow.test", kDnsTypeA); });
    ::usleep(100'000);  // so that they are asked for first; nothing hangs on it
    (*said)[2] = ask("good.test", kDnsTypeA);
    for (int count = 0; count < 10; ++count)
      *connected += connect_v4(tcp_socket(), "127.0.0.1", server.port()) == 0 ? 1 : 0;
    is_over->store(1);
    slow.join();
    same.join();
    return 0;
  });
  CHECK(code == 0);
  CHECK((*said)[0].count == 1);
  CHECK((*said)[1].count == 1);
  CHECK((*said)[2].code == 0);
  CHECK(*connected == 10);
}

/// Gives `lo` one more address.
bool add_to_loopback(const char* address) {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::memcpy(request.ifr_name, "lo:1", sizeof "lo:1");
  sockaddr_in in{};
  in.sin_family = AF_INET;
  ::inet_pton(AF_INET, address, &in.sin_addr);
  std::memcpy(&request.ifr_addr, &in, sizeof in);
  const bool is_added = ::ioctl(socket, SIOCSIFADDR, &request) == 0;
  ::close(socket);
  return is_added;
}

TEST_CASE("a name's address is reached once it was answered, at the name's port alone") {
  if (!NetWorld::is_possible()) return;
  struct Findings {
    bool is_set_up;
    int before, asked, after, other_port, reports;
  };
  Shared<Findings> found;
  // A host of its own, on whose loopback 1.1.1.1 lives: nothing leaves this machine.
  const pid_t host = run_as_host([&] {
    if (aegis::confine::raise_loopback() != 0 || !add_to_loopback("1.1.1.1")) return;
    found->is_set_up = true;
    const EchoServer server("1.1.1.1");
    const EchoServer other("1.1.1.1");
    NetWorld world({{"public.test", server.port()}}, resolve);
    world.run([&] {
      found->before = connect_v4(tcp_socket(), "1.1.1.1", server.port());
      found->asked = ask("public.test", kDnsTypeA).count;
      const int socket = tcp_socket();
      found->after = connect_v4(socket, "1.1.1.1", server.port()) == 0 && is_echoed(socket) ? 1 : 0;
      found->other_port = connect_v4(tcp_socket(), "1.1.1.1", other.port());
      return 0;
    });
    found->reports = 0;
    for (const auto& report : world.reports()) {
      if (report.kind == Kind::connected && report.name_view() == "public.test") ++found->reports;
    }
  });
  REQUIRE(host > 0);
  REQUIRE(found->is_set_up);
  CHECK(found->before == -EACCES);
  CHECK(found->asked == 1);
  CHECK(found->after == 1);
  CHECK(found->other_port == -EACCES);
  CHECK(found->reports == 1);
}

}  // namespace
