// SPDX-License-Identifier: Apache-2.0 OR MIT
// The little of DNS (RFC 1035) that a resolver needs which knows a handful of names: a query is
// read strictly, an answer is built. Pure; every byte of a query is the confined program's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "confine/address.h"

namespace aegis::confine {

/// The largest message over UDP that every client takes (RFC 1035, 2.3.4).
inline constexpr std::size_t kMaxDnsMessage = 512;

enum class DnsCode : std::uint8_t {  // RFC 1035, 4.1.1
  no_error = 0,
  format_error = 1,
  server_failure = 2,
  no_such_name = 3,
  not_implemented = 4,
  refused = 5,
};

inline constexpr std::uint16_t kDnsTypeA = 1;
inline constexpr std::uint16_t kDnsTypeAaaa = 28;
inline constexpr std::uint16_t kDnsClassIn = 1;

struct DnsQuery {
  std::uint16_t id = 0;
  bool is_recursion_wanted = false;
  std::uint16_t type = 0;
  std::uint16_t class_code = 0;
  /// In lower case, labels joined by '.', none at the end; the root is "". A byte that no name of a
  /// host has stands as '?', which no grant has either.
  std::string name;
  /// As it came, for the answer repeats it: clients check that the case of each letter is theirs.
  std::string question;
};

/// Not a query that can be answered with an address.
struct DnsFault {
  std::optional<std::uint16_t> id;  // nothing: not to be answered at all
  DnsCode code = DnsCode::format_error;
};

/// One question, no compression, nothing behind it but an EDNS record (RFC 6891), which is ignored.
std::variant<DnsQuery, DnsFault> parse_query(std::string_view packet);

/// The first of `addresses` that are of the query's type and fit into an answer.
std::vector<IpAddress> pick_answers(const DnsQuery& query, std::span<const IpAddress> addresses);

/// `answers`: out of pick_answers. At most kMaxDnsMessage bytes.
std::string encode_answer(const DnsQuery& query, DnsCode code, std::span<const IpAddress> answers);
/// Of a fault with an id.
std::string encode_fault(std::uint16_t id, DnsCode code);

}  // namespace aegis::confine
