// SPDX-License-Identifier: Apache-2.0 OR MIT
// From canonical JSON to the members that a verifier looks at.
#include "audit/line_reader.h"

#include <array>
#include <cassert>
#include <utility>

#include "audit/hex.h"
#include "audit/line_fields.h"

namespace aegis::audit {
namespace {

using mcp::json::CanonicalFlaw;
using mcp::json::CanonicalNode;
using mcp::json::find_integer;
using mcp::json::find_member;
using mcp::json::find_string;

LineType type_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, LineType>, 6> kTypes{{
      {"open", LineType::open},
      {"intent", LineType::intent},
      {"outcome", LineType::outcome},
      {"decision", LineType::decision},
      {"close", LineType::close},
      {"checkpoint", LineType::checkpoint},
  }};
  for (const auto& [known, type] : kTypes) {
    if (known == name) return type;
  }
  return LineType::unknown;
}

template <class Digest>
std::optional<Digest> find_digest(const CanonicalNode& object, std::string_view name) {
  const auto text = find_string(object, name);
  const auto bytes = text ? parse_hex(*text) : std::nullopt;
  if (!bytes) return std::nullopt;
  return Digest{*bytes};
}

/// Empty when the members that every Line has are there. The name of one that is not, otherwise.
std::string_view read_common(const CanonicalNode& root, Line& line) {
  const auto type_name = find_string(root, "line_type");
  if (!type_name) return "line_type";
  const auto prev_hash = find_digest<LineHash>(root, "prev_hash");
  if (!prev_hash) return "prev_hash";
  const auto seq = find_integer(root, "seq");
  if (!seq) return "seq";
  line.type_name = *type_name;
  line.type = type_of(*type_name);
  line.prev_hash = *prev_hash;
  line.seq = *seq;
  return {};
}

void read_signature(std::string_view text, const CanonicalNode& root, Line& line) {
  line.key_id = find_string(root, "key_id");
  const CanonicalNode* node = find_member(root, "signature");
  if (node == nullptr) return;
  line.has_signature = true;
  Signature signature;
  if (node->is(CanonicalNode::Type::string) && decode_hex(node->string, signature)) {
    line.signature = signature;
  }
  // A comma stands before it: `line_type` comes earlier in canonical order, and every Line has one.
  const auto end = static_cast<std::size_t>(node->raw.data() + node->raw.size() - text.data());
  assert(node->member_at > 0 && text[node->member_at - 1] == ',');
  line.before_signature = text.substr(0, node->member_at - 1);
  line.after_signature = text.substr(end);
}

void read_own_members(const CanonicalNode& root, Line& line) {
  switch (line.type) {
    case LineType::open:
      if (const auto key = find_string(root, "public_key"))
        line.public_key = parse_public_key(*key);
      line.prev_session_tail = find_digest<LineHash>(root, "prev_session_tail");
      line.is_paired = find_string(root, "profile") == kProfile;
      break;
    case LineType::intent:
    case LineType::outcome:
      line.call_id = find_string(root, "call_id").value_or(std::string_view{});
      line.tool_id = find_string(root, "tool_id").value_or(std::string_view{});
      line.request_digest =
          find_digest<FrameDigest>(root, "request_digest").value_or(FrameDigest{});
      break;
    case LineType::decision:
      line.approval_id = find_string(root, "approval_id").value_or(std::string_view{});
      break;
    case LineType::close:
    case LineType::checkpoint:
    case LineType::unknown:
      break;
  }
}

LineFlaw bad_field(std::string_view name) {
  std::string what = "the member \"";
  what += name;
  what += "\" is missing or not what the format says";
  return {false, std::move(what)};
}

}  // namespace

LineReading LineReader::read(std::string_view text) {
  if (const auto flaw = reader_.read(text)) {
    std::string what{describe(flaw->kind)};
    if (flaw->kind != CanonicalFlaw::Kind::blank)
      what += ", at its byte " + std::to_string(flaw->offset);
    return LineFlaw{flaw->may_be_torn(), std::move(what)};
  }
  const CanonicalNode& root = reader_.root();
  if (!root.is(CanonicalNode::Type::object)) return LineFlaw{false, "not an object"};
  const auto version = find_integer(root, "schema_version");
  if (!version) return bad_field("schema_version");

  Line line;
  line.schema_version = *version;
  if (const std::string_view bad = read_common(root, line); !bad.empty()) {
    if (*version != kSchemaVersion) return OpaqueLine{*version};
    return bad_field(bad);
  }
  read_signature(text, root, line);
  read_own_members(root, line);
  const std::string bad = find_bad_field(line.type, root);
  if (bad.empty()) return line;
  if (*version == kSchemaVersion) return bad_field(bad);
  if (line.type == LineType::open && !line.public_key) return OpaqueLine{*version};
  line.has_good_fields = false;
  return line;
}

}  // namespace aegis::audit
