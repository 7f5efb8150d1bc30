// SPDX-License-Identifier: Apache-2.0 OR MIT
// The client's frames: which pass, which are refused, and which intents they leave. The server's
// frames and the outcomes are in session_outcomes.cc.
#include "wrap/session.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "wrap/limits.h"
#include "wrap/wording.h"

namespace aegis::wrap {
namespace {

constexpr std::string_view kUnknownTool = "<unknown>";
constexpr std::string_view kNoName = "tools/call without a string params.name";

/// The part of a request or a notification that makes it a call, or not.
struct CallParts {
  mcp::Id id;
  std::optional<std::string_view> tool;
};

std::optional<CallParts> as_call(const mcp::Message& message) {
  if (const auto* request = std::get_if<mcp::Request>(&message)) {
    if (request->method == mcp::kToolsCall) return CallParts{request->id, request->tool};
  } else if (const auto* notification = std::get_if<mcp::Notification>(&message)) {
    if (notification->method == mcp::kToolsCall) return CallParts{{}, notification->tool};
  }
  return std::nullopt;
}

bool has_call(const mcp::Reading& reading) {
  return std::any_of(reading.messages.begin(),
                     reading.messages.end(),
                     [](const mcp::Message& message) { return as_call(message).has_value(); });
}

bool is_only_responses(const mcp::Reading& reading) {
  return !reading.messages.empty() &&
         std::all_of(
             reading.messages.begin(), reading.messages.end(), [](const mcp::Message& message) {
               return std::holds_alternative<mcp::Response>(message);
             });
}

std::string id_key(const mcp::Id& id) {
  std::string key;
  if (id.is_answerable()) mcp::append_id_key(id, key);
  return key;
}

}  // namespace

Session::Session(Options options, audit::Chain& chain, Randomness& randomness)
    : options_(std::move(options)),
      chain_(chain),
      randomness_(randomness),
      policy_set_hash_(audit::PolicySetHash::of(audit::kPassthroughPolicy)),
      windows_(kMaxRateWindows) {}

void Session::use_policy(policy::Policy policy) {
  policy_set_hash_ = audit::PolicySetHash::of(policy.canonical_form());
  policy_.emplace(std::move(policy));
}

Fate Session::client_frame(std::string_view frame, Moment now) {
  const mcp::Reading reading = client_reader_.read_client(frame);
  const Frame judged{mcp::frame_content(frame), reading, now};
  if (!reading.defect) {
    const Fate fate = judge_frame(judged);
    if (broker_ && fate != Fate::drop) note_asked(judged);
    return fate;
  }
  return policy_ || broker_ ? refuse_unreadable(judged) : relay_unread(judged);
}

/// Of a call that may have come with the same read, and still awaits the record.
Session::CallOf Session::cancel(const mcp::Id& id) {
  const std::string key = id_key(id);
  if (broker_) {
    if (const auto ticket = broker_->calls.cancel(key)) {
      broker_->cancelled.push_back(*ticket);
      return CallOf::broker;
    }
  }
  if (broker_) broker_->lists.asked().cancel(id);
  if (calls_.cancel(key)) return CallOf::server;
  for (Awaiting& each : awaiting_) {
    if (each.call.id_key != key || each.call.is_cancelled) continue;
    each.call.is_cancelled = true;
    return each.for_broker ? CallOf::broker : CallOf::server;
  }
  return CallOf::nobody;
}

Fate Session::judge_frame(const Frame& frame) {
  for (const mcp::Message& message : frame.reading.messages) {
    const auto* notification = std::get_if<mcp::Notification>(&message);
    if (notification == nullptr || !notification->cancelled.is_answerable()) continue;
    const CallOf whose = cancel(notification->cancelled);
    if (whose == CallOf::broker && !frame.reading.is_batch) return Fate::drop;
  }
  if (broker_) {
    if (const auto fate = judge_for_broker(frame)) return *fate;
  }
  if (!has_call(frame.reading)) return Fate::pass;
  judge_calls(frame);
  const bool is_refused =
      std::any_of(judgements_.begin(), judgements_.end(), [](const Judgement& each) {
        return each.refused.has_value();
      });
  if (is_refused) return refuse_frame(frame);
  begin_calls(frame);
  return Fate::pass_when_recorded;
}

/// Without a policy what has no one certain reading crosses, and is counted. If the likeliest
/// reading is a call it is on the record as one.
Fate Session::relay_unread(const Frame& frame) {
  if (!is_record_available_ && frame.reading.may_be_call) {
    reply(frame.reading.sole_id,
          {mcp::RefusalCode::record_unavailable, {}, record_unavailable_message()});
    return Fate::drop;
  }
  ++unread_count_;
  return judge_frame(frame);
}

Fate Session::refuse_unreadable(const Frame& frame) {
  Judgement judgement{mcp::RefusalCode::malformed_frame,
                      "malformed frame: " + mcp::json::describe(*frame.reading.defect),
                      malformed_frame_message(*frame.reading.defect)};
  // A response must not be answered (JSON-RPC 2.0 section 5), so a malformed one is only dropped.
  if (!is_only_responses(frame.reading)) reply(frame.reading.sole_id, judgement);
  if (is_record_available_) {
    CallInFlight call = begin_call(frame, nullptr, judgement);
    end_refused(std::move(call), std::move(judgement), frame.now);
  }
  return Fate::drop;
}

/// Fills judgements_, one for each message.
void Session::judge_calls(const Frame& frame) {
  judgements_.clear();
  bool is_any_refused = false;
  for (const mcp::Message& message : frame.reading.messages) {
    const auto call = as_call(message);
    judgements_.push_back(call ? judge_call(call->tool, frame.now) : Judgement{});
    is_any_refused = is_any_refused || judgements_.back().refused.has_value();
  }
  if (!is_any_refused || !frame.reading.is_batch) return;
  for (Judgement& judgement : judgements_) {
    if (judgement.refused) continue;
    judgement.refused = mcp::RefusalCode::batch_denied;
    judgement.reason = "batch holds a refused call";
    judgement.message = batch_denied_message();
  }
}

/// What is listed and what is called is decided here.
policy::Verdict Session::decide(std::string_view tool) const {
  return policy_->decide(
      {tool, options_.role ? std::optional<std::string_view>(*options_.role) : std::nullopt});
}

Session::Judgement Session::judge_call(std::optional<std::string_view> tool, Moment now) {
  using mcp::RefusalCode;
  if (!is_record_available_)
    return {RefusalCode::record_unavailable, {}, record_unavailable_message()};
  if (in_flight() >= kMaxInFlight) {
    return {RefusalCode::record_unavailable,
            "record unavailable: too many calls in flight",
            too_many_calls_message(kMaxInFlight)};
  }
  if (!policy_ && !broker_) return {};
  if (!tool) return {RefusalCode::malformed_call, std::string(kNoName), malformed_call_message()};
  if (!policy_) return {};

  const policy::Verdict verdict = decide(*tool);
  Judgement judgement;
  if (verdict.rule != nullptr) judgement.matched_rule = verdict.rule->id;
  const auto refuse = [&](RefusalCode code, std::string message) {
    judgement.refused = code;
    judgement.message = std::move(message);
    judgement.reason = verdict.rule == nullptr ? "no rule allows it" : verdict.rule->reason;
    if (judgement.reason.empty()) judgement.reason = "rule " + verdict.rule->id;
  };
  switch (verdict.action) {
    case policy::Action::allow:
      break;
    case policy::Action::deny:
      refuse(RefusalCode::policy_denied, denied_message(*tool, verdict.rule));
      break;
    case policy::Action::rate_limit:
      if (!windows_.admit(*verdict.rule, *tool, now.mono_ns)) {
        refuse(RefusalCode::rate_limited, rate_limited_message(*tool, *verdict.rule));
      }
      break;
    case policy::Action::pending_approval:
      judgement.approval_id = "apr-" + randomness_.hex128();
      refuse(RefusalCode::pending_approval,
             pending_message(*tool, *verdict.rule, judgement.approval_id));
      break;
  }
  return judgement;
}

/// Appends the intent. `message` is null for a frame that cannot be read.
CallInFlight Session::begin_call(const Frame& frame,
                                 const mcp::Message* message,
                                 const Judgement& judgement) {
  const auto parts = message == nullptr ? std::nullopt : as_call(*message);
  CallInFlight call;
  call.tool = parts && parts->tool ? *parts->tool : kUnknownTool;
  if (parts) call.id_key = id_key(parts->id);
  call.has_no_id = parts && call.id_key.empty();
  call.request_digest = audit::FrameDigest::of(frame.content);
  call.policy_set_hash = policy_set_hash_;
  call.matched_rule = judgement.matched_rule;
  call.started_ns = frame.now.mono_ns;
  call.intent_seq =
      chain_.intent({call.tool, call.request_digest, frame.content.size()}, frame.now.wall);
  ++call_count_;
  return call;
}

/// All calls of the frame may run, once their intents are on the record.
void Session::begin_calls(const Frame& frame) {
  for (std::size_t i = 0; i < frame.reading.messages.size(); ++i) {
    const mcp::Message& message = frame.reading.messages[i];
    const auto parts = as_call(message);
    if (!parts) continue;
    awaiting_.push_back({begin_call(frame, &message, judgements_[i]),
                         parts->id.type,
                         std::string(parts->id.lexeme),
                         frame.reading.is_batch});
  }
  if (!frame.reading.is_batch) return;
  for (std::size_t i = 0; i < judgements_.size(); ++i) {
    const bool is_call = as_call(frame.reading.messages[i]).has_value();
    judgements_[i].refused =
        is_call ? mcp::RefusalCode::record_unavailable : mcp::RefusalCode::batch_denied;
    judgements_[i].message = is_call ? record_unavailable_message() : batch_denied_message();
  }
  unrecorded_batches_ += encode_batch_reply(frame);
}

Fate Session::refuse_frame(const Frame& frame) {
  if (frame.reading.is_batch) replies_ += encode_batch_reply(frame);
  for (std::size_t i = 0; i < frame.reading.messages.size(); ++i) {
    const mcp::Message& message = frame.reading.messages[i];
    const auto parts = as_call(message);
    if (!parts) continue;
    if (!frame.reading.is_batch && parts->id.is_answerable()) reply(parts->id, judgements_[i]);
    if (!is_record_available_) continue;
    CallInFlight call = begin_call(frame, &message, judgements_[i]);
    end_refused(std::move(call), std::move(judgements_[i]), frame.now);
  }
  return Fate::drop;
}

/// A JSON-RPC error, or for a call that can be answered so, a tool result.
void Session::reply(const mcp::Id& id, const Judgement& judgement) {
  const bool is_call = judgement.refused != mcp::RefusalCode::malformed_frame;
  replies_ += mcp::encode_refusal({id, *judgement.refused, judgement.message},
                                  is_call ? options_.refuse_as : mcp::RefuseAs::error);
}

/// One array that answers each request of a batch; what is no call is answered by an error whatever
/// --refuse-as says.
std::string Session::encode_batch_reply(const Frame& frame) const {
  std::string array;
  for (std::size_t i = 0; i < frame.reading.messages.size(); ++i) {
    const auto* request = std::get_if<mcp::Request>(&frame.reading.messages[i]);
    if (request == nullptr || !request->id.is_answerable()) continue;
    const bool is_call = request->method == mcp::kToolsCall;
    std::string each =
        mcp::encode_refusal({request->id, *judgements_[i].refused, judgements_[i].message},
                            is_call ? options_.refuse_as : mcp::RefuseAs::error);
    each.pop_back();  // its '\n'
    array += (array.empty() ? "[" : ",") + each;
  }
  return array.empty() ? array : array + "]\n";
}

void Session::recorded() {
  for (Awaiting& each : awaiting_) {
    if (each.for_broker) {
      begin_operation(std::move(each));
    } else if (each.call.has_no_id) {
      ended_.push_back(
          {std::move(each.call), {}, How::host_denied, std::string(kNoAnswerPossible)});
    } else {
      calls_.add(std::move(each.call));
    }
  }
  awaiting_.clear();
  unrecorded_batches_.clear();
}

void Session::unrecorded(Moment now) {
  for (Awaiting& each : awaiting_) {
    Judgement judgement{
        mcp::RefusalCode::record_unavailable, "record unavailable", record_unavailable_message()};
    const mcp::Id id{each.id_type, each.id_lexeme};
    if (!each.is_in_batch && id.is_answerable()) reply(id, judgement);
    if (broker_ && !each.for_broker) broker_->lists.asked().take(id);
    end_refused(std::move(each.call), std::move(judgement), now);
  }
  awaiting_.clear();
  replies_ += std::exchange(unrecorded_batches_, {});
}

}  // namespace aegis::wrap
