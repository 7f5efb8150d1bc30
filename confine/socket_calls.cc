// SPDX-License-Identifier: Apache-2.0 OR MIT
// See socket_calls.h.
#include "confine/socket_calls.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "confine/socket_swap.h"

namespace aegis::confine {
namespace {

constexpr std::uint16_t kFirstFreePort = 1024;  // ip(7), ip_unprivileged_port_start

enum class Kind : std::uint8_t {
  local,    // AF_UNIX
  tcp,      // of the program's own network
  udp,      // likewise
  granted,  // TCP of the host's network: we made it
  other,
};

Kind kind_of(const SocketTraits& traits, std::uint64_t host_network) {
  if (traits.domain == AF_UNIX) return Kind::local;
  if (traits.domain != AF_INET && traits.domain != AF_INET6) return Kind::other;
  const bool is_host = traits.network == host_network;
  if (traits.type == SOCK_STREAM && traits.protocol == IPPROTO_TCP)
    return is_host ? Kind::granted : Kind::tcp;
  if (traits.type == SOCK_DGRAM && traits.protocol == IPPROTO_UDP && !is_host) return Kind::udp;
  return Kind::other;
}

/// Reads `address` as tcp_v4_connect and tcp_v6_connect do. 0 or what they answer.
int read_endpoint(const CopiedAddress& address, int domain, Endpoint& to) {
  constexpr socklen_t kOldV6Size = 24;  // net/ipv6.h, SIN6_LEN_RFC2133: without the scope
  if (address.family() != domain) return address.family() < 0 ? EINVAL : EAFNOSUPPORT;
  if (domain == AF_INET) {
    if (address.size < sizeof(sockaddr_in)) return EINVAL;
    sockaddr_in in{};
    std::memcpy(&in, &address.storage, sizeof in);
    std::array<std::uint8_t, 4> bytes{};
    std::memcpy(bytes.data(), &in.sin_addr, bytes.size());
    to = {make_v4(bytes), ntohs(in.sin_port)};
    return 0;
  }
  if (address.size < kOldV6Size) return EINVAL;
  sockaddr_in6 in{};
  std::memcpy(&in, &address.storage, sizeof in);
  std::array<std::uint8_t, 16> bytes{};
  std::memcpy(bytes.data(), &in.sin6_addr, bytes.size());
  to = {make_v6(bytes), ntohs(in.sin6_port)};
  return 0;
}

/// The address that is connected to, built from what was judged and nothing else: no scope, no
/// flow.
CopiedAddress address_of(const Endpoint& to, int domain) {
  CopiedAddress made;
  if (domain == AF_INET) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(to.port);
    std::memcpy(&in.sin_addr, to.address.bytes.data(), sizeof in.sin_addr);
    std::memcpy(&made.storage, &in, sizeof in);
    made.size = sizeof in;
    return made;
  }
  sockaddr_in6 in{};
  in.sin6_family = AF_INET6;
  in.sin6_port = htons(to.port);
  auto* bytes = in.sin6_addr.s6_addr;
  if (to.address.family == IpAddress::Family::v4) {
    constexpr std::size_t kMark = 10;  // ::ffff:a.b.c.d
    constexpr std::size_t kV4 = 12;
    std::memset(bytes + kMark, 0xff, 2);
    std::memcpy(bytes + kV4, to.address.bytes.data(), 4);
  } else {
    std::memcpy(bytes, to.address.bytes.data(), sizeof in.sin6_addr);
  }
  std::memcpy(&made.storage, &in, sizeof in);
  made.size = sizeof in;
  return made;
}

int code_of(int result) {
  return result == 0 ? 0 : errno;
}

bool is_of_loopback(const IpAddress& address) {
  return is_loopback(address) || is_unspecified(address);
}

/// sin_port and sin6_port stand at one place.
std::uint16_t port_of(const CopiedAddress& address) {
  if (address.size < sizeof(sockaddr_in)) return 0;
  sockaddr_in in{};
  std::memcpy(&in, &address.storage, sizeof in);
  return ntohs(in.sin_port);
}

}  // namespace

void SocketCalls::handle(const Call& call, Clock::time_point now) {
  if (call.number == SYS_socket) {
    const auto domain = static_cast<int>(call.arguments[0]);
    const bool is_internet = domain == AF_INET || domain == AF_INET6;
    return refuse_socket(call, now, is_internet ? EPROTONOSUPPORT : EAFNOSUPPORT);
  }
  Case found{call, {}, {}, {}, {}, now};
  int code = Caller::find(call, parts_.proc, found.caller);
  if (code != 0) return answer(call, code);
  found.socket = found.caller.duplicate(static_cast<int>(call.arguments[0]));
  if (!found.socket.is_open()) return answer(call, errno);
  code = read_traits(found.socket.get(), found.traits);
  const bool has_address = call.number != SYS_listen && found.traits.domain != AF_UNIX;
  if (code == 0 && has_address)
    code = found.caller.copy_address(call.arguments[1], call.arguments[2], found.address);
  if (code != 0) return answer(call, code);
  // Only now is it certain that all this was the caller's: its thread id has not changed hands.
  if (parts_.listener.is_waiting(call.id)) judge(found);
}

void SocketCalls::judge(Case& found) {
  switch (found.call.number) {
    case SYS_connect:
      return judge_connect(found);
    case SYS_bind:
      return judge_bind(found);
    case SYS_listen:
      return judge_listen(found);
    default:
      return answer(found.call, ENOSYS);
  }
}

void SocketCalls::judge_connect(Case& found) {
  const Kind kind = kind_of(found.traits, parts_.host_network);
  const bool is_dissolved = found.address.family() == AF_UNSPEC;
  // A path means something only in the program's own root, so this one call is left to the kernel,
  // with a descriptor and an address that may be others by then. What it can be turned into is a
  // connect of any socket to anywhere, and all of those are without harm: TCP's is Landlock's to
  // refuse, UDP has no way out of its network, and a unix socket's target is a matter of the root
  // and of Landlock's scope with or without us.
  if (kind == Kind::local) return parts_.listener.let_pass(found.call.id);
  if (kind == Kind::other) {
    NetReport report;
    report.kind = NetReport::Kind::refused_socket;
    report.family = found.traits.domain;
    report.protocol = found.traits.protocol;
    parts_.reporter.send(report);
    return answer(found.call, EACCES);
  }
  if (kind == Kind::udp || is_dissolved) {  // neither ever waits
    const int code =
        code_of(::connect(found.socket.get(), found.address.get(), found.address.size));
    // ECONNRESET is left over from a dissolved connection, and is not the next one's answer.
    if (is_dissolved && code == 0) static_cast<void>(take_error(found.socket.get()));
    return answer(found.call, code);
  }
  Endpoint to;
  if (const int code = read_endpoint(found.address, found.traits.domain, to))
    return answer(found.call, code);
  const auto seconds = std::chrono::duration_cast<Egress::Time>(found.now.time_since_epoch());
  if (const std::optional<std::string_view> grant = parts_.egress.find_grant(to, seconds))
    return connect_out(found, to, *grant);
  if (kind == Kind::tcp && is_of_loopback(to.address)) return connect_inside(found, to);
  refuse_connect(found, to, EACCES);
}

void SocketCalls::connect_out(Case& found, const Endpoint& to, std::string_view grant) {
  const int old = found.socket.get();
  const std::optional<TcpState> state = tcp_state(old);
  if (!state) return answer(found.call, EINVAL);
  if (*state == TcpState::connecting) return answer(found.call, EALREADY);
  if (*state == TcpState::other) return answer(found.call, EISCONN);
  // What an earlier attempt came to is told once, as connect(2) does.
  if (const int error = take_error(old)) return answer(found.call, error);

  Fd fresh = sockets_.make_like(old, found.traits.domain);
  if (!fresh.is_open()) return answer(found.call, ENOBUFS);
  NetReport report;
  report.kind = NetReport::Kind::connected;
  report.endpoint = to;
  report.set_name(grant);
  parts_.reporter.send(report);

  const CopiedAddress address = address_of(to, found.traits.domain);
  const int code = code_of(::connect(fresh.get(), address.get(), address.size));
  if (code != 0 && code != EINPROGRESS) return answer(found.call, code);
  if (code == 0 || is_non_blocking(old)) {
    const int failed = swap_socket(parts_.listener, found.call, found.caller, old, fresh.get());
    return answer(found.call, failed != 0 ? failed : code);
  }
  PendingConnect pending{
      found.call, std::move(found.caller), std::move(found.socket), std::move(fresh), to};
  if (const auto patience = connect_patience(old)) pending.deadline = found.now + *patience;
  parts_.pending.add(std::move(pending));
}

void SocketCalls::connect_inside(Case& found, const Endpoint& to) {
  // On the program's own socket, in its own network, whatever now stands under its number. The
  // clock of supervisor.cc interrupts it when the program made the socket a blocking one.
  const int code = code_of(::connect(found.socket.get(), found.address.get(), found.address.size));
  if (code == EINTR) {
    PendingConnect pending{found.call, std::move(found.caller), std::move(found.socket), Fd(), to};
    if (const auto patience = connect_patience(pending.old.get()))
      pending.deadline = found.now + *patience;
    return parts_.pending.add(std::move(pending));
  }
  // Nobody listens there, and that is known at once, also when it is told only later.
  const bool is_refused =
      code == ECONNREFUSED ||
      (code == EINPROGRESS && tcp_state(found.socket.get()) == TcpState::closed);
  if (is_refused) return refuse_connect(found, to, code);
  answer(found.call, code);
}

void SocketCalls::judge_bind(const Case& found) {
  const Kind kind = kind_of(found.traits, parts_.host_network);
  if (kind == Kind::local) return parts_.listener.let_pass(found.call.id);  // as in judge_connect
  if (kind == Kind::granted || kind == Kind::other) return refuse_host_socket(found);
  // The supervisor may bind what the program may not.
  const std::uint16_t port = port_of(found.address);
  if (port != 0 && port < kFirstFreePort) return answer(found.call, EACCES);
  answer(found.call, code_of(::bind(found.socket.get(), found.address.get(), found.address.size)));
}

void SocketCalls::judge_listen(const Case& found) {
  // Never left to the kernel, not even for a unix socket: swapped for a closed socket of the host's
  // network it would listen there, and Landlock has no say over listen(2).
  const Kind kind = kind_of(found.traits, parts_.host_network);
  if (kind == Kind::granted || kind == Kind::other) return refuse_host_socket(found);
  answer(found.call,
         code_of(::listen(found.socket.get(), static_cast<int>(found.call.arguments[1]))));
}

void SocketCalls::refuse_connect(const Case& found, const Endpoint& to, int code) {
  NetReport report;
  report.kind = NetReport::Kind::refused_connect;
  report.family = found.traits.domain;
  report.protocol = found.traits.protocol;
  report.endpoint = to;
  parts_.reporter.send(report);
  answer(found.call, code);
}

void SocketCalls::refuse_host_socket(const Case& found) {
  NetReport report;
  report.kind = NetReport::Kind::refused_bind;
  report.family = found.traits.domain;
  report.protocol = found.traits.protocol;
  parts_.reporter.send(report);
  answer(found.call, EACCES);
}

void SocketCalls::refuse_socket(const Call& call, Clock::time_point now, int code) {
  // The C library tries a netlink socket at every other look-up: once a second is often enough.
  constexpr std::chrono::seconds kAgain{1};
  const auto family = static_cast<int>(call.arguments[0]);
  const auto protocol = static_cast<int>(call.arguments[2]);
  const bool is_told = std::any_of(told_.begin(), told_.end(), [&](const Told& each) {
    return each.family == family && each.protocol == protocol && now - each.at < kAgain;
  });
  if (!is_told) {
    *std::min_element(told_.begin(), told_.end(), [](const Told& a, const Told& b) {
      return a.at < b.at;
    }) = {family, protocol, now};
    NetReport report;
    report.kind = NetReport::Kind::refused_socket;
    report.family = family;
    report.protocol = protocol;
    parts_.reporter.send(report);
  }
  answer(call, code);
}

}  // namespace aegis::confine
