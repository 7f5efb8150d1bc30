// SPDX-License-Identifier: Apache-2.0 OR MIT
// Three levels of tables are all that the format has, so the check goes down by name and not by
// recursion.
#include "audit/line_fields.h"

#include <array>
#include <span>

#include "audit/hex.h"

namespace aegis::audit {
namespace {

using mcp::json::CanonicalNode;
using mcp::json::find_member;
using mcp::json::find_string;

enum class Shape : std::uint8_t { text, digest, number, object };
enum class Need : std::uint8_t { required, optional };

struct Field {
  std::string_view name;
  Shape shape;
  Need need = Need::required;
};
using Fields = std::span<const Field>;

/// An object whose other members depend on what its tag says.
struct Variant {
  std::string_view tag;
  Fields fields;
};
struct Tagged {
  std::string_view member;
  std::string_view tag_name;
  std::span<const Variant> variants;
};

constexpr std::array kOpen{
    Field{"public_key", Shape::digest},
    Field{"prev_session_tail", Shape::digest, Need::optional},
};
constexpr std::array kIntent{
    Field{"call_id", Shape::text},
    Field{"tool_id", Shape::text},
    Field{"request_digest", Shape::digest},
};
constexpr std::array kOutcome{
    Field{"call_id", Shape::text},
    Field{"tool_id", Shape::text},
    Field{"request_digest", Shape::digest},
    Field{"policy_set_hash", Shape::digest},
    Field{"decision_axes", Shape::object},
    Field{"grant_id", Shape::text, Need::optional},
    Field{"response_digest", Shape::digest, Need::optional},
    Field{"wall_ms", Shape::number, Need::optional},
    Field{"peak_memory_bytes", Shape::number, Need::optional},
};
constexpr std::array kDecision{Field{"approval_id", Shape::text}};
constexpr std::array kAxes{
    Field{"capability", Shape::text, Need::optional},
    Field{"role", Shape::text, Need::optional},
    Field{"session", Shape::text, Need::optional},
    Field{"matched_rule", Shape::text, Need::optional},
    Field{"approval_ref", Shape::text, Need::optional},
    Field{"fs", Shape::object, Need::optional},
    Field{"net", Shape::object, Need::optional},
};
constexpr std::array kGrant{
    Field{"grant_id", Shape::text},
    Field{"tool_id", Shape::text},
    Field{"max_memory_bytes", Shape::number},
    Field{"max_wall_ms", Shape::number},
    Field{"max_output_bytes", Shape::number},
    Field{"fs", Shape::object, Need::optional},
    Field{"net", Shape::object, Need::optional},
};
constexpr std::array kScope{
    Field{"tool_id", Shape::text},
    Field{"fs", Shape::object, Need::optional},
    Field{"net", Shape::object, Need::optional},
};

constexpr std::array kReason{Field{"reason", Shape::text}};
constexpr std::array kApprovalId{Field{"approval_id", Shape::text}};
constexpr std::array kHasGrant{Field{"grant", Shape::object}};
constexpr std::array kRefusedCapability{
    Field{"reason", Shape::text},
    Field{"denied_capability", Shape::text, Need::optional},
};
constexpr std::array kMessage{Field{"message", Shape::text}};
constexpr std::array kKind{Field{"kind", Shape::text}};
constexpr std::array kHasScope{Field{"scope", Shape::object}};

constexpr std::array kPolicy{
    Variant{"allowed", {}},
    Variant{"denied", kReason},
    Variant{"rate_limited", kReason},
    Variant{"pending_approval", kApprovalId},
};
constexpr std::array kCapability{
    Variant{"granted", kHasGrant},
    Variant{"denied", kRefusedCapability},
};
constexpr std::array kExecution{
    Variant{"success", {}},
    Variant{"trap", kMessage},
    Variant{"resource_exceeded", kKind},
    Variant{"host_denied", kReason},
};
constexpr std::array kVerdict{
    Variant{"approved", kHasScope},
    Variant{"denied", kReason},
};
constexpr std::array kOutcomeTagged{
    Tagged{"policy", "status", kPolicy},
    Tagged{"capability", "status", kCapability},
    Tagged{"execution", "status", kExecution},
};
constexpr std::array kDecisionTagged{Tagged{"verdict", "verdict", kVerdict}};

bool has_shape(const CanonicalNode& node, Shape shape) {
  std::array<std::uint8_t, 32> digest;
  switch (shape) {
    case Shape::text:
      return node.is(CanonicalNode::Type::string);
    case Shape::digest:
      return node.is(CanonicalNode::Type::string) && decode_hex(node.string, digest);
    case Shape::number:
      return node.is(CanonicalNode::Type::integer);
    case Shape::object:
      return node.is(CanonicalNode::Type::object);
  }
  return false;
}

/// The name of the first bad member of one object; empty when there is none.
std::string_view find_bad(const CanonicalNode& object, Fields fields) {
  for (const Field& field : fields) {
    const CanonicalNode* node = find_member(object, field.name);
    const bool is_good =
        node == nullptr ? field.need == Need::optional : has_shape(*node, field.shape);
    if (!is_good) return field.name;
  }
  return {};
}

std::string path(std::string_view outer, std::string_view inner) {
  std::string text{outer};
  text += '.';
  text += inner;
  return text;
}

/// The same for the objects in one that are told apart by a tag.
std::string find_bad_tagged(const CanonicalNode& line, std::span<const Tagged> members) {
  for (const Tagged& member : members) {
    const CanonicalNode* node = find_member(line, member.member);
    if (node == nullptr) return std::string{member.member};
    const auto tag = find_string(*node, member.tag_name);
    const auto* variant = member.variants.begin().base();
    const auto* const end = variant + member.variants.size();
    while (variant != end && tag != variant->tag)
      ++variant;
    if (variant == end) return path(member.member, member.tag_name);
    if (const auto bad = find_bad(*node, variant->fields); !bad.empty()) {
      return path(member.member, bad);
    }
  }
  return {};
}

/// The bad member of an object inside a tagged one, when there is such an object.
std::string find_bad_inner(const CanonicalNode& line,
                           std::string_view outer,
                           std::string_view inner,
                           Fields fields) {
  const CanonicalNode* object = find_member(*find_member(line, outer), inner);
  if (object == nullptr) return {};
  const std::string_view bad = find_bad(*object, fields);
  return bad.empty() ? std::string{} : path(path(outer, inner), bad);
}

std::string find_bad_outcome(const CanonicalNode& line) {
  if (const auto bad = find_bad(line, kOutcome); !bad.empty()) return std::string{bad};
  if (auto bad = find_bad_tagged(line, kOutcomeTagged); !bad.empty()) return bad;
  if (const auto bad = find_bad(*find_member(line, "decision_axes"), kAxes); !bad.empty()) {
    return path("decision_axes", bad);
  }
  return find_bad_inner(line, "capability", "grant", kGrant);
}

std::string find_bad_decision(const CanonicalNode& line) {
  if (const auto bad = find_bad(line, kDecision); !bad.empty()) return std::string{bad};
  if (auto bad = find_bad_tagged(line, kDecisionTagged); !bad.empty()) return bad;
  return find_bad_inner(line, "verdict", "scope", kScope);
}

}  // namespace

std::string find_bad_field(LineType type, const CanonicalNode& line) {
  switch (type) {
    case LineType::open:
      return std::string{find_bad(line, kOpen)};
    case LineType::intent:
      return std::string{find_bad(line, kIntent)};
    case LineType::outcome:
      return find_bad_outcome(line);
    case LineType::decision:
      return find_bad_decision(line);
    case LineType::close:
    case LineType::checkpoint:
    case LineType::unknown:
      break;
  }
  return {};
}

}  // namespace aegis::audit
