// SPDX-License-Identifier: Apache-2.0 OR MIT
// The session's part in a broker: which frames are its business, what is begun when their intents
// are on the record, and what its answers and the server's lists become.
#include <algorithm>
#include <cassert>
#include <utility>
#include <variant>

#include "mcp/peek.h"
#include "wrap/broker_outcome.h"
#include "wrap/limits.h"
#include "wrap/session.h"
#include "wrap/wording.h"

namespace aegis::wrap {
namespace {

constexpr std::string_view kBatchOfBroker = "batch holds a broker call";

/// Of one that aegis has ended with the session; nothing: it was ended by neither aegis nor client.
std::string_view ended_words(const std::optional<Ending>& ending) {
  if (!ending) return "its own process was ended from outside";
  switch (*ending) {
    case Ending::client_closed:
    case Ending::grace_ran_out:
    case Ending::client_oversize:
      return "client closed stdin; not done within the shutdown grace";
    case Ending::stopped:
      return "wrap stopped before it was done";
    case Ending::server_ended:
    case Ending::server_trapped:
    case Ending::server_oversize:
    case Ending::not_started:
    case Ending::output_exceeded:
    case Ending::disk_floor:
    case Ending::guard_lost:
      break;
  }
  return "child exited before it was done";
}

std::uint64_t seconds_of(const mcp::BrokerRequest& request, std::uint64_t unless_named) {
  if (const auto* python = std::get_if<mcp::RunPython>(&request.parameters))
    return python->timeout_seconds.value_or(unless_named);
  if (const auto* command = std::get_if<mcp::RunCommand>(&request.parameters))
    return command->timeout_seconds.value_or(unless_named);
  return unless_named;
}

bool was_cancelled(const mcp::BrokerAnswer& answer) {
  const auto* run = std::get_if<mcp::RunEnd>(&answer);
  return run != nullptr && run->status == mcp::RunEnd::Status::cancelled;
}

/// Of one that was not begun, or of which nothing more is heard.
Broker::Done cancelled(std::uint64_t ticket) {
  mcp::RunEnd end;
  end.status = mcp::RunEnd::Status::cancelled;
  Broker::Done done;
  done.ticket = ticket;
  done.answer = std::move(end);
  return done;
}

/// The record needs to know what it came to, not what was read or written.
void forget_contents(mcp::BrokerAnswer& answer) {
  if (auto* text = std::get_if<mcp::FileText>(&answer)) text->text = {};
  if (auto* listing = std::get_if<mcp::Listing>(&answer)) listing->entries = {};
  if (auto* run = std::get_if<mcp::RunEnd>(&answer)) run->out = run->err = {};
}

}  // namespace

void Session::use_broker(BrokerOffer offer) {
  assert(!broker_);
  broker_.emplace(std::move(offer));
}

const BrokerOffer::Tool* Session::find_offered(std::optional<std::string_view> tool) const {
  if (!tool) return nullptr;
  for (const BrokerOffer::Tool& each : broker_->offer.tools) {
    if (mcp::to_string(each.operation) == *tool) return &each;
  }
  return nullptr;
}

/// Without those that a call of would be refused.
std::string Session::listed_tools() const {
  std::string text;
  for (const BrokerOffer::Tool& each : broker_->offer.tools) {
    if (each.text.empty()) continue;
    if (policy_) {
      const policy::Action action = decide(mcp::to_string(each.operation)).action;
      if (action != policy::Action::allow && action != policy::Action::rate_limit) continue;
    }
    if (!text.empty()) text += ',';
    text += each.text;
  }
  return text;
}

bool Session::concerns_broker(const mcp::Message& message) const {
  if (const auto* request = std::get_if<mcp::Request>(&message)) {
    return ToolLists::wanted_by(request->method) != ToolLists::Wanted::other ||
           (request->method == mcp::kToolsCall && find_offered(request->tool) != nullptr);
  }
  const auto* notification = std::get_if<mcp::Notification>(&message);
  return notification != nullptr && notification->method == mcp::kToolsCall &&
         find_offered(notification->tool) != nullptr;
}

/// Nothing for a frame that is the server's business alone and may go there. It has no defect.
std::optional<Fate> Session::judge_for_broker(const Frame& frame) {
  const auto& messages = frame.reading.messages;
  const bool concerns = std::any_of(
      messages.begin(), messages.end(), [this](const auto& each) { return concerns_broker(each); });
  if (!concerns) return refuse_unaskable(frame);
  if (frame.reading.is_batch) return refuse_broker_batch(frame);
  const auto* request = std::get_if<mcp::Request>(&messages.front());
  if (request != nullptr && request->method != mcp::kToolsCall) return refuse_unaskable(frame);
  const auto tool =
      request != nullptr ? request->tool : std::get<mcp::Notification>(messages.front()).tool;
  return judge_operation(frame, find_offered(tool)->operation);
}

/// Its answer would be one array of the server's and ours.
Fate Session::refuse_broker_batch(const Frame& frame) {
  Judgement judgement{
      mcp::RefusalCode::batch_denied, std::string(kBatchOfBroker), batch_of_broker_message()};
  judgement.is_by_broker = true;
  judgements_.assign(frame.reading.messages.size(), judgement);
  return refuse_frame(frame);
}

/// The rules first, then whether it is a request at all. Whether it may be done is the broker's to
/// say, once it is on the record.
Fate Session::judge_operation(const Frame& frame, mcp::Operation operation) {
  const mcp::Message& message = frame.reading.messages.front();
  judgements_.assign(1, judge_call(mcp::to_string(operation), frame.now));
  if (judgements_.front().refused) return refuse_frame(frame);

  const mcp::CallDetails details = mcp::peek_call(frame.content);
  mcp::ParsedRequest parsed = mcp::parse_tool_arguments(operation, details.arguments);
  CallInFlight call = begin_call(frame, &message, judgements_.front());
  call.policy_set_hash = broker_->offer.policy_set_hash;
  note_hidden(call);
  const auto* request = std::get_if<mcp::Request>(&message);
  const mcp::Id id = request == nullptr ? mcp::Id{} : request->id;
  auto* asked = std::get_if<mcp::BrokerRequest>(&parsed);
  const bool is_id_used = broker_->lists.asked().awaits(id);
  if (asked != nullptr && !call.has_no_id && !is_id_used) {
    // What the server still answers of them would be taken for the answer of this one.
    broker_->lists.asked().forget_cancelled(id);
    awaiting_.push_back(
        {std::move(call),
         id.type,
         std::string(id.lexeme),
         false,
         ForBroker{std::move(*asked), std::string(details.progress_token), loose_id_key(id)}});
    return Fate::drop;
  }
  mcp::Refused refused{mcp::BrokerCode::schema_validation_failure, {}};
  if (call.has_no_id) {
    refused.reason = "a call without an id is not done: nobody could be answered";
  } else if (is_id_used) {
    refused.code = mcp::BrokerCode::operation_not_permitted;
    refused.reason = id_of_request_message();
    replies_ += mcp::encode_tool_response(id, refused);
  } else {
    auto& fault = std::get<mcp::RequestFault>(parsed);
    refused.reason = std::move(fault.message);
    refused.member = std::move(fault.member);
    replies_ += mcp::encode_tool_response(id, refused);
  }
  Ended ended{std::move(call)};
  ended.done.emplace().answer = std::move(refused);
  ended_.push_back(std::move(ended));
  return Fate::drop;
}

/// The first outcome of an operation says that the server's tool of its name was hidden.
void Session::note_hidden(CallInFlight& call) {
  const auto found = std::find(broker_->unsaid.begin(), broker_->unsaid.end(), call.tool);
  if (found == broker_->unsaid.end()) return;
  broker_->unsaid.erase(found);
  call.refusals.push_back(hidden_tool_sentence(call.tool));
}

void Session::begin_operation(Awaiting awaiting) {
  ForBroker& asked = *awaiting.for_broker;
  BrokerCall call{.call = std::move(awaiting.call),
                  .operation = asked.request.operation,
                  .id_type = awaiting.id_type,
                  .id_lexeme = std::move(awaiting.id_lexeme),
                  .loose_key = std::move(asked.loose_key),
                  .progress_token = std::move(asked.progress_token),
                  .total_seconds = seconds_of(asked.request, broker_->offer.max_timeout_seconds)};
  const std::uint64_t ticket = call.call.intent_seq;
  if (call.call.is_cancelled) {  // by the same read
    return end_operation(std::move(call), cancelled(ticket), 0);
  }
  broker_->tasks.push_back({ticket, std::move(asked.request)});
  broker_->calls.add(std::move(call));
}

std::vector<BrokerTask> Session::take_tasks() {
  return broker_ ? std::exchange(broker_->tasks, {}) : std::vector<BrokerTask>();
}

std::vector<std::uint64_t> Session::take_cancelled() {
  return broker_ ? std::exchange(broker_->cancelled, {}) : std::vector<std::uint64_t>();
}

void Session::end_broker(Ending ending) {
  if (broker_ && !broker_->ending) broker_->ending = ending;
}

void Session::broker_done(Broker::Done done, std::uint64_t queued_total) {
  auto call = broker_->calls.take(done.ticket);
  if (!call) return;  // closed with the session
  end_operation(std::move(*call), std::move(done), queued_total);
}

/// Nobody is answered who has cancelled (MCP, "Cancellation"), or whose call aegis has cancelled
/// because the session ends. Whoever waits for one that something else has ended is.
void Session::end_operation(BrokerCall call, Broker::Done done, std::uint64_t queued_total) {
  const bool is_ended_here = call.call.is_cancelled || broker_->ending.has_value();
  const bool is_unwanted = was_cancelled(done.answer) && is_ended_here;
  const bool is_answered = !call.call.is_cancelled && !is_unwanted && !is_client_gone_;
  if (is_ended_here) done.ended_why.clear();
  const mcp::Id id = call.id();
  Ended ended{std::move(call.call)};
  if (is_answered) {
    const std::string frame = mcp::encode_tool_response(id, done.answer);
    const std::string_view content = mcp::frame_content(frame);
    ended.response_digest = audit::FrameDigest::of(content);
    ended.response_bytes = content.size();
    replies_ += frame;
    ended.delivered_at = queued_total + replies_.size();
  }
  forget_contents(done.answer);
  ended.done = std::move(done);
  ended_.push_back(std::move(ended));
}

void Session::close_operations(Ending ending, Moment now) {
  if (!broker_) return;
  end_broker(ending);
  for (BrokerCall& left : broker_->calls.take_all()) {
    const std::uint64_t ticket = left.call.intent_seq;
    end_operation(std::move(left), cancelled(ticket), 0);
  }
  delivered(0, now);
}

void Session::append_done(const Ended& ended, audit::Outcome& line, Moment now) {
  const std::string_view why =
      ended.call.is_cancelled ? "cancelled by the client" : ended_words(broker_->ending);
  const BrokerOutcome outcome(*ended.done, why);
  outcome.put_into(line);
  chain_.outcome(line, now.wall);
}

std::optional<std::uint64_t> Session::next_progress_ns() const {
  return broker_ ? broker_->calls.next_progress_ns() : std::nullopt;
}

void Session::report_progress(Moment now) {
  if (broker_) replies_ += broker_->calls.take_progress(now.mono_ns);
}

}  // namespace aegis::wrap
