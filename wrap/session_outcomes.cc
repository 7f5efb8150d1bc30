// SPDX-License-Identifier: Apache-2.0 OR MIT
// The other half of a call: the server's frames, what they answer, and the outcomes on the record.
#include <cassert>
#include <variant>

#include "wrap/session.h"

namespace aegis::wrap {
namespace {

constexpr std::string_view kProgress = "notifications/progress";
constexpr std::uint64_t kNanosecondsPerMillisecond = 1'000'000;

struct EndingWords {
  std::string_view call;   // what a call in flight is closed with
  std::string_view close;  // the `close` Line's reason
};

EndingWords words_of(Ending ending) {
  switch (ending) {
    case Ending::client_closed:
      return {"client closed stdin; child did not answer within the shutdown grace",
              "client closed stdin"};
    case Ending::grace_ran_out:
      return {"client closed stdin; child did not answer within the shutdown grace",
              "shutdown grace ran out"};
    case Ending::server_ended:
      return {"child exited before responding", "child exited"};
    case Ending::server_trapped:
      return {"SIGSYS: the child was killed by its system call filter",
              "child killed by its system call filter"};
    case Ending::client_oversize:
      return {"client closed stdin; child did not answer within the shutdown grace",
              "client frame over --max-frame"};
    case Ending::server_oversize:
      return {"server frame over --max-frame", "server frame over --max-frame"};
    case Ending::not_started:
      return {"child exited before responding", "child could not be started"};
    case Ending::stopped:
      return {"wrap stopped before the child responded", "wrap stopped by a signal"};
    case Ending::output_exceeded:
      return {"output", "child wrote more than --max-output"};
    case Ending::disk_floor:
      return {"disk", "the workspace's file system is nearly full"};
    case Ending::guard_lost:
      return {"child ended: its workspace's configuration files could not be guarded",
              "guard of configuration files lost"};
  }
  return {};
}

audit::PolicyStatus policy_status(const std::optional<mcp::RefusalCode>& refused,
                                  std::string_view reason,
                                  std::string_view approval_id) {
  if (!refused) return audit::Allowed{};
  switch (*refused) {
    case mcp::RefusalCode::rate_limited:
      return audit::RateLimited{reason};
    case mcp::RefusalCode::pending_approval:
      return audit::PendingApproval{approval_id};
    case mcp::RefusalCode::policy_denied:
    case mcp::RefusalCode::malformed_call:
    case mcp::RefusalCode::malformed_frame:
    case mcp::RefusalCode::batch_denied:
    case mcp::RefusalCode::record_unavailable:
      break;
  }
  return audit::Denied{reason};
}

/// `refused` is the judgement's, who asked no rule when `is_by_broker`.
struct Refusal {
  const std::optional<mcp::RefusalCode>& refused;
  std::string_view reason;
  bool is_by_broker;
};

audit::CapabilityStatus capability_status(const Refusal& refusal, const audit::Grant* grant) {
  const auto& [refused, reason, is_by_broker] = refusal;
  if (!refused && grant != nullptr) return audit::Granted{grant};
  if (!refused) return audit::GrantedEmpty{};
  if (is_by_broker) return audit::CapabilityDenied{reason};
  switch (*refused) {
    case mcp::RefusalCode::malformed_call:
    case mcp::RefusalCode::malformed_frame:
    case mcp::RefusalCode::record_unavailable:
      return audit::CapabilityDenied{reason};
    case mcp::RefusalCode::policy_denied:
    case mcp::RefusalCode::rate_limited:
    case mcp::RefusalCode::pending_approval:
    case mcp::RefusalCode::batch_denied:
      break;
  }
  return audit::CapabilityDenied{"policy blocked before capability"};
}

}  // namespace

Session::ServerFrame Session::server_frame(const FromServer& from, JudgeJson judge, Moment now) {
  ServerFrame seen;
  // Nothing to close, to amend or to judge: then nobody needs to know what the frame says.
  if (calls_.empty() && may_forward_first() && judge == JudgeJson::no) return seen;
  const mcp::Reading reading = server_reader_.read_server(from.frame);
  seen.is_json = !reading.defect || reading.defect->kind == mcp::json::Defect::Kind::not_a_message;
  if (!may_forward_first()) {
    relay_amended(from, reading, seen);
    if (seen.relayed.how != Relayed::How::as_it_is) return seen;
  }
  for (const mcp::Message& message : reading.messages) {
    const auto* notification = std::get_if<mcp::Notification>(&message);
    const bool is_progress = notification != nullptr && notification->method == kProgress;
    // A response is work whatever it answers.
    if (is_progress || std::holds_alternative<mcp::Response>(message)) seen.is_work = true;
  }
  end_answered(from, reading, now);
  return seen;
}

void Session::end_answered(const FromServer& from, const mcp::Reading& reading, Moment now) {
  const std::string_view content = mcp::frame_content(from.frame);
  std::optional<audit::FrameDigest> digest = from.digest;
  std::string key;
  for (const mcp::Message& message : reading.messages) {
    const auto* response = std::get_if<mcp::Response>(&message);
    if (response == nullptr || !response->id.is_answerable()) continue;
    key.clear();
    mcp::append_id_key(response->id, key);
    auto call = calls_.take(key);
    if (!call) continue;
    if (!digest) digest = audit::FrameDigest::of(content);
    ended_.push_back({std::move(*call),
                      {},
                      How::success,
                      {},
                      from.delivered_at,
                      digest,
                      content.size(),
                      now.mono_ns});
  }
}

void Session::delivered(std::uint64_t written_total, Moment now) {
  while (!ended_.empty()) {
    Ended& ended = ended_.front();
    if (ended.delivered_at > written_total) {
      if (!is_client_gone_) return;
      ended.response_digest.reset();  // it was not relayed
    }
    append_outcome(ended, now);
    ended_.pop_front();
  }
}

void Session::end_refused(CallInFlight call, Judgement judgement, Moment now) {
  const std::string_view reason = call.has_no_id ? kNoAnswerPossible : kNotExecuted;
  ended_.push_back({std::move(call),
                    std::move(judgement),
                    How::host_denied,
                    std::string(reason),
                    0,
                    {},
                    0,
                    now.mono_ns});
}

void Session::note_refusal(std::string_view sentence) {
  calls_.note_refusal(sentence);
}

void Session::append_outcome(const Ended& ended, Moment now) {
  const CallInFlight& call = ended.call;
  const Judgement& judgement = ended.judgement;
  audit::Outcome line{
      call.intent_seq,
      call.tool,
      call.request_digest,
      call.policy_set_hash,
      policy_status(judgement.refused, judgement.reason, judgement.approval_id),
      capability_status({judgement.refused, judgement.reason, judgement.is_by_broker},
                        options_.grant),
      audit::Success{},
      {},
      ended.response_digest,
      {},
      {}};
  if (ended.how == How::host_denied) line.execution = audit::HostDenied{ended.reason};
  if (ended.how == How::resource_exceeded) line.execution = audit::ResourceExceeded{ended.reason};
  if (ended.how == How::trap) line.execution = audit::Trap{ended.reason};
  if (options_.role) line.axes.role = *options_.role;
  if (call.matched_rule) line.axes.matched_rule = *call.matched_rule;
  if (!judgement.approval_id.empty()) line.axes.approval_ref = judgement.approval_id;
  line.refusals = call.refusals;
  if (ended.response_digest) line.response_bytes = ended.response_bytes;
  if (ended.how == How::success)
    line.wall_ms = (ended.ended_ns - call.started_ns) / kNanosecondsPerMillisecond;
  if (ended.done) return append_done(ended, line, now);
  chain_.outcome(line, now.wall);
}

Session::How Session::how_of(Ending ending) {
  if (ending == Ending::server_trapped) return How::trap;
  const bool is_bound = ending == Ending::output_exceeded || ending == Ending::disk_floor;
  return is_bound ? How::resource_exceeded : How::host_denied;
}

void Session::close_calls(Ending ending, Moment now) {
  const std::string_view reason = words_of(ending).call;
  const How how = how_of(ending);
  for (auto& [seq, call] : calls_.take_all()) {
    Ended ended{std::move(call), {}, how, std::string(reason)};
    if (ended.call.is_cancelled) {
      ended.how = How::host_denied;
      ended.reason = "cancelled by the client";
    }
    append_outcome(ended, now);
  }
}

void Session::seal(const Seal& seal, Moment now) {
  if (is_sealed_) return;
  assert(awaiting_.empty());
  is_client_gone_ = true;
  delivered(0, now);
  close_calls(seal.calls, now);
  close_operations(seal.calls, now);
  chain_.close({words_of(seal.session).close, call_count_, unread_count_}, now.wall);
  is_sealed_ = true;
}

}  // namespace aegis::wrap
