// SPDX-License-Identifier: Apache-2.0 OR MIT
// Walks over a record's lines and judges each outcome. Damage is reported, never guessed around.
#include "policy/recheck.h"

#include <algorithm>
#include <utility>

#include "mcp/json/canonical.h"
#include "policy/loose_line.h"
#include "policy/outcome.h"

namespace aegis::policy {
namespace {

using mcp::json::CanonicalNode;
using mcp::json::find_integer;
using mcp::json::find_member;
using mcp::json::find_string;

constexpr std::uint64_t kSchemaVersion = 2;
constexpr std::size_t kMostNotes = 20;

/// Whether a '\n' ended a line, or the file did.
enum class LineEnd : std::uint8_t { newline, file };

struct Held {
  RecheckedCall call;
  Effect effect;
  bool is_refused_with_batch;  // recorded so: not for itself but for another call of its frame
};

/// The outcomes of one frame of one session, as far as they stand one after another. A batch with a
/// refused call is not forwarded at all, so what a call of it would have met is known only when all
/// of them are judged. Frames that are the same byte for byte fall into one group and harm nothing:
/// their calls get the same judgements.
class FrameGroup {
 public:
  [[nodiscard]] bool is_of(std::string_view request_digest) const {
    return !calls_.empty() && request_digest == request_digest_;
  }
  [[nodiscard]] bool is_empty() const { return calls_.empty(); }
  void begin(std::string_view request_digest) { request_digest_ = request_digest; }
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
  std::string request_digest_;
  std::vector<Held> calls_;
};

}  // namespace

struct Rechecker::State {
  explicit State(const Policy& rules) : policy(rules) {}

  void end_line(LineEnd end);
  void read_line(std::string_view line, LineEnd end);
  void read_canonical(const CanonicalNode& line);
  void read_other(std::string_view line, LineEnd end);
  void begin_session();
  void hold(const Outcome& outcome);
  void hold_unreadable(RecheckedCall call, Unanswerable reason);
  void settle_group();
  void count(const Clause& clause);
  void note(std::string text);

  const Policy& policy;
  mcp::json::CanonicalReader reader;
  std::string unfinished;  // what there is of the next line, but no more than a Line may have
  bool is_long = false;
  std::uint64_t line_number = 0;
  std::uint64_t opens = 0;
  FrameGroup group;
  RecheckReport report;
  std::uint64_t unsaid_notes = 0;

  [[nodiscard]] std::uint64_t session() const { return opens == 0 ? 0 : opens - 1; }
};

void Rechecker::State::end_line(LineEnd end) {
  ++line_number;
  read_line(unfinished, end);
  unfinished.clear();
  is_long = false;
}

void Rechecker::State::read_line(std::string_view line, LineEnd end) {
  if (is_long || reader.read(line)) {
    read_other(line, end);
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
  const bool has_type = find_member(line, "line_type") != nullptr;
  if ((has_type ? type : find_string(line, "phase")) != "outcome") return;
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

void Rechecker::State::read_other(std::string_view line, LineEnd end) {
  LooseLine loose = read_loosely(line);
  const std::string where = "line " + std::to_string(line_number);
  if (loose.is_open) begin_session();
  if (loose.is_outcome) {
    return hold_unreadable(
        {std::move(loose.call_id), session(), loose.seq, {}},
        loose.is_other_schema ? Unanswerable::unknown_policy_set_hash : Unanswerable::no_binding);
  }
  const bool is_blank = line.find_first_not_of(" \t\r") == std::string_view::npos;
  if (!is_long && (loose.is_json || is_blank)) return;
  if (end == LineEnd::file && !is_long) {
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
  if (!group.is_of(outcome.request_digest)) {
    settle_group();
    group.begin(outcome.request_digest);
  }
  Judgement judgement = judge(policy, outcome);
  group.add({{std::string(outcome.call_id), session(), outcome.seq, judgement.clause},
             judgement.effect,
             is_refused_with_batch(outcome)});
}

/// One of schema 2 may be of the same frame as the outcomes before it, so it joins their group.
void Rechecker::State::hold_unreadable(RecheckedCall call, Unanswerable reason) {
  call.clause = Indeterminate{reason};
  if (reason == Unanswerable::no_binding) {
    note("line " + std::to_string(line_number) +
         " says that it is an outcome and cannot be read as one");
  } else {
    settle_group();
  }
  const bool is_alone = group.is_empty();
  group.add({std::move(call), Effect::unknown, false});
  if (is_alone) settle_group();
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
    state_->end_line(LineEnd::newline);
    bytes.remove_prefix(end + 1);
  }
}

std::vector<RecheckedCall> Rechecker::take() {
  return std::exchange(state_->report.calls, {});
}

RecheckReport Rechecker::finish() {
  if (!state_->unfinished.empty()) state_->end_line(LineEnd::file);
  state_->settle_group();
  if (state_->unsaid_notes != 0) {
    state_->report.notes.push_back("and " + std::to_string(state_->unsaid_notes) +
                                   " more lines of these kinds");
  }
  return std::move(state_->report);
}

}  // namespace aegis::policy
