// SPDX-License-Identifier: Apache-2.0 OR MIT
// See address.h. The table of special addresses is IANA's (RFC 6890 and the two registries that it
// founded).
#include "confine/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace aegis::confine {
namespace {

struct Block {
  std::array<std::uint8_t, 16> prefix;
  unsigned bits;
};

constexpr auto kSpecialV4 = std::to_array<Block>({
    {{0}, 8},              // "this network", RFC 791
    {{10}, 8},             // private, RFC 1918
    {{100, 64}, 10},       // shared by customers of one carrier, RFC 6598
    {{127}, 8},            // loopback, RFC 1122
    {{169, 254}, 16},      // link-local, RFC 3927; a cloud's metadata
    {{172, 16}, 12},       // private, RFC 1918
    {{192, 0, 0}, 24},     // protocol assignments, RFC 6890
    {{192, 0, 2}, 24},     // documentation, RFC 5737
    {{192, 88, 99}, 24},   // 6to4 relay, RFC 7526
    {{192, 168}, 16},      // private, RFC 1918
    {{198, 18}, 15},       // benchmarks, RFC 2544
    {{198, 51, 100}, 24},  // documentation, RFC 5737
    {{203, 0, 113}, 24},   // documentation, RFC 5737
    {{224}, 3},            // multicast, reserved, broadcast; RFC 5771, RFC 1112
});

// Of IPv6 only 2000::/3 is given out for hosts at large (RFC 4291), so what lies outside is special
// without a row; 64:ff9b::/96 is looked into.
constexpr std::uint8_t kGlobalUnicast = 0x20;
constexpr std::uint8_t kGlobalUnicastMask = 0xe0;
constexpr auto kSpecialV6 = std::to_array<Block>({
    {{0x20, 0x01, 0x00}, 23},        // protocol assignments, Teredo among them, RFC 2928
    {{0x20, 0x01, 0x0d, 0xb8}, 32},  // documentation, RFC 3849
    {{0x20, 0x02}, 16},              // 6to4: an IPv4 address of any kind inside, RFC 3056
    {{0x3f, 0xff}, 20},              // documentation, RFC 9637
});
constexpr Block kTranslated{{0x00, 0x64, 0xff, 0x9b},
                            96};  // NAT64, RFC 6052: IPv4 in the last four
constexpr std::array<std::uint8_t, 12> kMappedPrefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr std::size_t kV4InV6 = 12;

bool is_in(const IpAddress& address, const Block& block) {
  const unsigned whole = block.bits / 8;
  if (!std::equal(block.prefix.begin(), block.prefix.begin() + whole, address.bytes.begin()))
    return false;
  const unsigned rest = block.bits % 8;
  if (rest == 0) return true;
  const unsigned differing = static_cast<unsigned>(block.prefix[whole] ^ address.bytes[whole]);
  return (differing >> (8 - rest)) == 0;
}

template <class Table>
bool is_in_any(const IpAddress& address, const Table& table) {
  return std::any_of(
      table.begin(), table.end(), [&](const Block& block) { return is_in(address, block); });
}

bool is_public_v4(const IpAddress& address) {
  return !is_in_any(address, kSpecialV4);
}

}  // namespace

IpAddress make_v4(std::span<const std::uint8_t, 4> bytes) {
  IpAddress made;
  std::copy(bytes.begin(), bytes.end(), made.bytes.begin());
  return made;
}

IpAddress make_v6(std::span<const std::uint8_t, 16> bytes) {
  if (std::equal(kMappedPrefix.begin(), kMappedPrefix.end(), bytes.begin()))
    return make_v4(bytes.subspan<kV4InV6, 4>());
  IpAddress made{IpAddress::Family::v6, {}};
  std::copy(bytes.begin(), bytes.end(), made.bytes.begin());
  return made;
}

std::optional<IpAddress> parse_address(std::string_view text) {
  const std::string terminated{text};
  if (terminated.size() != std::strlen(terminated.c_str())) return std::nullopt;
  std::array<std::uint8_t, 4> v4{};
  if (::inet_pton(AF_INET, terminated.c_str(), v4.data()) == 1) return make_v4(v4);
  std::array<std::uint8_t, 16> v6{};
  if (::inet_pton(AF_INET6, terminated.c_str(), v6.data()) == 1) return make_v6(v6);
  return std::nullopt;
}

std::string to_text(const IpAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = address.family == IpAddress::Family::v4 ? AF_INET : AF_INET6;
  ::inet_ntop(family, address.bytes.data(), text.data(), text.size());
  return text.data();
}

bool is_loopback(const IpAddress& address) {
  if (address.family == IpAddress::Family::v4) return address.bytes[0] == IN_LOOPBACKNET;
  return std::memcmp(address.bytes.data(), &in6addr_loopback, sizeof in6addr_loopback) == 0;
}

bool is_unspecified(const IpAddress& address) {
  return std::all_of(
      address.bytes.begin(), address.bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

bool is_multicast_or_reserved(const IpAddress& address) {
  constexpr std::uint8_t kFirstMulticastV4 = 224;
  constexpr std::uint8_t kMulticastV6 = 0xff;
  if (address.family == IpAddress::Family::v4) return address.bytes[0] >= kFirstMulticastV4;
  return address.bytes[0] == kMulticastV6;
}

bool is_public(const IpAddress& address) {
  if (address.family == IpAddress::Family::v4) return is_public_v4(address);
  if (is_in(address, kTranslated)) {
    const std::span<const std::uint8_t, 16> bytes{address.bytes};
    return is_public_v4(make_v4(bytes.subspan<kV4InV6, 4>()));
  }
  return (address.bytes[0] & kGlobalUnicastMask) == kGlobalUnicast &&
         !is_in_any(address, kSpecialV6);
}

std::string to_text(const Endpoint& endpoint) {
  const std::string address = to_text(endpoint.address);
  const bool is_v4 = endpoint.address.family == IpAddress::Family::v4;
  return (is_v4 ? address : "[" + address + "]") + ":" + std::to_string(endpoint.port);
}

}  // namespace aegis::confine
