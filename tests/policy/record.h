// SPDX-License-Identifier: Apache-2.0 OR MIT
// Records of a few Lines and policies of a few rules, and what a recheck says of both.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <doctest/doctest.h>

#include "policy/policy.h"
#include "policy/recheck.h"

namespace aegis::policy {

inline const std::string open_line = R"({"line_type":"open","schema_version":2,"seq":0})"
                                     "\n";

/// The members of an outcome; the rest of its Line is filled in.
struct Parts {
  std::string call_id = "c-1";
  std::string tool = "t";
  std::string policy = R"({"status":"allowed"})";
  std::string capability = R"({"status":"granted"})";
  std::string axes = "{}";
  std::string policy_set_hash = "h";
  std::string digest = "d1";
  int seq = 2;
};

inline std::string outcome(const Parts& parts) {
  return R"({"call_id":")" + parts.call_id + R"(","capability":)" + parts.capability +
         R"(,"decision_axes":)" + parts.axes +
         R"(,"execution":{"status":"success"},"line_type":"outcome","policy":)" + parts.policy +
         R"(,"policy_set_hash":")" + parts.policy_set_hash + R"(","request_digest":")" +
         parts.digest + R"(","schema_version":2,"seq":)" + std::to_string(parts.seq) +
         R"(,"tool_id":")" + parts.tool + "\"}\n";
}

inline std::string denied(std::string_view reason) {
  return R"({"reason":")" + std::string(reason) + R"(","status":"denied"})";
}
inline const std::string rate_limited = R"({"reason":"no","status":"rate_limited"})";
inline const std::string pending = R"({"approval_id":"a","status":"pending_approval"})";

inline Policy rules(std::string_view text) {
  std::string whole = "version: 1\nrules:\n";
  whole += text.empty() ? "  []\n" : text;
  Loaded loaded = parse_policy(whole, Purpose::recheck);
  CAPTURE(whole);
  REQUIRE(loaded.policy.has_value());
  return *std::move(loaded.policy);
}

inline RecheckReport recheck(std::string_view policy_rules, std::string_view record) {
  const Policy policy = rules(policy_rules);
  Rechecker rechecker(policy);
  rechecker.feed(record);
  return rechecker.finish();
}

inline std::string recheck_text(std::string_view policy_rules, std::string_view record) {
  return encode_text(recheck(policy_rules, record).calls);
}

inline constexpr std::string_view kDeny = "  - { id: x, action: deny }\n";
inline constexpr std::string_view kPark = "  - { id: x, action: pending_approval }\n";
inline constexpr std::string_view kRate =
    "  - { id: x, action: rate_limit, rate: { max: 1, per_seconds: 1 } }\n";

}  // namespace aegis::policy
