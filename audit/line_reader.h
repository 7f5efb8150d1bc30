// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reads one Line by itself: its canonical form, the members that every Line has, and those that its
// type must have. It knows no chain and no key: whether a Line stands where it may is walk.h's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "audit/digest.h"
#include "audit/key.h"
#include "audit/line.h"
#include "mcp/json/canonical.h"

namespace aegis::audit {

enum class LineType : std::uint8_t { open, intent, outcome, decision, close, checkpoint, unknown };

/// A Line whose members have the types that the format gives them. Views point into the text or
/// into the reader.
struct Line {
  std::uint64_t schema_version = 0;
  LineType type = LineType::unknown;
  std::string_view type_name;
  std::uint64_t seq = 0;
  LineHash prev_hash;

  // The members of its type are there, and of the types they must have. Always so in this schema
  // version.
  bool has_good_fields = true;

  std::optional<std::string_view> key_id;  // as written
  bool has_signature = false;
  std::optional<Signature> signature;  // empty also when what stands there is none
  // The text around `,"signature":"…"`: together they are what was signed.
  std::string_view before_signature;
  std::string_view after_signature;

  std::optional<PublicKey> public_key;        // open
  std::optional<LineHash> prev_session_tail;  // open
  bool is_paired = false;                     // open: keeps the pairing rules of kProfile
  std::string_view call_id;                   // intent, outcome
  std::string_view tool_id;                   // intent, outcome
  FrameDigest request_digest;                 // intent, outcome
  std::string_view approval_id;               // decision
};

/// A Line of another schema version, in which not even this version's links can be found.
struct OpaqueLine {
  std::uint64_t schema_version;
};

struct LineFlaw {
  bool may_be_torn;  // not one complete JSON value, or not UTF-8
  std::string what;  // for people
};

using LineReading = std::variant<Line, OpaqueLine, LineFlaw>;

/// Re-uses its memory from Line to Line. Not copyable: Lines point into it.
class LineReader {
 public:
  /// `text` has no '\n'. It must outlive the use of what is returned, which lasts until the next
  /// read.
  LineReading read(std::string_view text);

 private:
  mcp::json::CanonicalReader reader_;
};

}  // namespace aegis::audit
