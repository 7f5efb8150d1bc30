// SPDX-License-Identifier: Apache-2.0 OR MIT
// Members in the order of canonical form, by hand: the writer asserts it.
#include "audit/encode.h"

#include <algorithm>
#include <array>

#include "audit/hex.h"

namespace aegis::audit {
namespace {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;  // clang 14 has no aggregate deduction

struct Date {
  std::int64_t year;
  unsigned month;
  unsigned day;
};

/// The Gregorian date of a day counted from 1970-01-01, by counting eras of 400 years from a 1st of
/// March (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms").
Date date_of(std::int64_t days_since_epoch) {
  const auto days = static_cast<std::uint64_t>(days_since_epoch) + 719468;  // since 0000-03-01
  const std::uint64_t era = days / 146097;
  const std::uint64_t of_era = days % 146097;
  const std::uint64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  const std::uint64_t of_year = of_era - (365 * year + year / 4 - year / 100);
  const std::uint64_t shifted = (5 * of_year + 2) / 153;  // March is 0
  const std::uint64_t month = shifted < 10 ? shifted + 3 : shifted - 9;
  return {static_cast<std::int64_t>(year + era * 400 + (month <= 2 ? 1 : 0)),
          static_cast<unsigned>(month),
          static_cast<unsigned>(of_year - (153 * shifted + 2) / 5 + 1)};
}

/// Writes `value` with leading zeros over the digits that stand at `at`.
template <std::size_t size>
void put_digits(std::array<char, size>& text,
                std::size_t at,
                std::size_t width,
                std::uint64_t value) {
  for (std::size_t i = at + width; i-- > at; value /= 10) {
    text[i] = static_cast<char>('0' + value % 10);
  }
}

/// Bytes of the character that `text` begins with; `text` is UTF-8.
std::size_t character_size(std::string_view text) {
  const auto lead = static_cast<std::uint8_t>(text.front());
  if (lead < 0x80) return 1;
  if (lead < 0xE0) return 2;
  return lead < 0xF0 ? 3 : 4;
}

/// Bytes that a character takes once it is written; a control at most six.
std::size_t written_size(std::string_view text) {
  const char c = text.front();
  if (static_cast<std::uint8_t>(c) < 0x20) return 6;
  return c == '"' || c == '\\' ? 2 : character_size(text);
}

/// The beginning of `text` that is written in at most `limit` bytes.
std::string_view cut_to(std::string_view text, std::size_t limit) {
  if (text.size() * 6 <= limit) return text;
  std::size_t taken = 0;
  for (std::size_t left = limit; taken < text.size();) {
    const std::string_view rest = text.substr(taken);
    const std::size_t size = written_size(rest);
    if (size > left) break;
    left -= size;
    taken += character_size(rest);
  }
  return text.substr(0, taken);
}

void write_digest_of(Writer& out, std::string_view text) {
  std::string name = "<sha256:";
  append_hex(sha256(text), name);
  name += '>';
  out.string(name);
}

void write_status(Writer& out, std::string_view status) {
  out.member("status", status);
}

Writer::Truth truth_of(bool value) {
  return value ? Writer::Truth::yes : Writer::Truth::no;
}

void write_truth(Writer& out, std::string_view name, Writer::Truth value) {
  out.name(name);
  out.truth(value);
}

void write_hosts(Writer& out, const Grant& grant) {
  out.begin_array();
  for (const Grant::Host& each : grant.hosts) {
    out.begin_object();
    write_name(out, "host", each.host);
    out.name("ports");
    out.begin_array();
    out.integer(each.port);
    out.end_array();
    out.end_object();
  }
  out.end_array();
}

/// TCP is all that was granted, so no method of HTTP is named.
void write_grant(Writer& out, const Grant& grant, const GrantNames& names) {
  out.begin_object();
  out.name("fs");
  out.begin_object();
  write_names(out, "read_paths", grant.read_paths);
  write_names(out, "write_paths", grant.write_paths);
  out.end_object();
  out.member("grant_id", names.grant_id);
  write_number(out, "max_memory_bytes", grant.max_memory_bytes);
  write_number(out, "max_output_bytes", grant.max_output_bytes);
  write_number(out, "max_wall_ms", grant.max_wall_ms);
  if (!grant.hosts.empty()) {
    out.name("net");
    out.begin_object();
    out.name("http");
    write_hosts(out, grant);
    out.end_object();
  }
  write_name(out, "tool_id", names.tool_id);
  out.end_object();
}

}  // namespace

void write_time(Writer& out, UnixMicros at) {
  constexpr std::int64_t kLast = 253402300799999999;  // 9999-12-31T23:59:59.999999Z
  constexpr std::int64_t kSecond = 1000000;
  constexpr std::int64_t kDay = 86400 * kSecond;
  const std::int64_t micros = std::clamp<std::int64_t>(at.value, 0, kLast);
  const Date date = date_of(micros / kDay);
  const auto of_day = static_cast<std::uint64_t>(micros % kDay);
  const std::uint64_t seconds = of_day / kSecond;

  std::array<char, 27> text{"0000-00-00T00:00:00.000000"};
  text.back() = 'Z';
  put_digits(text, 0, 4, static_cast<std::uint64_t>(date.year));
  put_digits(text, 5, 2, date.month);
  put_digits(text, 8, 2, date.day);
  put_digits(text, 11, 2, seconds / 3600);
  put_digits(text, 14, 2, seconds / 60 % 60);
  put_digits(text, 17, 2, seconds % 60);
  put_digits(text, 20, 6, of_day % kSecond);
  out.member("at", std::string_view{text.data(), text.size()});
}

void write_digest(Writer& out, std::string_view name, const Sha256& digest) {
  const std::array<char, 64> text = hex_of(digest);
  out.member(name, std::string_view{text.data(), text.size()});
}

void write_name(Writer& out, std::string_view name, std::string_view text) {
  out.name(name);
  if (text.size() <= kMaxName && mcp::json::is_encodable(text)) {
    out.string(text);
  } else {
    write_digest_of(out, text);
  }
}

void write_sentence(Writer& out, std::string_view name, std::string_view text) {
  out.name(name);
  if (mcp::json::is_encodable(text)) {
    out.string(cut_to(text, kMaxSentence));
  } else {
    write_digest_of(out, text);
  }
}

void write_names(Writer& out, std::string_view name, std::span<const std::string> names) {
  out.name(name);
  out.begin_array();
  for (const std::string& each : names) {
    if (mcp::json::is_encodable(each)) {
      out.string(each);
    } else {
      write_digest_of(out, each);
    }
  }
  out.end_array();
}

void write_number(Writer& out, std::string_view name, std::uint64_t value) {
  out.member(name, std::min(value, mcp::json::kMaxInteger));
}

void write_policy(Writer& out, const PolicyStatus& status) {
  out.name("policy");
  out.begin_object();
  std::visit(Overloaded{
                 [&](const Allowed&) { write_status(out, "allowed"); },
                 [&](const Denied& denied) {
                   write_sentence(out, "reason", denied.reason);
                   write_status(out, "denied");
                 },
                 [&](const RateLimited& limited) {
                   write_sentence(out, "reason", limited.reason);
                   write_status(out, "rate_limited");
                 },
                 [&](const PendingApproval& pending) {
                   write_name(out, "approval_id", pending.approval_id);
                   write_status(out, "pending_approval");
                 },
             },
             status);
  out.end_object();
}

void write_capability(Writer& out, const CapabilityStatus& status, const GrantNames& names) {
  out.name("capability");
  out.begin_object();
  std::visit(Overloaded{
                 [&](const GrantedEmpty&) {
                   out.name("grant");
                   out.begin_object();
                   out.member("grant_id", names.grant_id);
                   out.member("max_memory_bytes", std::uint64_t{0});
                   out.member("max_output_bytes", std::uint64_t{0});
                   out.member("max_wall_ms", std::uint64_t{0});
                   write_name(out, "tool_id", names.tool_id);
                   out.end_object();
                   write_status(out, "granted");
                 },
                 [&](const Granted& granted) {
                   out.name("grant");
                   write_grant(out, *granted.grant, names);
                   write_status(out, "granted");
                 },
                 [&](const GrantedByBroker& granted) {
                   out.name("grant");
                   write_grant(out, *granted.grant, names);
                   write_status(out, "granted");
                 },
                 [&](const CapabilityDenied& denied) {
                   write_sentence(out, "reason", denied.reason);
                   write_status(out, "denied");
                 },
             },
             status);
  out.end_object();
}

void write_broker(Writer& out, const BrokerOn& broker) {
  out.name("broker");
  out.begin_object();
  write_digest(out, "policy_set_hash", broker.policy_set_hash.bytes);
  write_names(out, "revealed", broker.revealed);
  out.end_object();
}

void write_confinement(Writer& out, const Confinement& confinement) {
  out.name("confinement");
  out.begin_object();
  write_truth(out, "best_effort", truth_of(confinement.is_best_effort));
  write_number(out, "landlock_abi", confinement.landlock_abi);
  // A ruleset or a filter that is not in force is no confinement: such a server never runs.
  write_truth(out, "landlock_fully_enforced", Writer::Truth::yes);
  write_name(out, "memory_bound", confinement.memory_bound);
  write_names(out, "namespaces", confinement.namespaces);
  out.name("net");
  write_hosts(out, confinement.grant);
  write_name(out, "process_bound", confinement.process_bound);
  write_name(out, "profile", confinement.profile);
  write_digest(out, "profile_hash", confinement.profile_hash.bytes);
  write_names(out, "read_paths", confinement.grant.read_paths);
  write_truth(out, "seccomp_applied", Writer::Truth::yes);
  write_truth(out, "seccomp_network_denied", truth_of(confinement.is_seccomp_network_denied));
  write_name(out, "tier", confinement.tier);
  write_truth(out, "unconfined_network", truth_of(confinement.is_network_unconfined));
  write_names(out, "write_paths", confinement.grant.write_paths);
  out.end_object();
}

void write_execution(Writer& out, const ExecutionStatus& status) {
  out.name("execution");
  out.begin_object();
  std::visit(Overloaded{
                 [&](const Success&) { write_status(out, "success"); },
                 [&](const Trap& trap) {
                   write_sentence(out, "message", trap.message);
                   write_status(out, "trap");
                 },
                 [&](const ResourceExceeded& exceeded) {
                   write_name(out, "kind", exceeded.kind);
                   write_status(out, "resource_exceeded");
                 },
                 [&](const HostDenied& denied) {
                   write_sentence(out, "reason", denied.reason);
                   write_status(out, "host_denied");
                 },
             },
             status);
  out.end_object();
}

void write_axes(Writer& out, const DecisionAxes& axes) {
  out.name("decision_axes");
  out.begin_object();
  if (axes.approval_ref) write_name(out, "approval_ref", *axes.approval_ref);
  if (axes.path) {
    out.name("fs");
    out.begin_object();
    write_name(out, "path_canonical", *axes.path);
    out.end_object();
  }
  if (axes.matched_rule) write_name(out, "matched_rule", *axes.matched_rule);
  if (axes.role) write_name(out, "role", *axes.role);
  out.end_object();
}

}  // namespace aegis::audit
