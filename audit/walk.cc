// SPDX-License-Identifier: Apache-2.0 OR MIT
// Where a Line may stand, whether its signature holds, and the verdict in the end. What a Line of
// each type then does is walk_judge.cc's.
#include "audit/walk.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace aegis::audit {
namespace {

bool must_be_signed(LineType type) {
  switch (type) {
    case LineType::open:
    case LineType::outcome:
    case LineType::decision:
    case LineType::close:
    case LineType::checkpoint:
      return true;
    case LineType::intent:
    case LineType::unknown:
      break;
  }
  return false;
}

std::string seq_text(std::uint64_t seq) {
  return "seq " + std::to_string(seq);
}

}  // namespace

void Walk::take(std::string_view text, std::uint64_t offset) {
  if (!begin_line(offset)) return;
  const LineReading reading = reader_.read(text);
  bool is_sound = false;
  if (const auto* line = std::get_if<Line>(&reading)) {
    is_sound = take_line(*line);
  } else if (const auto* opaque = std::get_if<OpaqueLine>(&reading)) {
    is_sound = take_opaque(*opaque);
  } else if (const auto* flaw = std::get_if<LineFlaw>(&reading)) {
    take_flaw(*flaw, offset);
  }
  if (!is_sound) return;
  previous_ = LineHash::of(text);
  ++report_.lines;
}

void Walk::take_flaw(const LineFlaw& flaw, std::uint64_t offset) {
  if (!begin_line(offset)) return;
  if (flaw.may_be_torn) {
    torn_ = Torn{at_, flaw.what};
  } else {
    tampered("malformed Line: " + flaw.what);
  }
}

bool Walk::begin_line(std::uint64_t offset) {
  if (is_broken()) return false;
  if (torn_) {  // something follows it, so no write was cut off there
    at_ = torn_->at;
    return tampered("malformed Line: " + torn_->what);
  }
  at_ = {session_count_ == 0 ? 0 : session_count_ - 1, next_seq_, offset};
  return true;
}

bool Walk::take_line(const Line& line) {
  at_.seq = line.seq;
  if (line.schema_version != kSchemaVersion) {
    indeterminate("schema_version " + std::to_string(line.schema_version) + " at " + position());
  }
  const bool is_placed = line.type == LineType::open ? begin_session(line) : check_place(line);
  if (!is_placed || !check_signature(line) || !judge(line)) return false;
  next_seq_ = line.seq + 1;
  return true;
}

/// It can be hashed, so what follows is still linked to it, and nothing more.
bool Walk::take_opaque(const OpaqueLine& line) {
  if (session_ && session_->is_closed) return tampered("a Line after close");
  if (session_) session_->has_gap = true;
  indeterminate("schema_version " + std::to_string(line.schema_version) + " at " + position());
  return true;
}

bool Walk::begin_session(const Line& line) {
  at_.session = session_count_;
  if (line.seq != 0) return tampered("an open that is not first", seq_text(0), seq_text(line.seq));
  if (line.prev_hash != LineHash{}) {
    return tampered("the prev_hash of an open is not 64 zeros",
                    to_hex(LineHash{}.bytes),
                    to_hex(line.prev_hash.bytes));
  }
  if (!check_previous_session(line)) return false;
  if (!is_strict_point(*line.public_key)) {
    return tampered("the public_key of an open is no point of the prime-order group",
                    {},
                    to_hex(*line.public_key));
  }
  end_session();
  ++session_count_;
  session_.emplace();
  session_->key = *line.public_key;
  session_->key_id = to_hex(line.public_key->id().bytes);
  session_->is_paired = line.is_paired && line.schema_version == kSchemaVersion;
  return true;
}

/// This one comparison is what shows that a session which is not the last was cut short.
bool Walk::check_previous_session(const Line& line) {
  if (!previous_) {  // a Line of another schema version, which begins no session, may stand before
    if (line.prev_session_tail) {
      indeterminate(
          "earlier sessions are not in this file: its first open has a prev_session_tail");
    }
    return true;
  }
  const std::string expected = to_hex(previous_->bytes);
  if (!line.prev_session_tail) return tampered("prev_session_tail is missing", expected);
  if (*line.prev_session_tail == *previous_) return true;
  return tampered("prev_session_tail is not the hash of the Line before",
                  expected,
                  to_hex(line.prev_session_tail->bytes));
}

bool Walk::check_place(const Line& line) {
  if (!session_) {
    return tampered("the first Line is not an open", "open", std::string{line.type_name});
  }
  if (line.prev_hash != *previous_) {
    return tampered("prev_hash is not the hash of the Line before",
                    to_hex(previous_->bytes),
                    to_hex(line.prev_hash.bytes));
  }
  if (line.seq < next_seq_) {
    return tampered("seq repeats or goes back", seq_text(next_seq_), seq_text(line.seq));
  }
  if (session_->is_closed && line.type != LineType::checkpoint) {
    return tampered("a Line after close", "open or checkpoint", std::string{line.type_name});
  }
  if (line.seq > next_seq_) {
    // No forger can do this: to take a Line out of an intact chain, all after it must be signed
    // anew. A writer that could not write a Line can. Whose intent or outcome that was, nobody
    // knows.
    session_->has_gap = true;
    indeterminate("seq jumps from " + std::to_string(next_seq_) + " over an intact chain, at " +
                  position());
  }
  return true;
}

bool Walk::check_signature(const Line& line) {
  if (!line.has_signature) {
    if (!must_be_signed(line.type)) return true;
    return tampered("no signature on a Line of type " + std::string{line.type_name});
  }
  if (line.key_id != session_->key_id) {
    return tampered("key_id is not that of the session's key",
                    session_->key_id,
                    std::string{line.key_id.value_or(std::string_view{})});
  }
  signed_text_ = line.before_signature;
  signed_text_ += line.after_signature;
  if (!line.signature || !is_signed_by(session_->key, signed_text_, *line.signature)) {
    return tampered("the signature does not verify");
  }
  report_.coverage = Coverage{at_.session, at_.seq};
  return true;
}

bool Walk::tampered(std::string reason, std::string expected, std::string found) {
  report_.standing = Standing::tampered;
  report_.reason = std::move(reason);
  report_.broken = Break{at_.session, at_.seq, at_.offset, std::move(expected), std::move(found)};
  return false;
}

void Walk::indeterminate(std::string reason) {
  if (report_.standing != Standing::verified) return;
  report_.standing = Standing::indeterminate;
  report_.reason = std::move(reason);
}

std::string Walk::position() const {
  return "session " + std::to_string(at_.session) + ' ' + seq_text(at_.seq);
}

/// A session without its close may have lost more than that: intents are unsigned, and whoever cut
/// outcomes off can write what the next session's open then points to. So it is never Verified,
/// first or last.
void Walk::end_session() {
  if (!session_ || session_->is_closed) return;
  indeterminate("session " + std::to_string(session_count_ - 1) +
                " has no close, calls in flight: " + std::to_string(session_->calls.size()));
  for (Pairing::Call& call : session_->calls.take_all()) {
    if (!has_room_to_list(call.call_id.size() + call.tool_id.size())) continue;
    report_.in_flight.push_back(
        {session_count_ - 1, call.seq, std::move(call.call_id), std::move(call.tool_id)});
  }
}

void Walk::list_unpaired(Unpaired call) {
  if (has_room_to_list(call.call_id.size())) report_.unpaired.push_back(std::move(call));
}

bool Walk::has_room_to_list(std::size_t bytes) {
  listed_bytes_ += bytes + sizeof(InFlight);
  if (listed_bytes_ <= kMaxListed) return true;
  ++report_.unlisted;
  return false;
}

Report Walk::finish() {
  if (is_broken()) {
    report_.in_flight.clear();
    report_.unpaired.clear();
    report_.unlisted = 0;
    return std::move(report_);
  }
  if (torn_) indeterminate("the last line is torn: " + torn_->what);
  if (report_.lines == 0) indeterminate("no Lines");
  end_session();
  std::sort(
      report_.unpaired.begin(), report_.unpaired.end(), [](const Unpaired& a, const Unpaired& b) {
        return std::tie(a.session, a.seq) < std::tie(b.session, b.seq);
      });
  report_.is_pinned = trust_.has_value() && report_.standing == Standing::verified;
  return std::move(report_);
}

}  // namespace aegis::audit
