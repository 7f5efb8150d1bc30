// SPDX-License-Identifier: Apache-2.0 OR MIT
// See tool_lists.h.
#include "wrap/tool_lists.h"

#include <utility>

#include "mcp/peek.h"
#include "mcp/refusal.h"
#include "wrap/limits.h"
#include "wrap/wording.h"

namespace aegis::wrap {
namespace {

std::string refuse(const mcp::Id& id, std::string_view message) {
  return mcp::encode_refusal({id, mcp::RefusalCode::malformed_frame, message},
                             mcp::RefuseAs::error);
}

Relayed unclear(const mcp::Id& id) {
  Relayed relayed{Relayed::How::replaced};
  relayed.frame = refuse(id, unclear_list_message());
  relayed.is_unclear_list = true;
  return relayed;
}

Relayed unasked() {
  Relayed relayed{Relayed::How::to_errors};
  relayed.is_unasked = true;
  return relayed;
}

}  // namespace

ToolLists::Wanted ToolLists::wanted_by(std::string_view method) {
  if (method == mcp::kToolsList) return Wanted::tools;
  const bool tells = method == mcp::kInitialize || method == mcp::kServerDiscover;
  return tells ? Wanted::capabilities : Wanted::other;
}

/// Clients whose ids are numbers take "1" for 1 (both SDKs of the protocol's do), so both are one.
std::string ToolLists::key_of(const mcp::Id& id) {
  std::string key;
  if (id.type == mcp::Id::Type::string) {
    const std::string_view text = id.lexeme.substr(1, id.lexeme.size() - 2);
    const bool is_number =
        !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
    if (is_number) {
      mcp::append_id_key({mcp::Id::Type::number, text}, key);
      return key;
    }
  }
  mcp::append_id_key(id, key);
  return key;
}

void ToolLists::erase(Table::iterator entry) {
  key_bytes_ -= entry->first.size();
  if (entry->second.wanted == Wanted::tools) --tools_awaited_;
  by_age_.erase(entry->second.order);
  asked_.erase(entry);
}

void ToolLists::expect(const mcp::Id& id, Wanted wanted) {
  std::string key = key_of(id);
  if (key.size() > kMaxAskedBytes) return;
  while (asked_.size() >= kMaxAsked || key.size() > kMaxAskedBytes - key_bytes_)
    erase(by_age_.begin()->second);
  key_bytes_ += key.size();
  if (wanted == Wanted::tools) ++tools_awaited_;
  const std::uint64_t order = next_order_++;
  by_age_.emplace(order, asked_.emplace(std::move(key), Asked{wanted, order}));
}

std::optional<ToolLists::Wanted> ToolLists::take(const mcp::Id& id) {
  const std::string key = key_of(id);
  const auto found = asked_.lower_bound(key);  // of equal ones the oldest
  if (found == asked_.end() || found->first != key) return std::nullopt;
  const Wanted wanted = found->second.wanted;
  erase(found);
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

/// Lists are never asked for in a batch.
Relayed ToolLists::relay_batch(const std::vector<mcp::Id>& answered) {
  Relayed refused;
  bool is_asked = true;
  for (const mcp::Id& id : answered) {
    const auto wanted = take(id);
    is_asked = is_asked && wanted && *wanted != Wanted::tools;
    if (wanted == Wanted::tools) refused.frame += unclear(id).frame;
  }
  if (is_asked) return {};
  if (refused.frame.empty()) return unasked();
  refused.how = Relayed::How::replaced;
  refused.is_unclear_list = true;
  return refused;
}

Relayed ToolLists::relay(std::string_view frame, const mcp::ToolsAmendment& amendment) {
  // A blank line is nobody's answer.
  if (frame.find_first_not_of(" \t\r\n") == std::string_view::npos) return {};
  const mcp::ServerPeek peek = mcp::peek_server(frame);
  if (peek.form == mcp::ServerPeek::Form::unclear) return {Relayed::How::to_errors};
  if (peek.form == mcp::ServerPeek::Form::batch) return relay_batch(peek.answered);
  if (peek.answered.empty()) return {};
  const mcp::Id& id = peek.answered.front();
  const auto wanted = take(id);
  if (!wanted) return unasked();
  if (*wanted == Wanted::tools) return amend(frame, id, amendment);
  if (*wanted == Wanted::capabilities) {
    if (auto amended = mcp::amend_capabilities(frame))
      return {Relayed::How::replaced, std::move(amended->frame)};
  }
  return {};
}

std::optional<std::string> ToolLists::refuse_unclear(const mcp::Id& id) {
  if (!id.is_answerable() || !take(id)) return std::nullopt;
  return refuse(id, unclear_answer_message());
}

}  // namespace aegis::wrap
