// SPDX-License-Identifier: Apache-2.0 OR MIT
// One recorded outcome, and what other rules make of it. It looks at nothing but the Line and the
// rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "mcp/json/canonical.h"
#include "policy/policy.h"
#include "policy/recheck.h"

namespace aegis::policy {

/// What the new rules do to a call, as far as the other calls of its batch are concerned.
enum class Effect : std::uint8_t { passes, refuses, unknown };

struct Judgement {
  Clause clause;
  Effect effect;
};

/// An outcome as far as its rules could see it.
struct Outcome {
  std::string_view call_id;
  std::uint64_t seq;
  std::string_view request_digest;
  std::string_view policy_set_hash;    // hex
  std::string_view reason;             // of `policy`
  std::string_view capability_reason;  // of `capability`, when that was denied
  Recorded recorded;
  Call call;
};

/// Nothing when a member that the format requires is missing or of another type. Views point into
/// what `line`'s do.
std::optional<Outcome> read_outcome(const mcp::json::CanonicalNode& line);

/// The call judged by itself, whatever else its frame held.
Judgement judge(const Policy& policy, const Outcome& outcome);

/// It was not refused for itself but for another call of its frame.
bool is_refused_with_batch(const Outcome& outcome);

}  // namespace aegis::policy
