// SPDX-License-Identifier: Apache-2.0 OR MIT
// See tool_lists.h.
#include "wrap/tool_lists.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "mcp/peek.h"
#include "mcp/refusal.h"
#include "wrap/limits.h"
#include "wrap/wording.h"

namespace aegis::wrap {
namespace {

Relayed unclear(const mcp::Id& id) {
  Relayed relayed{Relayed::How::replaced};
  relayed.frame = mcp::encode_refusal(
      {id, mcp::RefusalCode::malformed_frame, unclear_list_message()}, mcp::RefuseAs::error);
  relayed.is_unclear_list = true;
  return relayed;
}

/// A blank line is nobody's answer.
bool is_certain(std::string_view frame, const mcp::Reading& reading) {
  if (frame.find_first_not_of(" \t\r\n") == std::string_view::npos) return true;
  return !reading.defect &&
         std::none_of(
             reading.messages.begin(), reading.messages.end(), [](const mcp::Message& each) {
               return std::holds_alternative<mcp::Malformed>(each);
             });
}

}  // namespace

std::optional<ToolLists::Wanted> ToolLists::wanted_by(std::string_view method) {
  if (method == mcp::kToolsList) return Wanted::tools;
  if (method == mcp::kInitialize || method == mcp::kServerDiscover) return Wanted::capabilities;
  return std::nullopt;
}

bool ToolLists::expect(const mcp::Id& id, Wanted wanted) {
  std::string key;
  mcp::append_id_key(id, key);
  if (awaited_.size() >= kMaxAwaitedLists || key.size() > kMaxAwaitedBytes - key_bytes_)
    return false;
  key_bytes_ += key.size();
  if (wanted == Wanted::tools) ++tools_awaited_;
  awaited_.emplace(std::move(key), wanted);
  return true;
}

std::optional<ToolLists::Wanted> ToolLists::take(const mcp::Id& id) {
  std::string key;
  mcp::append_id_key(id, key);
  const auto found = awaited_.find(key);
  if (found == awaited_.end()) return std::nullopt;
  const Wanted wanted = found->second;
  key_bytes_ -= key.size();
  if (wanted == Wanted::tools) --tools_awaited_;
  awaited_.erase(found);
  return wanted;
}

Relayed ToolLists::amend(std::string_view frame,
                         const mcp::Id& id,
                         const mcp::ToolsAmendment& amendment) {
  switch (mcp::peek_answer(frame)) {
    case mcp::AnswerKind::other_error:
      return {};
    case mcp::AnswerKind::method_not_found: {
      Relayed relayed{Relayed::How::replaced};
      relayed.frame = mcp::encode_tools_list(id, amendment.added);
      return relayed;
    }
    case mcp::AnswerKind::result:
      if (auto amended = mcp::amend_tools_list(frame, amendment)) {
        Relayed relayed{Relayed::How::replaced};
        relayed.frame = std::move(amended->frame);
        relayed.hidden = std::move(amended->hidden);
        return relayed;
      }
      break;
    case mcp::AnswerKind::unclear:
      break;
  }
  return unclear(id);
}

Relayed ToolLists::relay(std::string_view frame,
                         const mcp::Reading& reading,
                         const mcp::ToolsAmendment& amendment) {
  if (tools_awaited_ > 0 && !is_certain(frame, reading)) return {Relayed::How::to_errors};
  Relayed relayed;
  for (const mcp::Message& message : reading.messages) {
    const auto* response = std::get_if<mcp::Response>(&message);
    if (response == nullptr || !response->id.is_answerable()) continue;
    const auto wanted = take(response->id);
    if (!wanted) continue;
    if (*wanted == Wanted::tools && reading.is_batch) {
      Relayed refused = unclear(response->id);
      refused.frame.insert(0, relayed.frame);
      relayed = std::move(refused);
    } else if (*wanted == Wanted::tools) {
      relayed = amend(frame, response->id, amendment);
    } else if (auto amended = mcp::amend_capabilities(frame); amended && !reading.is_batch) {
      relayed = {Relayed::How::replaced, std::move(amended->frame)};
    }
  }
  return relayed;
}

}  // namespace aegis::wrap
