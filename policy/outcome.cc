// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reads an outcome for what rules could see of it, and compares what was with what would be.
#include "policy/outcome.h"

#include <algorithm>
#include <array>

#include "mcp/operation.h"

namespace aegis::policy {
namespace {

using mcp::json::CanonicalNode;
using mcp::json::find_integer;
using mcp::json::find_member;
using mcp::json::find_string;

// What wrap records of calls that no rule decided (docs/record-format.md).
constexpr std::string_view kUnknownTool = "<unknown>";
// The policy_set_hash of a call that no policy was asked about: SHA-256 of
// "aegis-wrap-passthrough-v0".
constexpr std::string_view kNoPolicy =
    "7b30695c7a4df1b6a226bdd591c6d75b9917bb3af078af2d01be295e4df96974";
constexpr std::string_view kMalformedCall = "tools/call without a string params.name";
constexpr std::string_view kMalformedFrame = "malformed frame: ";
constexpr std::string_view kRecordUnavailable = "record unavailable";
constexpr std::string_view kBatchRefused = "batch holds a refused call";
constexpr std::string_view kBatchOfBroker = "batch holds a broker call";
constexpr std::string_view kIdOfBroker = "id of a broker call in flight";
// The capability's reason of a call that a rule refused, whatever the rule's own reason says.
constexpr std::string_view kRefusedByRule = "policy blocked before capability";

constexpr std::array kBrokerCodes{
    mcp::BrokerCode::path_boundary_violation,
    mcp::BrokerCode::sensitive_target_denied,
    mcp::BrokerCode::schema_validation_failure,
    mcp::BrokerCode::operation_not_permitted,
    mcp::BrokerCode::approval_required,
    mcp::BrokerCode::timeout_limit_exceeded,
    mcp::BrokerCode::output_limit_exceeded,
    mcp::BrokerCode::sandbox_unavailable,
};

std::optional<Recorded> read_status(const CanonicalNode& policy) {
  const auto status = find_string(policy, "status");
  if (status == "allowed") return Recorded::allowed;
  if (status == "denied") return Recorded::denied;
  if (status == "rate_limited") return Recorded::rate_limited;
  if (status == "pending_approval") return Recorded::pending_approval;
  return std::nullopt;
}

/// False when the axis is there and is no string.
bool read_axis(const CanonicalNode& axes,
               std::string_view name,
               std::optional<std::string_view>& value) {
  value = find_string(axes, name);
  return value || find_member(axes, name) == nullptr;
}

bool has_all_members(const CanonicalNode& line) {
  using Type = CanonicalNode::Type;
  struct Required {
    std::string_view name;
    Type type;
  };
  constexpr std::array<Required, 9> kRequired = {{{"call_id", Type::string},
                                                  {"capability", Type::object},
                                                  {"decision_axes", Type::object},
                                                  {"execution", Type::object},
                                                  {"policy", Type::object},
                                                  {"policy_set_hash", Type::string},
                                                  {"request_digest", Type::string},
                                                  {"seq", Type::integer},
                                                  {"tool_id", Type::string}}};
  return std::all_of(kRequired.begin(), kRequired.end(), [&](const Required& required) {
    const CanonicalNode* member = find_member(line, required.name);
    return member != nullptr && member->is(required.type);
  });
}

bool is_blocked(Recorded recorded) {
  return recorded == Recorded::denied || recorded == Recorded::rate_limited;
}

Judgement compare(Recorded was, Action now) {
  switch (now) {
    case Action::allow:
      if (was == Recorded::allowed) return {Unchanged{was}, Effect::passes};
      return {NewlyAllowed{was}, Effect::passes};
    case Action::deny:
      if (is_blocked(was)) return {Unchanged{was}, Effect::refuses};
      return {NewlyBlocked{was}, Effect::refuses};
    case Action::pending_approval:
      if (was == Recorded::pending_approval) return {Unchanged{was}, Effect::refuses};
      return {NewlyParked{was}, Effect::refuses};
    case Action::rate_limit:
      break;
  }
  return {Indeterminate{Unanswerable::rate_limit_unevaluable}, Effect::unknown};
}

/// No rule has a say in it: the broker asks its own policy, after the rules have let a call pass. A
/// rule's denial has another reason on its capability, so no rule can be taken for the broker.
bool is_refused_by_broker(const Outcome& outcome) {
  if (outcome.capability_reason != outcome.reason) return false;
  const std::string_view code = outcome.reason.substr(0, outcome.reason.find(' '));
  return outcome.reason == kBatchOfBroker || outcome.reason == kIdOfBroker ||
         std::any_of(kBrokerCodes.begin(), kBrokerCodes.end(), [code](mcp::BrokerCode each) {
           return code == mcp::to_string(each);
         });
}

/// Refused whatever the rules: no rule was asked, or its frame could not be put on the record. A
/// rule may give any reason of these for its own.
bool is_refused_by_no_rule(const Outcome& outcome) {
  if (outcome.recorded != Recorded::denied) return false;
  if (outcome.capability_reason == kRefusedByRule) return false;
  if (outcome.reason.starts_with(kRecordUnavailable)) return true;
  if (is_refused_by_broker(outcome)) return true;
  return outcome.call.tool == kUnknownTool &&
         (outcome.reason == kMalformedCall || outcome.reason.starts_with(kMalformedFrame));
}

}  // namespace

std::optional<Outcome> read_outcome(const CanonicalNode& line) {
  if (!has_all_members(line)) return std::nullopt;
  const CanonicalNode& policy = *find_member(line, "policy");
  const CanonicalNode& axes = *find_member(line, "decision_axes");
  const auto recorded = read_status(policy);
  if (!recorded) return std::nullopt;
  Outcome outcome{
      .call_id = *find_string(line, "call_id"),
      .seq = *find_integer(line, "seq"),
      .request_digest = *find_string(line, "request_digest"),
      .policy_set_hash = *find_string(line, "policy_set_hash"),
      .reason = find_string(policy, "reason").value_or(""),
      .capability_reason = find_string(*find_member(line, "capability"), "reason").value_or(""),
      .recorded = *recorded,
      .call = {*find_string(line, "tool_id"), {}, {}}};
  if (!read_axis(axes, "role", outcome.call.role)) return std::nullopt;
  if (!read_axis(axes, "capability", outcome.call.capability)) return std::nullopt;
  return outcome;
}

Judgement judge(const Policy& policy, const Outcome& outcome) {
  if (is_refused_by_no_rule(outcome)) return {Unchanged{Recorded::denied}, Effect::refuses};
  // A call that names no tool crosses only where there is no policy. Under one, the tool is called
  // so.
  if (outcome.call.tool == kUnknownTool && outcome.recorded == Recorded::allowed &&
      outcome.policy_set_hash == kNoPolicy) {
    return compare(outcome.recorded, Action::deny);
  }
  return compare(outcome.recorded, policy.decide(outcome.call).action);
}

bool is_refused_with_batch(const Outcome& outcome) {
  return outcome.recorded == Recorded::denied && outcome.reason == kBatchRefused;
}

}  // namespace aegis::policy
