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

/// What a confined server, or an operation of the broker's, may reach. Views of its owner's, who
/// outlives every Line that names it.
/// All together at most kMaxGrantBytes, without control characters, or the Line could not be read
/// again.
struct Grant {
  struct Host {
    std::string host;  // a name or an address
    std::uint64_t port;
  };
  std::span<const std::string> read_paths;  // writable ones too
  std::span<const std::string> write_paths;
  std::span<const Host> hosts;
  std::uint64_t max_memory_bytes = 0;  // 0: no ceiling was set
  std::uint64_t max_output_bytes = 0;
  std::uint64_t max_wall_ms = 0;
};
inline constexpr std::size_t kMaxGrantBytes = 8192;

/// What the kernel enforced on the server, said only once it ran so.
struct Confinement {
  std::string_view tier;  // "full", "landlock"
  std::uint64_t landlock_abi;
  bool is_seccomp_network_denied;
  std::span<const std::string> namespaces;  // "user", "mount", ...; sorted
  std::string_view profile;                 // its name
  ProfileHash profile_hash;
  std::string_view process_bound;  // "pid_namespace", "rlimit", "cgroup"
  std::string_view memory_bound;   // "per_process", "cgroup_v1", "cgroup_v2"
  bool is_best_effort;             // something stronger was asked for
  bool is_network_unconfined;
  Grant grant;
};

/// The broker that stands in the session: under which policy, and which names are taken off the
/// list of sensitive ones (together at most kMaxGrantBytes).
struct BrokerOn {
  PolicySetHash policy_set_hash;
  std::span<const std::string> revealed;
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
  const Confinement* confinement = nullptr;  // null: not confined
  const BrokerOn* broker = nullptr;          // null: there is none
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
/// The grant "confined-<call_id>" of a confined server.
struct Granted {
  const Grant* grant;  // never null
};
/// The grant "broker-<call_id>" of one operation.
struct GrantedByBroker {
  const Grant* grant;  // never null
};
struct CapabilityDenied {
  std::string_view reason;
};
using CapabilityStatus = std::variant<GrantedEmpty, Granted, GrantedByBroker, CapabilityDenied>;

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
  /// Of the one file or folder that it was about: fs.path_canonical.
  std::optional<std::string_view> path = {};
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
  /// What the confinement refused or moved away while the call was in flight, a sentence each;
  /// together at most kMaxRefusalBytes.
  std::span<const std::string> refusals = {};
};
inline constexpr std::size_t kMaxRefusalBytes = 2048;

struct Close {
  std::string_view reason;
  std::uint64_t calls;
  std::uint64_t unread;  // client frames relayed without one certain reading
};

}  // namespace aegis::audit
