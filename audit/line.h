// SPDX-License-Identifier: Apache-2.0 OR MIT
// The Lines of an Agent Action Record, schema version 2, as aegis writes them
// (docs/record-format.md). Values only: encoding is chain.h's, reading is verify.h's. Views are
// looked at during the call that takes them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "audit/digest.h"

namespace aegis::audit {

inline constexpr std::uint64_t kSchemaVersion = 2;
/// The `profile` of an open Line whose emitter pairs every intent with exactly one outcome.
inline constexpr std::string_view kProfile = "aegis/1";

/// Time of day in microseconds since 1970-01-01T00:00:00Z, written as RFC 3339 with six decimals.
struct UnixMicros {
  std::int64_t value;
};

struct Recovered {  // a torn tail that was moved aside before this session
  std::uint64_t bytes;
  TornDigest digest;
  std::string_view file;  // base name
};

/// Also written: `emitter` {name "aegis", version}, `profile` "aegis/1", `public_key` and what
/// every Line has.
struct Open {
  std::string_view version;                   // of this program
  std::optional<LineHash> prev_session_tail;  // empty only in a fresh file
  std::string_view session_id;                // 32 lower-case hex digits (128 random bits)
  std::string_view durability;                // "call", "session", "off"
  std::string_view program;                   // base name of the server's command
  ArgvDigest argv_digest;
  std::optional<PolicySetHash> policy_set_hash;
  std::optional<Recovered> recovered;
};

/// What an intent says. A tool_id over 1 KiB or outside the value space is written "<sha256:hex>".
struct Intent {
  std::string_view tool_id;
  FrameDigest request_digest;
  std::uint64_t request_bytes;
};

struct Allowed {};
struct Denied {
  std::string_view reason;
};
struct RateLimited {
  std::string_view reason;
};
struct PendingApproval {
  std::string_view approval_id;
};
using PolicyStatus = std::variant<Allowed, Denied, RateLimited, PendingApproval>;

/// `empty_grant`: the grant "wrap-passthrough-<call_id>" that names no path, no host and no
/// ceiling.
struct GrantedEmpty {};
struct CapabilityDenied {
  std::string_view reason;
};
using CapabilityStatus = std::variant<GrantedEmpty, CapabilityDenied>;

struct Success {};
struct Trap {
  std::string_view message;
};
struct ResourceExceeded {
  std::string_view kind;
};
struct HostDenied {
  std::string_view reason;
};
using ExecutionStatus = std::variant<Success, Trap, ResourceExceeded, HostDenied>;

/// Members that were weighed; each only when it had exactly one value.
struct DecisionAxes {
  std::optional<std::string_view> role;
  std::optional<std::string_view> matched_rule;
  std::optional<std::string_view> approval_ref;
};

struct Outcome {
  std::uint64_t intent_seq;
  std::string_view tool_id;  // as given to the intent
  FrameDigest request_digest;
  PolicySetHash policy_set_hash;
  PolicyStatus policy;
  CapabilityStatus capability;
  ExecutionStatus execution;
  DecisionAxes axes;
  std::optional<FrameDigest> response_digest;
  std::optional<std::uint64_t> response_bytes;
  std::optional<std::uint64_t> wall_ms;
};

struct Close {
  std::string_view reason;
  std::uint64_t calls;
  std::uint64_t unread;  // client frames relayed without one certain reading
};

}  // namespace aegis::audit
