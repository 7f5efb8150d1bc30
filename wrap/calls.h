// SPDX-License-Identifier: Apache-2.0 OR MIT
// The calls of a session that have an intent and no outcome yet, found by the id that will answer
// them. Values only: who judges and records is the session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/digest.h"
#include "audit/line.h"

namespace aegis::wrap {

struct CallInFlight {
  std::uint64_t intent_seq = 0;
  std::string tool;
  std::string id_key;  // mcp::append_id_key's; empty for a call without an id
  audit::FrameDigest request_digest;
  audit::PolicySetHash policy_set_hash;  // of the policy it was judged under
  std::optional<std::string> matched_rule;
  std::uint64_t started_ns = 0;  // monotonic
  bool has_no_id = false;        // nobody can answer it
  bool is_cancelled = false;
  std::vector<std::string> refusals = {};  // audit::Outcome::refusals
};

class CallTable {
 public:
  [[nodiscard]] std::size_t size() const { return calls_.size(); }
  [[nodiscard]] bool empty() const { return calls_.empty(); }

  void add(CallInFlight call);
  /// Takes out the oldest call with this id: the one that an answer closes (wrap.md).
  std::optional<CallInFlight> take(std::string_view id_key);
  /// The oldest call with this id that is not cancelled yet becomes cancelled. False when there is
  /// none.
  bool cancel(std::string_view id_key);
  /// Adds to the refusals of every call, as long as there is room for it on a Line.
  void note_refusal(std::string_view sentence);
  /// Takes out every call, in the order of their intents.
  std::map<std::uint64_t, CallInFlight> take_all();

 private:
  // Equal keys keep the order in which they were inserted ([associative.reqmts]).
  std::multimap<std::string, CallInFlight, std::less<>> calls_;
};

}  // namespace aegis::wrap
