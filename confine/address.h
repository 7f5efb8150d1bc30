// SPDX-License-Identifier: Apache-2.0 OR MIT
// An IP address and an endpoint of TCP, as values: parsed, written, judged. Pure: asks no resolver
// and no kernel.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace aegis::confine {

/// An IPv4 address in an IPv6 one (::ffff:a.b.c.d) is that IPv4 address: a packet to it is one of
/// IPv4. Trivially copyable.
struct IpAddress {
  enum class Family : std::uint8_t { v4, v6 };
  Family family = Family::v4;
  std::array<std::uint8_t, 16> bytes = {};  // network order; of IPv4 the first four, the rest 0
  friend bool operator==(const IpAddress&, const IpAddress&) = default;
};

IpAddress make_v4(std::span<const std::uint8_t, 4> bytes);
IpAddress make_v6(std::span<const std::uint8_t, 16> bytes);

/// "192.0.2.1" or "2001:db8::1", without brackets or zone (inet_pton(3): no short forms).
std::optional<IpAddress> parse_address(std::string_view text);
std::string to_text(const IpAddress& address);

/// 127.0.0.0/8 or ::1.
bool is_loopback(const IpAddress& address);
/// 0.0.0.0 or ::, to which connect(2) means the loopback.
bool is_unspecified(const IpAddress& address);
/// 224.0.0.0/4 and above, or ff00::/8: nothing that TCP reaches.
bool is_multicast_or_reserved(const IpAddress& address);
/// Whether it is a host of the Internet at large, and not of somebody's own network: only such an
/// address is taken from a name without being granted itself.
bool is_public(const IpAddress& address);

struct Endpoint {
  IpAddress address;
  std::uint16_t port = 0;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};
/// "192.0.2.1:80", "[2001:db8::1]:80".
std::string to_text(const Endpoint& endpoint);

}  // namespace aegis::confine
