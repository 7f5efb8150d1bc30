// SPDX-License-Identifier: Apache-2.0 OR MIT
// See socket_options.h.
#include "confine/socket_options.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <cstring>

// Newer than some of the headers that this is built with.
#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71  // asm-generic/socket.h, Linux 5.14
#endif
#ifndef SO_BUF_LOCK
#define SO_BUF_LOCK 72  // asm-generic/socket.h, Linux 5.14
#endif

namespace aegis::confine {
namespace {

struct Option {
  int level;
  int name;
};
// What a program sets before it connects (socket(7), tcp(7), ip(7), ipv6(7)). Not here: what needs
// a capability, what is about listening or datagrams, and what leads packets elsewhere.
constexpr auto kOptions = std::to_array<Option>({
    {SOL_SOCKET, SO_KEEPALIVE},
    {SOL_SOCKET, SO_REUSEADDR},
    {SOL_SOCKET, SO_LINGER},
    {SOL_SOCKET, SO_OOBINLINE},
    {SOL_SOCKET, SO_PRIORITY},
    {SOL_SOCKET, SO_RCVLOWAT},
    {SOL_SOCKET, SO_RCVTIMEO},
    {SOL_SOCKET, SO_SNDTIMEO},
    {SOL_SOCKET, SO_TIMESTAMP},
    {SOL_SOCKET, SO_ZEROCOPY},
    {IPPROTO_TCP, TCP_NODELAY},
    {IPPROTO_TCP, TCP_CORK},
    {IPPROTO_TCP, TCP_KEEPIDLE},
    {IPPROTO_TCP, TCP_KEEPINTVL},
    {IPPROTO_TCP, TCP_KEEPCNT},
    {IPPROTO_TCP, TCP_SYNCNT},
    {IPPROTO_TCP, TCP_LINGER2},
    {IPPROTO_TCP, TCP_USER_TIMEOUT},
    {IPPROTO_TCP, TCP_NOTSENT_LOWAT},
    {IPPROTO_TCP, TCP_CONGESTION},
    {IPPROTO_IP, IP_TOS},
    {IPPROTO_IP, IP_TTL},
    {IPPROTO_IP, IP_MTU_DISCOVER},
    {IPPROTO_IP, IP_RECVERR},
    {IPPROTO_IPV6, IPV6_V6ONLY},
    {IPPROTO_IPV6, IPV6_TCLASS},
    {IPPROTO_IPV6, IPV6_UNICAST_HOPS},
    {IPPROTO_IPV6, IPV6_MTU_DISCOVER},
    {IPPROTO_IPV6, IPV6_RECVERR},
    {IPPROTO_IPV6, IPV6_DONTFRAG},
});

OptionValue read_option(int socket, const Option& option) {
  OptionValue value;
  socklen_t size = value.bytes.size();
  if (::getsockopt(socket, option.level, option.name, value.bytes.data(), &size) == 0)
    value.size = size;
  return value;
}

/// Of a new socket, in the order of the table.
std::vector<OptionValue> new_values(int domain) {
  const Fd socket(::socket(domain, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP));
  std::vector<OptionValue> values;
  values.reserve(kOptions.size());
  for (const Option& option : kOptions)
    values.push_back(socket.is_open() ? read_option(socket.get(), option) : OptionValue{});
  return values;
}

bool read_int(int socket, int level, int name, int& value) {
  socklen_t size = sizeof value;
  return ::getsockopt(socket, level, name, &value, &size) == 0;
}

/// Only sizes that the program has set: setting one ends the kernel's own tuning (socket(7)).
void copy_buffer_sizes(int model, int socket) {
  constexpr unsigned kSendLock = 1;     // linux/socket.h, SOCK_SNDBUF_LOCK
  constexpr unsigned kReceiveLock = 2;  // SOCK_RCVBUF_LOCK
  int locks = 0;
  if (!read_int(model, SOL_SOCKET, SO_BUF_LOCK, locks)) return;
  const auto copy = [&](int name) {
    int size = 0;
    if (!read_int(model, SOL_SOCKET, name, size)) return;
    size /= 2;  // the kernel doubles what is set, and says the double
    static_cast<void>(::setsockopt(socket, SOL_SOCKET, name, &size, sizeof size));
  };
  if ((static_cast<unsigned>(locks) & kSendLock) != 0) copy(SO_SNDBUF);
  if ((static_cast<unsigned>(locks) & kReceiveLock) != 0) copy(SO_RCVBUF);
}

int status_flags(int socket) {
  const int flags = ::fcntl(socket, F_GETFL);
  return flags < 0 ? 0 : flags;
}

}  // namespace

int read_traits(int socket, SocketTraits& traits) {
  if (!read_int(socket, SOL_SOCKET, SO_DOMAIN, traits.domain) ||
      !read_int(socket, SOL_SOCKET, SO_TYPE, traits.type) ||
      !read_int(socket, SOL_SOCKET, SO_PROTOCOL, traits.protocol))
    return errno;
  socklen_t size = sizeof traits.network;
  return ::getsockopt(socket, SOL_SOCKET, SO_NETNS_COOKIE, &traits.network, &size) == 0 ? 0 : errno;
}

std::optional<std::uint64_t> own_network() {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  SocketTraits traits;
  if (!socket.is_open() || read_traits(socket.get(), traits) != 0) return std::nullopt;
  return traits.network;
}

std::optional<TcpState> tcp_state(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  if (info.tcpi_state == TCP_CLOSE) return TcpState::closed;
  return info.tcpi_state == TCP_SYN_SENT ? TcpState::connecting : TcpState::other;
}

SocketMaker::SocketMaker() : v4_(new_values(AF_INET)), v6_(new_values(AF_INET6)) {}

Fd SocketMaker::make_like(int model, int domain) const {
  Fd made(::socket(domain, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  if (!made.is_open()) return made;
  const std::vector<OptionValue>& usual = domain == AF_INET6 ? v6_ : v4_;
  for (std::size_t at = 0; at < kOptions.size(); ++at) {
    if (usual[at].size == 0) continue;  // IPv6's on an IPv4 socket
    const OptionValue wanted = read_option(model, kOptions[at]);
    if (wanted.size == 0 || wanted == usual[at]) continue;
    // One that cannot be set is left: a program that cares reads it back.
    static_cast<void>(::setsockopt(
        made.get(), kOptions[at].level, kOptions[at].name, wanted.bytes.data(), wanted.size));
  }
  copy_buffer_sizes(model, made.get());
  return made;
}

bool is_non_blocking(int socket) {
  return (status_flags(socket) & O_NONBLOCK) != 0;
}

void copy_blocking(int model, int socket) {
  const int others = status_flags(socket) & ~O_NONBLOCK;
  static_cast<void>(::fcntl(socket, F_SETFL, others | (status_flags(model) & O_NONBLOCK)));
}

std::optional<std::chrono::milliseconds> connect_patience(int socket) {
  timeval limit{};
  socklen_t size = sizeof limit;
  if (::getsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, &size) != 0 ||
      (limit.tv_sec == 0 && limit.tv_usec == 0))
    return std::nullopt;
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::seconds(limit.tv_sec) + std::chrono::microseconds(limit.tv_usec));
}

int take_error(int socket) {
  int error = 0;
  return read_int(socket, SOL_SOCKET, SO_ERROR, error) ? error : errno;
}

}  // namespace aegis::confine
