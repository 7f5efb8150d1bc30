// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a Line of each type does to its session, once it stands where it may and its signature
// holds.
#include <algorithm>
#include <utility>

#include "audit/walk.h"

namespace aegis::audit {
namespace {

bool ends_in_seq(std::string_view call_id, std::uint64_t seq) {
  std::string suffix = "-";
  mcp::json::append_integer(seq, suffix);
  return call_id.size() >= suffix.size() &&
         call_id.substr(call_id.size() - suffix.size()) == suffix;
}

std::string_view describe(Pairing::Match match) {
  switch (match) {
    case Pairing::Match::no_intent:
      return "an outcome that no call in flight belongs to";
    case Pairing::Match::other_tool:
      return "the tool_id of an outcome is not its intent's";
    case Pairing::Match::other_request:
      return "the request_digest of an outcome is not its intent's";
    case Pairing::Match::paired:
      break;
  }
  return {};
}

}  // namespace

bool Walk::judge(const Line& line) {
  if (!line.has_good_fields) {  // another schema version's: its type may mean something else
    session_->has_gap = true;
    return line.type != LineType::open || judge_open();
  }
  switch (line.type) {
    case LineType::open:
      return judge_open();
    case LineType::intent:
      return judge_intent(line);
    case LineType::outcome:
      return judge_outcome(line);
    case LineType::decision:
      return judge_decision(line);
    case LineType::close:
      return judge_close();
    case LineType::checkpoint:
      indeterminate("a checkpoint, which is reserved, at " + position());
      return true;
    case LineType::unknown:
      indeterminate("unknown line type " + std::string{line.type_name} + " at " + position());
      return true;
  }
  return true;
}

bool Walk::judge_open() {
  const KeyId id = session_->key.id();
  if (keys_.size() == kMaxKeys) {
    indeterminate("more keys than " + std::to_string(kMaxKeys) + ", at " + position());
  } else if (keys_.insert(id.bytes)) {
    report_.key_ids.push_back(id);
  }
  if (!trust_ || std::find(trust_->begin(), trust_->end(), session_->key) != trust_->end())
    return true;
  return tampered("the session's key is not among those given", {}, to_hex(session_->key));
}

/// Where a Line is missing or calls were not followed, an unpaired call proves nothing; the verdict
/// is capped by then.
bool Walk::must_pair() const {
  return session_->is_paired && !session_->has_gap && !session_->calls.is_overfull();
}

bool Walk::judge_intent(const Line& line) {
  ++report_.calls;
  if (must_pair() && !ends_in_seq(line.call_id, line.seq)) {
    return tampered("a call_id that does not end in its intent's seq",
                    '-' + std::to_string(line.seq),
                    std::string{line.call_id});
  }
  const auto added = session_->calls.add(
      {line.seq, std::string{line.call_id}, std::string{line.tool_id}, line.request_digest});
  if (added == Pairing::Added::repeated) {  // in one that must pair, two Lines would have one seq
    list_unpaired({at_.session, line.seq, /*is_intent=*/true, std::string{line.call_id}});
  }
  if (added == Pairing::Added::full) {
    ++report_.unlisted;
    if (session_->is_paired) {
      indeterminate("more calls in flight than can be followed, at " + position());
    }
  }
  return true;
}

bool Walk::judge_outcome(const Line& line) {
  const auto match = session_->calls.close(line.call_id, line.tool_id, line.request_digest);
  if (match == Pairing::Match::paired) return true;
  if (must_pair())
    return tampered(std::string{describe(match)}, {}, "call " + std::string{line.call_id});
  const bool may_have_intent = match == Pairing::Match::no_intent && session_->calls.is_overfull();
  if (may_have_intent) return true;
  list_unpaired({at_.session, line.seq, /*is_intent=*/false, std::string{line.call_id}});
  return true;
}

bool Walk::judge_decision(const Line& line) {
  if (decided_.insert(sha256(line.approval_id))) return true;
  return tampered("a second decision for one approval_id", {}, std::string{line.approval_id});
}

bool Walk::judge_close() {
  if (must_pair() && session_->calls.size() > 0) {
    return tampered("a close with calls in flight",
                    {},
                    "calls in flight: " + std::to_string(session_->calls.size()));
  }
  for (Pairing::Call& call : session_->calls.take_all()) {
    list_unpaired({at_.session, call.seq, /*is_intent=*/true, std::move(call.call_id)});
  }
  session_->is_closed = true;
  return true;
}

}  // namespace aegis::audit
