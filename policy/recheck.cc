// SPDX-License-Identifier: Apache-2.0 OR MIT
// Walks over a record's lines and judges each outcome. Damage is reported, never guessed around.
#include "policy/recheck.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "mcp/json/canonical.h"
#include "policy/loose_line.h"

namespace aegis::policy {
namespace {

using mcp::json::CanonicalNode;
using mcp::json::find_integer;
using mcp::json::find_member;
using mcp::json::find_string;

constexpr std::uint64_t kSchemaVersion = 2;
constexpr std::size_t kMostNotes = 20;

// What wrap records of calls that no rule decided (docs/record-format.md).
constexpr std::string_view kUnknownTool = "<unknown>";
constexpr std::string_view kMalformedCall = "tools/call without a string params.name";
constexpr std::string_view kMalformedFrame = "malformed frame: ";
constexpr std::string_view kRecordUnavailable = "record unavailable";
constexpr std::string_view kBatchRefused = "batch holds a refused call";

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
  std::string_view reason;
  Recorded recorded;
  Call call;
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

std::optional<Outcome> read_outcome(const CanonicalNode& line) {
  if (!has_all_members(line)) return std::nullopt;
  const CanonicalNode& policy = *find_member(line, "policy");
  const CanonicalNode& axes = *find_member(line, "decision_axes");
  const auto recorded = read_status(policy);
  if (!recorded) return std::nullopt;
  Outcome outcome{.call_id = *find_string(line, "call_id"),
                  .seq = *find_integer(line, "seq"),
                  .request_digest = *find_string(line, "request_digest"),
                  .reason = find_string(policy, "reason").value_or(""),
                  .recorded = *recorded,
                  .call = {*find_string(line, "tool_id"), {}, {}}};
  if (!read_axis(axes, "role", outcome.call.role)) return std::nullopt;
  if (!read_axis(axes, "capability", outcome.call.capability)) return std::nullopt;
  return outcome;
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

/// Refused whatever the rules: no rule was asked, or its frame could not be put on the record.
bool is_refused_by_no_rule(const Outcome& outcome) {
  if (outcome.recorded != Recorded::denied) return false;
  if (outcome.reason.starts_with(kRecordUnavailable)) return true;
  return outcome.call.tool == kUnknownTool &&
         (outcome.reason == kMalformedCall || outcome.reason.starts_with(kMalformedFrame));
}

Judgement judge(const Policy& policy, const Outcome& outcome) {
  if (is_refused_by_no_rule(outcome)) return {Unchanged{Recorded::denied}, Effect::refuses};
  // A call that names no tool crosses only where there is no policy.
  if (outcome.call.tool == kUnknownTool && outcome.recorded == Recorded::allowed) {
    return compare(outcome.recorded, Action::deny);
  }
  return compare(outcome.recorded, policy.decide(outcome.call).action);
}

struct Held {
  RecheckedCall call;
  Effect effect;
  bool is_refused_with_batch;  // recorded so: not for itself but for another call of its frame
};

/// The outcomes of one frame, as far as they stand one after another. A batch with a refused call
/// is not forwarded at all, so what a call of it would have met is known only when all of them are
/// judged. Frames that are the same byte for byte fall into one group and harm nothing: their calls
/// get the same judgements.
class FrameGroup {
 public:
  [[nodiscard]] bool holds(std::uint64_t session, std::string_view request_digest) const {
    return !calls_.empty() && session == session_ && request_digest == request_digest_;
  }
  void begin(std::uint64_t session, std::string_view request_digest) {
    session_ = session;
    request_digest_ = request_digest;
  }
  void add(Held held) { calls_.push_back(std::move(held)); }

  std::vector<Held> settle() {
    const auto find = [&](Effect effect) {
      return std::find_if(
          calls_.begin(), calls_.end(), [&](const Held& held) { return held.effect == effect; });
    };
    const bool is_refused = find(Effect::refuses) != calls_.end();
    const auto unknown = find(Effect::unknown);
    for (Held& held : calls_) {
      if (!held.is_refused_with_batch || held.effect != Effect::passes) continue;
      if (is_refused) {
        held.call.clause = Unchanged{Recorded::denied};
      } else if (unknown != calls_.end()) {
        held.call.clause = unknown->call.clause;
      }
    }
    return std::exchange(calls_, {});
  }

 private:
  std::uint64_t session_ = 0;
  std::string request_digest_;
  std::vector<Held> calls_;
};

}  // namespace

struct Rechecker::State {
  explicit State(const Policy& rules) : policy(rules) {}

  void end_line(bool is_last);
  void read_line(std::string_view line, bool is_last);
  void read_canonical(const CanonicalNode& line);
  void read_other(std::string_view line, bool is_last);
  void begin_session();
  void hold(const Outcome& outcome);
  void hold_unreadable(RecheckedCall call, Unanswerable reason);
  void settle_group();
  void count(const Clause& clause);
  void note(std::string text);

  const Policy& policy;
  mcp::json::CanonicalReader reader;
  std::string
      unfinished;  // the line that has begun; of a long one only as much as can be of a Line
  bool is_long = false;
  std::uint64_t line_number = 0;
  std::uint64_t opens = 0;
  FrameGroup group;
  RecheckReport report;
  std::uint64_t unsaid_notes = 0;

  [[nodiscard]] std::uint64_t session() const { return opens == 0 ? 0 : opens - 1; }
};

void Rechecker::State::end_line(bool is_last) {
  ++line_number;
  read_line(unfinished, is_last);
  unfinished.clear();
  is_long = false;
}

void Rechecker::State::read_line(std::string_view line, bool is_last) {
  if (is_long || reader.read(line)) {
    read_other(line, is_last);
  } else {
    read_canonical(reader.root());
  }
}

void Rechecker::State::read_canonical(const CanonicalNode& line) {
  const auto type = find_string(line, "line_type");
  if (type == "open") begin_session();
  const auto schema = find_member(line, "schema_version");
  const bool is_other_schema = schema != nullptr && schema->is(CanonicalNode::Type::integer) &&
                               schema->integer != kSchemaVersion;
  // Schema 1 called it "phase".
  const bool is_outcome =
      type == "outcome" || (!type && is_other_schema && find_string(line, "phase") == "outcome");
  if (!is_outcome) return;
  if (!is_other_schema && schema != nullptr) {
    if (const auto outcome = read_outcome(line)) return hold(*outcome);
  }
  hold_unreadable(
      {std::string(find_string(line, "call_id").value_or("")),
       session(),
       find_integer(line, "seq").value_or(0),
       {}},
      is_other_schema ? Unanswerable::unknown_policy_set_hash : Unanswerable::no_binding);
}

void Rechecker::State::read_other(std::string_view line, bool is_last) {
  LooseLine loose = read_loosely(line);
  const std::string where = "line " + std::to_string(line_number);
  if (loose.is_open) begin_session();
  if (loose.is_outcome) {
    if (!loose.is_other_schema)
      note(where + " says that it is an outcome and is no Line of this format");
    return hold_unreadable(
        {std::move(loose.call_id), session(), loose.seq, {}},
        loose.is_other_schema ? Unanswerable::unknown_policy_set_hash : Unanswerable::no_binding);
  }
  if (loose.is_json || line.find_first_not_of(" \t\r") == std::string_view::npos) return;
  if (is_last && !is_long) {
    // What a stopped writer leaves behind. Its call, if it was to be one's outcome, has none on
    // this record.
    note(where + ", the last, is cut off; it is no recorded outcome");
    return;
  }
  ++report.unread_lines;
  note(where + (is_long ? " is longer than any Line" : " is not JSON") +
       "; a call recorded there cannot be answered for");
}

void Rechecker::State::begin_session() {
  settle_group();
  ++opens;
}

void Rechecker::State::hold(const Outcome& outcome) {
  if (!group.holds(session(), outcome.request_digest)) {
    settle_group();
    group.begin(session(), outcome.request_digest);
  }
  Judgement judgement = judge(policy, outcome);
  const bool is_with_batch =
      outcome.recorded == Recorded::denied && outcome.reason == kBatchRefused;
  group.add({{std::string(outcome.call_id), session(), outcome.seq, judgement.clause},
             judgement.effect,
             is_with_batch});
}

/// It may be of the same frame as the outcomes around it, so it joins whatever group there is.
void Rechecker::State::hold_unreadable(RecheckedCall call, Unanswerable reason) {
  call.clause = Indeterminate{reason};
  group.add({std::move(call), Effect::unknown, false});
}

void Rechecker::State::settle_group() {
  for (Held& held : group.settle()) {
    count(held.call.clause);
    report.calls.push_back(std::move(held.call));
  }
}

void Rechecker::State::count(const Clause& clause) {
  if (std::holds_alternative<Unchanged>(clause)) {
    ++report.unchanged;
  } else if (std::holds_alternative<Indeterminate>(clause)) {
    ++report.unanswered;
  } else {
    ++report.differing;
  }
}

void Rechecker::State::note(std::string text) {
  if (report.notes.size() < kMostNotes) {
    report.notes.push_back(std::move(text));
  } else {
    ++unsaid_notes;
  }
}

Rechecker::Rechecker(const Policy& policy) : state_(std::make_unique<State>(policy)) {}
Rechecker::~Rechecker() = default;

void Rechecker::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    const std::size_t room = mcp::json::kMaxCanonicalSize - state_->unfinished.size();
    state_->unfinished.append(part.substr(0, room));
    if (part.size() > room) state_->is_long = true;
    if (end == std::string_view::npos) return;
    state_->end_line(false);
    bytes.remove_prefix(end + 1);
  }
}

std::vector<RecheckedCall> Rechecker::take() {
  return std::exchange(state_->report.calls, {});
}

RecheckReport Rechecker::finish() {
  if (!state_->unfinished.empty()) state_->end_line(true);
  state_->settle_group();
  if (state_->unsaid_notes != 0) {
    state_->report.notes.push_back("and " + std::to_string(state_->unsaid_notes) +
                                   " more lines of these kinds");
  }
  return std::move(state_->report);
}

}  // namespace aegis::policy
