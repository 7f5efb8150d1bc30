// SPDX-License-Identifier: Apache-2.0 OR MIT
// Network grants: the program connects, aegis does it for it, and only to what was granted. Names
// are answered by a resolver of aegis's own on the loopback of the program's network namespace.
// Here is what is granted and what it means; pure. Who acts on it: supervisor.h.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "confine/address.h"
#include "confine/result.h"

namespace aegis::confine {

/// TCP to one port of one host. "localhost" is granted as the addresses 127.0.0.1 and ::1 too; no
/// other name is anybody's private address.
struct NetGrant {
  std::string host;  // a DNS name in lower case, or an address (IPv6 without brackets)
  std::uint16_t port = 0;
  friend bool operator==(const NetGrant&, const NetGrant&) = default;
};
/// "HOST:PORT", "[IPv6]:PORT". Errors say what is wrong and what to write instead.
Result<NetGrant> parse_net_grant(std::string_view text);
/// As parse_net_grant reads it.
std::string to_text(const NetGrant& grant);

/// What is granted, and which addresses the granted names stand for by now.
class Egress {
 public:
  /// Since any one start.
  using Time = std::chrono::seconds;
  /// How long an address stands for a name after it was last answered: longer than a client keeps
  /// an answer, shorter than a hoster keeps an address free.
  static constexpr Time kMemory = std::chrono::hours(1);
  /// Addresses that one name can stand for at once; one more takes the oldest one's place.
  static constexpr std::size_t kMaxAddresses = 64;

  explicit Egress(const std::vector<NetGrant>& grants);

  /// The number of a granted name (lower case, no dot at its end); nothing for any other.
  [[nodiscard]] std::optional<std::size_t> find_name(std::string_view name) const;
  [[nodiscard]] const std::string& name(std::size_t number) const { return names_[number].host; }

  /// Those of a resolver's addresses that may be answered: hosts of the Internet at large, and what
  /// is granted as an address itself. A name's owner cannot lead the program into a private
  /// network.
  [[nodiscard]] std::vector<IpAddress> admit(std::span<const IpAddress> resolved) const;
  /// These were answered for name `number`, out of what admit() let through.
  void remember(std::size_t number, std::span<const IpAddress> answered, Time now);

  /// The host, as it was granted, by which a connection may go to `to`; nothing: it may not. The
  /// view lives as long as this.
  [[nodiscard]] std::optional<std::string_view> find_grant(const Endpoint& to, Time now) const;

 private:
  struct Known {
    IpAddress address;
    Time until;
  };
  struct Name {
    std::string host;
    std::vector<std::uint16_t> ports;
    std::vector<Known> known;
  };
  struct Literal {
    std::string host;
    Endpoint endpoint;
  };
  void remember(Name& name, const IpAddress& address, Time now);

  std::vector<Name> names_;
  std::vector<Literal> literals_;
};

}  // namespace aegis::confine
