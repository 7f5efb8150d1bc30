// SPDX-License-Identifier: Apache-2.0 OR MIT
// See egress.h.
#include "confine/egress.h"

#include <algorithm>
#include <charconv>

namespace aegis::confine {
namespace {

constexpr std::size_t kMaxName = 253;  // RFC 1035 allows 255 octets on the wire
constexpr std::size_t kMaxLabel = 63;
constexpr std::string_view kLocalhost = "localhost";  // the loopback, for everybody (RFC 6761, 6.3)
constexpr std::string_view kDoing = "--allow-net";
constexpr std::string_view kShape = "write HOST:PORT, [IPv6]:PORT for an IPv6 address";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_';
}

std::string lower_case(std::string_view text) {
  std::string lower{text};
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string_view label_defect(std::string_view label) {
  if (label.empty() || label.size() > kMaxLabel) return "has a label of no or of too many letters";
  if (label.front() == '-' || label.back() == '-') return "has a label that starts or ends in '-'";
  if (!std::all_of(label.begin(), label.end(), is_name_character))
    return "is not a DNS name; write one with other letters in its xn-- form, no wildcard, no URL";
  return {};
}

/// What inet_aton(3) and browsers take for an address ("127.1", "0x7f000001"), others for a name.
bool is_number(std::string_view label) {
  return std::all_of(label.begin(), label.end(), is_digit) || label.substr(0, 2) == "0x";
}

/// Nothing when `name` (lower case) is the name of a host; else what is wrong.
std::string_view name_defect(std::string_view name) {
  if (name.empty()) return "has no host; write HOST:PORT";
  if (name.size() > kMaxName) return "is longer than a DNS name can be";
  for (;;) {
    const std::size_t dot = name.find('.');
    const std::string_view label = name.substr(0, dot);
    if (const std::string_view defect = label_defect(label); !defect.empty()) return defect;
    if (dot == std::string_view::npos) {
      return is_number(label) ? "is an address in a short form; write all four numbers in decimal"
                              : std::string_view{};
    }
    name.remove_prefix(dot + 1);
  }
}

std::string_view address_defect(const IpAddress& address, bool is_written_v6) {
  if (is_written_v6 && address.family == IpAddress::Family::v4)
    return "is an IPv4 address in an IPv6 one; write the IPv4 address";
  if (is_unspecified(address))
    return "is no host; write the address of one, 127.0.0.1 for this one";
  if (is_multicast_or_reserved(address)) return "is no host that TCP can reach";
  constexpr std::uint8_t kLinkLocal0 = 0xfe;
  constexpr std::uint8_t kLinkLocal1 = 0x80;
  constexpr std::uint8_t kLinkLocalMask = 0xc0;
  if (address.family == IpAddress::Family::v6 && address.bytes[0] == kLinkLocal0 &&
      (address.bytes[1] & kLinkLocalMask) == kLinkLocal1)
    return "is link-local and needs a zone, which a grant has not; write another of its addresses";
  return {};
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool is_whole = error == std::errc{} && end == text.data() + text.size();
  // A leading zero is octal to some and decimal to others.
  if (!is_whole || port == 0 || text.front() == '0') return std::nullopt;
  return port;
}

}  // namespace

Result<NetGrant> parse_net_grant(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return refusal(kDoing, text, "has no port; write HOST:PORT");
  std::string_view host = text.substr(0, colon);
  const std::optional<std::uint16_t> port = parse_port(text.substr(colon + 1));
  if (!port) return refusal(kDoing, text, "has no port between 1 and 65535 behind its last ':'");

  const bool is_bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (is_bracketed) host = host.substr(1, host.size() - 2);
  const bool is_written_v6 = host.find(':') != std::string_view::npos;
  if (is_bracketed != is_written_v6) return refusal(kDoing, text, kShape);
  if (const std::optional<IpAddress> address = parse_address(host)) {
    const std::string_view defect = address_defect(*address, is_written_v6);
    if (!defect.empty()) return refusal(kDoing, text, defect);
    return NetGrant{to_text(*address), *port};
  }
  if (is_written_v6) return refusal(kDoing, text, "is not an IPv6 address");
  std::string name = lower_case(host);
  if (name.size() > 1 && name.back() == '.') name.pop_back();
  const std::string_view defect = name_defect(name);
  if (!defect.empty()) return refusal(kDoing, text, defect);
  return NetGrant{std::move(name), *port};
}

std::string to_text(const NetGrant& grant) {
  const bool is_v6 = grant.host.find(':') != std::string::npos;
  return (is_v6 ? "[" + grant.host + "]" : grant.host) + ":" + std::to_string(grant.port);
}

Egress::Egress(const std::vector<NetGrant>& grants) {
  for (const NetGrant& grant : grants) {
    if (const std::optional<IpAddress> address = parse_address(grant.host)) {
      literals_.push_back({grant.host, {*address, grant.port}});
      continue;
    }
    if (grant.host == kLocalhost) {
      for (const char* each : {"127.0.0.1", "::1"})
        literals_.push_back({grant.host, {*parse_address(each), grant.port}});
    }
    if (const std::optional<std::size_t> number = find_name(grant.host)) {
      names_[*number].ports.push_back(grant.port);
    } else {
      names_.push_back({grant.host, {grant.port}, {}});
    }
  }
}

std::optional<std::size_t> Egress::find_name(std::string_view name) const {
  const auto found = std::find_if(
      names_.begin(), names_.end(), [&](const Name& each) { return each.host == name; });
  if (found == names_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names_.begin());
}

std::vector<IpAddress> Egress::admit(std::span<const IpAddress> resolved) const {
  std::vector<IpAddress> admitted;
  for (const IpAddress& address : resolved) {
    const bool is_granted =
        std::any_of(literals_.begin(), literals_.end(), [&](const Literal& each) {
          return each.endpoint.address == address;
        });
    if (is_granted || is_public(address)) admitted.push_back(address);
  }
  return admitted;
}

void Egress::remember(std::size_t number, std::span<const IpAddress> answered, Time now) {
  for (const IpAddress& address : answered) {
    // An address that is not public may be answered since it is granted itself; then that grant,
    // with its own port, is what lets a connection pass.
    if (is_public(address)) remember(names_[number], address, now);
  }
}

void Egress::remember(Name& name, const IpAddress& address, Time now) {
  const auto same = std::find_if(name.known.begin(), name.known.end(), [&](const Known& each) {
    return each.address == address;
  });
  if (same != name.known.end()) {
    same->until = now + kMemory;
    return;
  }
  if (name.known.size() < kMaxAddresses) {
    name.known.push_back({address, now + kMemory});
    return;
  }
  const auto oldest =
      std::min_element(name.known.begin(), name.known.end(), [](const Known& a, const Known& b) {
        return a.until < b.until;
      });
  *oldest = {address, now + kMemory};
}

std::optional<std::string_view> Egress::find_grant(const Endpoint& to, Time now) const {
  for (const Literal& each : literals_) {
    if (each.endpoint == to) return each.host;
  }
  for (const Name& name : names_) {
    if (std::find(name.ports.begin(), name.ports.end(), to.port) == name.ports.end()) continue;
    const bool is_known = std::any_of(name.known.begin(), name.known.end(), [&](const Known& each) {
      return each.address == to.address && now <= each.until;
    });
    if (is_known) return name.host;
  }
  return std::nullopt;
}

}  // namespace aegis::confine
