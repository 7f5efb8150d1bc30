// SPDX-License-Identifier: Apache-2.0 OR MIT
// What would these rules have decided? A record's outcomes judged again under a policy, from the
// record's bytes alone: nothing is executed, no signature checked, no recorded path opened. Whether
// the record is whole is audit/verify's question.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "policy/policy.h"

namespace aegis::policy {

/// `policy.status` of an outcome. denied and rate_limited are one class, blocked: the call did not
/// run.
enum class Recorded : std::uint8_t { allowed, denied, rate_limited, pending_approval };

/// Why a call cannot be answered for.
enum class Unanswerable : std::uint8_t {
  unknown_policy_set_hash,  // the Line's schema_version is not 2
  no_binding,               // it says that it is an outcome and cannot be read as one
  rate_limit_unevaluable,   // a rate_limit rule decides, and its counters are in no record
};

struct Unchanged {
  Recorded action;
};
struct NewlyBlocked {  // now denied
  Recorded was;
};
struct NewlyAllowed {
  Recorded was;
};
struct NewlyParked {  // now pending_approval
  Recorded was;
};
struct Indeterminate {
  Unanswerable reason;
};
using Clause = std::variant<Unchanged, NewlyBlocked, NewlyAllowed, NewlyParked, Indeterminate>;

struct RecheckedCall {
  std::string call_id;        // as recorded; empty when there is none
  std::uint64_t session = 0;  // as audit::Verifier counts them
  std::uint64_t seq = 0;      // 0 when there is none: that is the place of an open Line
  Clause clause;
};

struct RecheckReport {
  std::vector<RecheckedCall> calls;  // in file order; without those that were taken before
  std::vector<std::string> notes;  // for people: lines that could not be read, and why that matters
  std::uint64_t unchanged = 0;     // these three count all calls, the taken ones too
  std::uint64_t differing = 0;
  std::uint64_t unanswered = 0;
  std::uint64_t unread_lines =
      0;  // whole lines that are no JSON: any call in them is not answered for

  /// Some call cannot be answered for, so what is said is no complete answer: this outranks that
  /// some differ.
  [[nodiscard]] bool is_incomplete() const { return unanswered != 0 || unread_lines != 0; }
};

class Rechecker {
 public:
  /// `policy` must outlive the rechecker.
  explicit Rechecker(const Policy& policy);
  ~Rechecker();
  Rechecker(const Rechecker&) = delete;
  Rechecker& operator=(const Rechecker&) = delete;

  /// Any cut of the file into pieces gives the same report.
  void feed(std::string_view bytes);
  /// The calls that are answered for since the last take, in file order: a report of any length
  /// needs no memory.
  std::vector<RecheckedCall> take();
  RecheckReport finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A line for each call: "call <call_id> session <i> seq <n>: <clause>" with its '\n'. What a
/// record says is escaped, so that it can neither move a cursor nor look like other words of the
/// line.
std::string encode_text(std::span<const RecheckedCall> calls);
/// The same facts as one canonical object, with its '\n', and as harmless to a terminal.
std::string encode_json(const RecheckReport& report);

}  // namespace aegis::policy
