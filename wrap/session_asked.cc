// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a session with a broker in it lets a server be asked, and what it relays of what the server
// says: nothing that could be taken for an answer of the broker's, or for its progress.
#include <algorithm>
#include <utility>
#include <variant>

#include "mcp/peek.h"
#include "wrap/limits.h"
#include "wrap/session.h"
#include "wrap/wording.h"

namespace aegis::wrap {
namespace {

/// On the record of the broker's calls that it may have been meant for; there is room for it.
constexpr std::string_view kUnaskedAnswer =
    "an answer of the server's to what it was not asked, not relayed";
constexpr std::string_view kForeignProgress =
    "progress that the server told of a call of the broker's, not relayed";
/// On the record of the server's calls.
constexpr std::string_view kUnclearAnswer =
    "the server's answer was not relayed: it does not read the same for every parser";
constexpr std::string_view kBatchedAnswer =
    "the server's answer was not relayed: its batch held what could be taken for the broker's";
constexpr std::string_view kTooMany = "record unavailable: too many requests in flight";
constexpr std::string_view kIdOfOperation = "id of a broker call in flight";

/// By the likeliest reading.
std::vector<mcp::Id> answered_in(const mcp::Reading& reading) {
  std::vector<mcp::Id> answered;
  for (const mcp::Message& message : reading.messages) {
    if (const auto* response = std::get_if<mcp::Response>(&message))
      answered.push_back(response->id);
  }
  return answered;
}

bool is_blank(std::string_view frame) {
  return frame.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

}  // namespace

bool Session::is_id_of_operation(const mcp::Id& id) const {
  if (broker_->calls.size() == 0 && awaiting_.empty()) return false;
  const std::string key = loose_id_key(id);
  const auto is_it = [&](const Awaiting& each) {
    return each.for_broker && !each.call.is_cancelled && each.for_broker->loose_key == key;
  };
  return broker_->calls.has_id(key) || std::any_of(awaiting_.begin(), awaiting_.end(), is_it);
}

/// The client would take the server's answer for the broker's, or wait for one that nobody knows to
/// be asked for. Nothing for a frame that may go on.
std::optional<Fate> Session::refuse_unaskable(const Frame& frame) {
  AskedTable::Load load;
  for (const mcp::Message& message : frame.reading.messages) {
    const auto* request = std::get_if<mcp::Request>(&message);
    if (request == nullptr) continue;
    if (is_id_of_operation(request->id)) {
      Judgement judgement{
          mcp::RefusalCode::malformed_call, std::string(kIdOfOperation), id_of_operation_message()};
      judgement.is_by_broker = true;
      return refuse_requests(frame, judgement);
    }
    load.add(request->id);
  }
  if (load.count == 0 || broker_->lists.asked().make_room(load)) return std::nullopt;
  return refuse_requests(frame,
                         {mcp::RefusalCode::record_unavailable,
                          std::string(kTooMany),
                          too_many_requests_message(kMaxAsked)});
}

/// What is no call is answered by an error whatever --refuse-as says, and is not on the record.
Fate Session::refuse_requests(const Frame& frame, const Judgement& judgement) {
  const auto* request = std::get_if<mcp::Request>(&frame.reading.messages.front());
  const bool is_call = request != nullptr && request->method == mcp::kToolsCall;
  if (!frame.reading.is_batch && !is_call) {
    replies_ += mcp::encode_refusal({request->id, *judgement.refused, judgement.message},
                                    mcp::RefuseAs::error);
    return Fate::drop;
  }
  judgements_.assign(frame.reading.messages.size(), judgement);
  return refuse_frame(frame);
}

/// The server is about to see the frame: from now on it may answer what it holds.
void Session::note_asked(const Frame& frame) {
  for (const mcp::Message& message : frame.reading.messages) {
    if (const auto* request = std::get_if<mcp::Request>(&message))
      broker_->lists.asked().add(request->id, ToolLists::wanted_by(request->method));
  }
}

bool Session::tells_of_operation(const mcp::ServerPeek& peek) const {
  return std::any_of(peek.progress_tokens.begin(),
                     peek.progress_tokens.end(),
                     [this](const mcp::Id& token) { return broker_->calls.has_token(token); });
}

Relayed Session::relay_beside(std::string_view frame, const mcp::Reading& reading) {
  if (is_blank(frame)) return {};  // nobody's answer
  const mcp::ServerPeek peek = mcp::peek_server(frame);
  ToolLists& lists = broker_->lists;
  if (peek.form == mcp::ServerPeek::Form::unclear)
    return lists.leave_out(answered_in(reading), LeftOut::unclear);
  if (tells_of_operation(peek)) return lists.leave_out(peek.answered, LeftOut::progress);
  std::vector<std::string_view> hidden;
  for (const BrokerOffer::Tool& each : broker_->offer.tools)
    hidden.push_back(mcp::to_string(each.operation));
  const std::string added = lists.asked().awaits_tools() ? listed_tools() : std::string();
  return lists.relay(frame, peek, {hidden, added});
}

void Session::relay_amended(const FromServer& from,
                            const mcp::Reading& reading,
                            ServerFrame& seen) {
  seen.relayed = relay_beside(from.frame, reading);
  seen.is_work = seen.relayed.how == Relayed::How::replaced;
  end_left_out(seen.relayed);
  for (std::string& name : seen.relayed.hidden) {
    auto& known = broker_->hidden;
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    seen.notes.push_back(hidden_tool_sentence(name));
    broker_->unsaid.push_back(name);
    known.push_back(std::move(name));
  }
}

/// What the record says of it: of the broker's calls that there was such a frame, of the server's
/// that their answers were not relayed.
void Session::end_left_out(const Relayed& relayed) {
  const LeftOut why = relayed.left_out;
  if (why == LeftOut::unasked || why == LeftOut::batch) broker_->calls.note_refusal(kUnaskedAnswer);
  if (why == LeftOut::progress) broker_->calls.note_refusal(kForeignProgress);
  const bool is_unclear = why == LeftOut::unclear || why == LeftOut::unclear_list;
  for (const std::string& key : relayed.refused) {
    auto call = calls_.take(key);
    if (!call) continue;
    ended_.push_back({std::move(*call),
                      {},
                      How::host_denied,
                      std::string(is_unclear ? kUnclearAnswer : kBatchedAnswer)});
  }
}

}  // namespace aegis::wrap
