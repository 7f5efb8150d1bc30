// SPDX-License-Identifier: Apache-2.0 OR MIT
// Attempts to reach anything by a socket: every family there is, the kernel's loose reading of
// their numbers, and the host's own listeners (params tcp, udp: ports; socket, dgram: path sockets;
// abstract, abstract_dgram: names). None leaves the machine.
#include <arpa/inet.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/probes/probe.h"

#ifndef AF_SMC  // Linux 4.11
#define AF_SMC 43
#endif
#ifndef IPPROTO_MPTCP  // Linux 5.6
#define IPPROTO_MPTCP 262
#endif

namespace probe {
namespace {

constexpr long kHighBit = 1L << 32U;  // above what the kernel looks at in an int

// Raw, so that no library narrows the numbers.
long opens(long family, long type, long protocol) {
  return syscall(SYS_socket, family, type | SOCK_CLOEXEC, protocol);
}

template <long family, long type, long protocol>
Answer opens_socket() {
  return by_result(opens(family, type, protocol), "socket");
}
constexpr auto kNonblocking = SOCK_DGRAM | SOCK_NONBLOCK;

sockaddr_in loopback(const char* port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(number(port)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}
template <class Address>
const sockaddr* generic(const Address& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

Answer connects_to(const sockaddr_in& address) {
  const int fd = static_cast<int>(opens(AF_INET, SOCK_STREAM, 0));
  if (fd < 0) return refused("socket");
  return by_result(connect(fd, generic(address), sizeof address), "connect");
}
Answer connect_tcp() {
  return connects_to(loopback("tcp"));
}
// Where param granted names a port that may be reached.
Answer connect_granted() {
  if (!has_param("granted")) return connect_tcp();
  return connects_to(loopback("granted"));
}
// The same host by another address, another host at the same port.
Answer connect_beside() {
  sockaddr_in address = loopback(has_param("granted") ? "granted" : "tcp");
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
  return connects_to(address);
}
Answer connect_any_address() {
  sockaddr_in address = loopback("tcp");
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  return connects_to(address);
}
Answer fast_open() {
  const int fd = static_cast<int>(opens(AF_INET, SOCK_STREAM, 0));
  if (fd < 0) return refused("socket");
  const sockaddr_in address = loopback("tcp");
  return by_result(sendto(fd, "x", 1, MSG_FASTOPEN, generic(address), sizeof address), "sendto");
}
Answer send_udp() {
  const int fd = static_cast<int>(opens(AF_INET, SOCK_DGRAM, 0));
  if (fd < 0) return refused("socket");
  const sockaddr_in address = loopback("udp");
  return by_result(sendto(fd, "x", 1, 0, generic(address), sizeof address), "sendto");
}
Answer listen_unbound() {
  const int fd = static_cast<int>(opens(AF_INET, SOCK_STREAM, 0));
  if (fd < 0) return refused("socket");
  return by_result(listen(fd, 1), "listen");
}
Answer bind_port() {
  const int fd = static_cast<int>(opens(AF_INET, SOCK_STREAM, 0));
  if (fd < 0) return refused("socket");
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return by_result(bind(fd, generic(address), sizeof address), "bind");
}

struct UnixAddress {
  sockaddr_un address = {};
  socklen_t size = 0;
};
// Of a path, or of a NUL and an abstract name.
UnixAddress unix_address(const std::string& name) {
  UnixAddress made;
  made.address.sun_family = AF_UNIX;
  if (name.size() >= sizeof made.address.sun_path) std::abort();
  std::memcpy(made.address.sun_path, name.data(), name.size());
  made.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  return made;
}
std::string abstract_name(const char* name) {
  return std::string(1, '\0') + param(name);
}

Answer connects(const std::string& name) {
  const int fd = static_cast<int>(opens(AF_UNIX, SOCK_STREAM, 0));
  if (fd < 0) return refused("socket");
  const UnixAddress to = unix_address(name);
  return by_result(connect(fd, generic(to.address), to.size), "connect");
}
Answer connect_abstract() {
  return connects(abstract_name("abstract"));
}
Answer connect_path() {
  return connects(param("socket"));
}

Answer sends(long type, const std::string& name) {
  const int fd = static_cast<int>(opens(AF_UNIX, type, 0));
  if (fd < 0) return refused("socket");
  const UnixAddress to = unix_address(name);
  return by_result(sendto(fd, "x", 1, 0, generic(to.address), to.size), "sendto");
}
Answer send_abstract() {
  return sends(SOCK_DGRAM, abstract_name("abstract_dgram"));
}
Answer send_path() {
  return sends(SOCK_DGRAM, param("dgram"));
}
Answer send_path_raw() {
  return sends(SOCK_RAW, param("dgram"));
}

Answer sends_from_pair(long type) {
  int ends[2];
  if (syscall(SYS_socketpair, AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0)
    return refused("socketpair");
  const UnixAddress to = unix_address(param("dgram"));
  return by_result(sendto(ends[0], "x", 1, 0, generic(to.address), to.size), "sendto");
}
Answer pair_datagram() {
  return sends_from_pair(SOCK_DGRAM);
}
Answer pair_raw() {
  return sends_from_pair(SOCK_RAW);
}
Answer pair_high_bit() {
  return sends_from_pair(kHighBit | SOCK_DGRAM);
}
Answer pair_nonblocking() {
  return sends_from_pair(SOCK_DGRAM | SOCK_NONBLOCK);
}

Answer list_interfaces() {
  const int fd = static_cast<int>(opens(AF_UNIX, SOCK_STREAM, 0));
  if (fd < 0) return refused("socket");
  char space[4096];
  ifconf interfaces = {};
  interfaces.ifc_len = sizeof space;
  interfaces.ifc_buf = space;
  if (ioctl(fd, SIOCGIFCONF, &interfaces) != 0) return refused("ioctl SIOCGIFCONF");
  return interfaces.ifc_len > 0 ? reached("it sees an interface")
                                : refused_by(ENODEV, "no interface is up");
}
Answer read_connections() {
  const std::string port = param("tcp_in_hex");
  FILE* table = fopen("/proc/net/tcp", "re");
  if (table == nullptr) return refused("open /proc/net/tcp");
  char line[512];
  bool is_there = false;
  while (fgets(line, sizeof line, table) != nullptr)
    is_there = is_there || std::strstr(line, port.c_str()) != nullptr;
  static_cast<void>(fclose(table));
  return is_there ? reached("saw the host's listener") : refused_by(ENOENT, "its own network only");
}
Answer read_unix_sockets() {
  FILE* table = fopen("/proc/net/unix", "re");
  if (table == nullptr) return refused("open /proc/net/unix");
  char line[512];
  bool is_there = false;
  while (fgets(line, sizeof line, table) != nullptr)
    is_there = is_there || std::strstr(line, param("abstract").c_str()) != nullptr;
  static_cast<void>(fclose(table));
  return is_there ? reached("saw the host's socket") : refused_by(ENOENT, "its own network only");
}

constexpr Attempt kAttempts[] = {
    {"inet_stream", opens_socket<AF_INET, SOCK_STREAM, 0>},
    {"inet_datagram", opens_socket<AF_INET, SOCK_DGRAM, 0>},
    {"inet_raw", opens_socket<AF_INET, SOCK_RAW, IPPROTO_ICMP>},
    {"inet_ping", opens_socket<AF_INET, SOCK_DGRAM, IPPROTO_ICMP>},
    {"inet_multipath", opens_socket<AF_INET, SOCK_STREAM, IPPROTO_MPTCP>},
    {"inet_smc", opens_socket<AF_INET, SOCK_STREAM, 256>},
    {"inet_sctp", opens_socket<AF_INET, SOCK_STREAM, IPPROTO_SCTP>},
    {"inet_udplite", opens_socket<AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE>},
    {"inet_nonblocking", opens_socket<AF_INET, kNonblocking, 0>},
    {"inet_high_bit", opens_socket<kHighBit | AF_INET, SOCK_STREAM, 0>},
    {"inet6_stream", opens_socket<AF_INET6, SOCK_STREAM, 0>},
    {"inet6_datagram", opens_socket<AF_INET6, SOCK_DGRAM, 0>},
    {"inet6_raw", opens_socket<AF_INET6, SOCK_RAW, IPPROTO_ICMPV6>},
    {"netlink_route", opens_socket<AF_NETLINK, SOCK_RAW, NETLINK_ROUTE>},
    {"netlink_diag", opens_socket<AF_NETLINK, SOCK_DGRAM, NETLINK_SOCK_DIAG>},
    {"netlink_uevent", opens_socket<AF_NETLINK, SOCK_DGRAM, NETLINK_KOBJECT_UEVENT>},
    {"netlink_generic", opens_socket<AF_NETLINK, SOCK_RAW, NETLINK_GENERIC>},
    {"netlink_netfilter", opens_socket<AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER>},
    {"netlink_audit", opens_socket<AF_NETLINK, SOCK_RAW, NETLINK_AUDIT>},
    {"packet", opens_socket<AF_PACKET, SOCK_RAW, 0>},
    {"vsock", opens_socket<AF_VSOCK, SOCK_STREAM, 0>},
    {"xdp", opens_socket<AF_XDP, SOCK_RAW, 0>},
    {"crypto", opens_socket<AF_ALG, SOCK_SEQPACKET, 0>},
    {"bluetooth", opens_socket<AF_BLUETOOTH, SOCK_RAW, 1>},
    {"can", opens_socket<AF_CAN, SOCK_RAW, 1>},
    {"ipsec_keys", opens_socket<AF_KEY, SOCK_RAW, 2>},
    {"rds", opens_socket<AF_RDS, SOCK_SEQPACKET, 0>},
    {"tipc", opens_socket<AF_TIPC, SOCK_RDM, 0>},
    {"smc", opens_socket<AF_SMC, SOCK_STREAM, 0>},
    {"kcm", opens_socket<AF_KCM, SOCK_DGRAM, 0>},
    {"rxrpc", opens_socket<AF_RXRPC, SOCK_DGRAM, AF_INET>},
    {"qualcomm_router", opens_socket<AF_QIPCRTR, SOCK_DGRAM, 0>},
    {"phonet", opens_socket<AF_PHONET, SOCK_DGRAM, 0>},
    {"nfc", opens_socket<AF_NFC, SOCK_SEQPACKET, 1>},
    {"appletalk", opens_socket<AF_APPLETALK, SOCK_DGRAM, 0>},
    {"unix_datagram", opens_socket<AF_UNIX, SOCK_DGRAM, 0>},
    {"unix_raw", opens_socket<AF_UNIX, SOCK_RAW, 0>},  // a datagram socket: net/unix/af_unix.c
    {"unix_seqpacket", opens_socket<AF_UNIX, SOCK_SEQPACKET, 0>},
    {"unix_type_high_bit", opens_socket<AF_UNIX, kHighBit | SOCK_DGRAM, 0>},
    {"connect_tcp", connect_tcp},
    {"connect_granted", connect_granted},
    {"connect_beside", connect_beside},
    {"connect_any_address", connect_any_address},
    {"fast_open", fast_open},
    {"send_udp", send_udp},
    {"listen_unbound", listen_unbound},
    {"bind_port", bind_port},
    {"connect_abstract", connect_abstract},
    {"connect_path", connect_path},
    {"send_abstract", send_abstract},
    {"send_path", send_path},
    {"send_path_raw", send_path_raw},
    {"pair_datagram", pair_datagram},
    {"pair_raw", pair_raw},
    {"pair_high_bit", pair_high_bit},
    {"pair_nonblocking", pair_nonblocking},
    {"list_interfaces", list_interfaces},
    {"read_connections", read_connections},
    {"read_unix_sockets", read_unix_sockets},
};

}  // namespace

const std::span<const Attempt> kNetworkAttempts = kAttempts;

}  // namespace probe
