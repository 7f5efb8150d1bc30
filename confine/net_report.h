// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the supervisor tells aegis of the program's ways to the network: a datagram of a fixed size
// for each thing that was granted or refused.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "confine/address.h"

namespace aegis::confine {

/// Trivially copyable; both ends are one binary, so its layout is its encoding.
struct NetReport {
  enum class Kind : std::uint8_t {
    connected,        // to `endpoint` by the grant of `name`; begun, it may still fail
    refused_connect,  // to `endpoint`
    refused_bind,     // of a granted connection's socket: bind or listen
    refused_name,     // `name` was looked up
    refused_answer,   // `name` stands for the address of `endpoint`, which must be granted itself
    refused_socket,   // of `family` and `protocol`
  };
  Kind kind = Kind::connected;
  std::int32_t family = 0;    // AF_*
  std::int32_t protocol = 0;  // IPPROTO_* or the family's own
  Endpoint endpoint = {};
  std::uint32_t lost = 0;           // reports before this one that aegis was too slow for
  std::array<char, 256> name = {};  // printable ASCII, ends in a zero

  [[nodiscard]] std::string_view name_view() const;
  void set_name(std::string_view text);
};

/// One datagram. Nothing when it is none of ours.
std::optional<NetReport> decode_net_report(std::span<const std::byte> datagram);

/// "connect to 192.0.2.1:80 refused: not granted": for stderr and the record. No newline.
std::string describe(const NetReport& report);

}  // namespace aegis::confine
