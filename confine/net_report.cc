// SPDX-License-Identifier: Apache-2.0 OR MIT
// See net_report.h.
#include "confine/net_report.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace aegis::confine {
namespace {

static_assert(std::is_trivially_copyable_v<NetReport>);

struct FamilyName {
  int family;
  std::string_view name;
};
// address_families(7): those that programs are known to try.
constexpr auto kFamilies = std::to_array<FamilyName>({
    {AF_UNIX, "AF_UNIX"},
    {AF_INET, "AF_INET"},
    {AF_INET6, "AF_INET6"},
    {AF_NETLINK, "AF_NETLINK"},
    {AF_PACKET, "AF_PACKET"},
    {AF_ALG, "AF_ALG"},
    {AF_VSOCK, "AF_VSOCK"},
    {AF_BLUETOOTH, "AF_BLUETOOTH"},
    {AF_XDP, "AF_XDP"},
});

std::string family_text(int family) {
  for (const FamilyName& each : kFamilies) {
    if (each.family == family) return std::string{each.name};
  }
  return "family " + std::to_string(family);
}

}  // namespace

std::string_view NetReport::name_view() const {
  return {name.data(), ::strnlen(name.data(), name.size())};
}

void NetReport::set_name(std::string_view text) {
  const std::size_t size = std::min(text.size(), name.size() - 1);
  std::transform(
      text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size), name.begin(), [](char c) {
        return c > ' ' && c < '\x7f' ? c : '?';
      });
  name[size] = '\0';
}

std::optional<NetReport> decode_net_report(std::span<const std::byte> datagram) {
  NetReport report;
  if (datagram.size() != sizeof report) return std::nullopt;
  std::memcpy(&report, datagram.data(), sizeof report);
  if (report.kind > NetReport::Kind::refused_socket) return std::nullopt;
  return report;
}

std::string describe(const NetReport& report) {
  switch (report.kind) {
    case NetReport::Kind::connected:
      return "connect to " + to_text(report.endpoint) + " granted by " +
             std::string{report.name_view()} + ":" + std::to_string(report.endpoint.port);
    case NetReport::Kind::refused_connect:
      return "connect to " + to_text(report.endpoint) + " refused: not granted";
    case NetReport::Kind::refused_bind:
      return "listening on the host's network refused: grants are for connecting";
    case NetReport::Kind::refused_name:
      return "look-up of " + std::string{report.name_view()} + " refused: not granted";
    case NetReport::Kind::refused_answer:
      return "look-up of " + std::string{report.name_view()} + " refused: it leads to " +
             to_text(report.endpoint.address) + ", which must be granted as an address";
    case NetReport::Kind::refused_socket:
      return "socket of " + family_text(report.family) + ", protocol " +
             std::to_string(report.protocol) + " refused: grants are for TCP";
  }
  return {};
}

}  // namespace aegis::confine
