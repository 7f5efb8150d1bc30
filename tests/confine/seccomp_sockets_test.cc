// SPDX-License-Identifier: Apache-2.0 OR MIT
// The filter's rows about sockets, against the kernel.
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "tests/confine/filtered_calls.h"
#include "tests/wrap/scratch.h"

namespace {

using namespace aegis::test;  // NOLINT(google-build-using-namespace): the table's own words

TEST_CASE("a granted connection can be led nowhere else") {
  constexpr std::uint64_t kFastopen = MSG_FASTOPEN | MSG_NOSIGNAL;
  const std::vector<Call> calls = {
      {"sendto that connects", SYS_sendto, {3, 0, 0, kFastopen}, EOPNOTSUPP},
      {"the same, upper half", SYS_sendto, {3, 0, 0, kUpperHalf | kFastopen}, EOPNOTSUPP},
      {"sendmsg that connects", SYS_sendmsg, {3, 0, kFastopen}, EOPNOTSUPP},
      {"sendmmsg that connects", SYS_sendmmsg, {3, 0, 1, kFastopen}, EOPNOTSUPP},
      {"TCP_FASTOPEN_CONNECT", SYS_setsockopt, {3, 6, 30}, ENOPROTOOPT},
      {"the same, upper halves", SYS_setsockopt, {3, kUpperHalf | 6, kUpperHalf | 30}, ENOPROTOOPT},
      {"TCP_ULP", SYS_setsockopt, {3, 6, 31}, ENOPROTOOPT},
      {"IP_OPTIONS", SYS_setsockopt, {3, 0, 4}, ENOPROTOOPT},
      {"IPV6_RTHDR", SYS_setsockopt, {3, 41, 57}, ENOPROTOOPT},
      {"IPV6_2292PKTOPTIONS", SYS_setsockopt, {3, 41, 6}, ENOPROTOOPT},
      {"SIOCGIFNAME", SYS_ioctl, {3, 0x8910}, EPERM},
      {"SIOCGIFCONF", SYS_ioctl, {3, 0x8912}, EPERM},
      {"SIOCGIFADDR", SYS_ioctl, {3, kUpperHalf | 0x8915}, EPERM},
      {"SIOCGIFHWADDR", SYS_ioctl, {3, 0x8927}, EPERM},
      {"SIOCETHTOOL", SYS_ioctl, {3, 0x8946}, EPERM},
      {"SIOCGSKNS", SYS_ioctl, {3, 0x894c}, EPERM},
      {"SIOCGARP", SYS_ioctl, {3, 0x8954}, EPERM},
      {"SIOCDEVPRIVATE", SYS_ioctl, {3, 0x89ff}, EPERM},
      {"SIOCGIWNAME", SYS_ioctl, {3, 0x8b01}, EPERM},
  };
  check_all(kGranted, calls);
  std::vector<Call> free = calls;
  for (Call& call : free)
    call.error = kStopped;
  check_all(kUnconfined, free);
  check_all(kGranted,
            {{"sendto", SYS_sendto, {3, 0, 0, MSG_NOSIGNAL}, kStopped},
             {"sendmsg", SYS_sendmsg, {3, 0, MSG_NOSIGNAL | MSG_DONTWAIT}, kStopped},
             {"TCP_NODELAY", SYS_setsockopt, {3, 6, 1}, kStopped},
             {"SO_KEEPALIVE", SYS_setsockopt, {3, 1, 9}, kStopped},
             {"IP_TOS", SYS_setsockopt, {3, 0, 1}, kStopped},
             {"IPV6_V6ONLY", SYS_setsockopt, {3, 41, 26}, kStopped},
             {"SO_TYPE 30 of another level", SYS_setsockopt, {3, 1, 30}, kStopped},
             {"SIOCATMARK", SYS_ioctl, {3, 0x8905}, kStopped},
             {"SIOCINQ", SYS_ioctl, {3, 0x541b}, kStopped}});
}

TEST_CASE("a granted connection answers no question about interfaces") {
  std::vector<Call> calls;
  for (std::uint64_t order = 0x8900; order < 0x8c00; ++order) {
    const bool is_refused = (order >= 0x8910 && order < 0x8a00) || order >= 0x8b00;
    calls.push_back({"ioctl", SYS_ioctl, {3, order}, is_refused ? EPERM : kStopped});
  }
  check_all(kGranted, calls);
}

/// What may be made, said once more in plain words.
bool is_allowed(const FilterOptions& options, std::uint64_t domain, int type, std::uint64_t proto) {
  if (domain == AF_UNIX) {
    return options.tier == Tier::full && type == SOCK_STREAM;
  }
  const bool is_internet = domain == AF_INET || domain == AF_INET6;
  if (options.network == Network::unconfined) {
    const bool is_route_socket = domain == AF_NETLINK && (type == SOCK_RAW || type == SOCK_DGRAM);
    return is_internet || (is_route_socket && proto == 0);
  }
  if (options.network == Network::none || !is_internet) return false;
  if (type == SOCK_STREAM) return proto == 0 || proto == IPPROTO_TCP;
  return type == SOCK_DGRAM && (proto == 0 || proto == IPPROTO_UDP);
}

std::vector<std::uint64_t> domains_to_try() {
  std::vector<std::uint64_t> domains = {64, 255, 0xffffffff, ~0ULL, kUpperHalf};
  for (std::uint64_t domain = 0; domain < 48; ++domain)
    domains.push_back(domain);
  for (const int domain : {AF_UNIX, AF_INET, AF_INET6}) {
    domains.push_back(kUpperHalf | static_cast<std::uint64_t>(domain));
  }
  return domains;
}

std::vector<Call> sockets_to_try(const FilterOptions& options) {
  constexpr int kTypes = 11;  // one more than there are (linux/net.h: SOCK_PACKET)
  const std::vector<std::uint64_t> protocols = {
      0, 1, 2, 5, 6, 7, 16, 17, 18, 58, 132, 136, 255, 256, 262, 0xffffffff, kUpperHalf | 6};
  const std::vector<std::uint64_t> flags = {0, SOCK_CLOEXEC | SOCK_NONBLOCK, kUpperHalf};
  std::vector<Call> calls;
  for (const std::uint64_t domain : domains_to_try()) {
    for (int type = 0; type < kTypes; ++type) {
      for (const std::uint64_t protocol : protocols) {
        const int error = is_allowed(options, domain, type, protocol) ? kStopped : EAFNOSUPPORT;
        const std::uint64_t flag = flags[(domain + protocol) % flags.size()];
        const std::uint64_t word = static_cast<std::uint64_t>(type) | flag;
        calls.push_back({"socket", SYS_socket, {domain, word, protocol}, error});
      }
    }
  }
  return calls;
}

TEST_CASE("every domain, type and protocol of a socket is refused but those that are meant") {
  for (const FilterOptions& options :
       {kFull, kGranted, kUnconfined, kLandlock, kLandlockUnconfined}) {
    const std::vector<Call> calls = sockets_to_try(options);
    const std::vector<int> errors = errors_of(options, calls);
    std::vector<std::string> wrong;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (errors[i] == calls[i].error) continue;
      const auto& a = calls[i].arguments;
      wrong.push_back(std::to_string(a[0]) + "," + std::to_string(a[1]) + "," +
                      std::to_string(a[2]));
    }
    const std::string first = wrong.empty() ? "" : wrong.front();
    CAPTURE(first);
    CHECK(wrong.empty());
  }
}

TEST_CASE("an unconfined network brings unix sockets only where Landlock keeps the host's away") {
  for (const int abi : {0, 3, 5}) {
    CAPTURE(abi);
    check_all({Tier::full, Network::unconfined, abi},
              {{"unix", SYS_socket, {AF_UNIX, SOCK_STREAM, 0}, EAFNOSUPPORT},
               {"internet", SYS_socket, {AF_INET, SOCK_STREAM, 0}, kStopped}});
  }
  check_all({Tier::full, Network::none, 3},
            {{"unix", SYS_socket, {AF_UNIX, SOCK_STREAM, 0}, kStopped}});
}

TEST_CASE("sockets are left to the listener where there is one alone") {
  using Sockets = FilterOptions::Sockets;
  for (const Network network : {Network::none, Network::granted, Network::unconfined}) {
    const bool is_left = network == Network::granted;
    const int error = is_left ? kStopped : EAFNOSUPPORT;
    check_all({Tier::full, network, 7, Sockets::leave_to_listener},
              {{"packets", SYS_socket, {AF_PACKET, SOCK_RAW, 0}, error},
               {"unix datagrams", SYS_socket, {AF_UNIX, SOCK_DGRAM, 0}, error},
               {"a pair of them", SYS_socketpair, {AF_UNIX, SOCK_DGRAM, 0}, EAFNOSUPPORT}});
  }
}

TEST_CASE("a pair of sockets is of streams or packets") {
  const std::vector<Call> calls = {
      {"stream", SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0}, kStopped},
      {"stream with flags", SYS_socketpair, {AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0}, kStopped},
      {"packets", SYS_socketpair, {AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0}, kStopped},
      {"datagrams", SYS_socketpair, {AF_UNIX, SOCK_DGRAM, 0}, EAFNOSUPPORT},
      {"datagrams with flags", SYS_socketpair, {AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC}, EAFNOSUPPORT},
      {"datagrams, upper half", SYS_socketpair, {AF_UNIX, kUpperHalf | SOCK_DGRAM}, EAFNOSUPPORT},
      // The kernel makes datagrams of it (unix_create in net/unix/af_unix.c).
      {"raw", SYS_socketpair, {AF_UNIX, SOCK_RAW, 0}, EAFNOSUPPORT},
      {"tipc", SYS_socketpair, {30, SOCK_STREAM, 0}, EAFNOSUPPORT},
      {"upper half", SYS_socketpair, {kUpperHalf | AF_UNIX, SOCK_DGRAM, 0}, EAFNOSUPPORT},
  };
  for (const FilterOptions& options : {kFull, kGranted, kUnconfined, kLandlock}) {
    check_all(options, calls);
  }
}

// Why those pairs: a datagram of a pair reaches any path, packets of a pair stay in it.
TEST_CASE("a pair of packets sends to no path, a pair of datagrams would") {
  const Scratch scratch;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  scratch.path("socket").copy(address.sun_path, sizeof(address.sun_path) - 1);
  sockaddr any = {};
  static_assert(sizeof(address) > sizeof(any));
  const auto* const to = static_cast<const sockaddr*>(static_cast<const void*>(&address));
  const auto reaches_path = [&](int type) {
    const int listener = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ::unlink(address.sun_path);
    REQUIRE(::bind(listener, to, sizeof(address)) == 0);
    std::array<int, 2> pair = {};
    REQUIRE(::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair.data()) == 0);
    [[maybe_unused]] const ssize_t sent =
        ::sendto(pair[0], "x", 1, MSG_NOSIGNAL, to, sizeof(address));
    char byte = 0;
    const bool is_there = ::recv(listener, &byte, 1, 0) == 1;
    for (const int fd : {listener, pair[0], pair[1]})
      ::close(fd);
    return is_there;
  };
  CHECK(reaches_path(SOCK_DGRAM));
  CHECK_FALSE(reaches_path(SOCK_SEQPACKET));
  CHECK_FALSE(reaches_path(SOCK_STREAM));
}

}  // namespace
