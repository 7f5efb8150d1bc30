// SPDX-License-Identifier: Apache-2.0 OR MIT
// See tool_lists.h.
#include "wrap/tool_lists.h"

#include <optional>
#include <utility>

#include "mcp/refusal.h"
#include "wrap/wording.h"

namespace aegis::wrap {
namespace {

using Wanted = AskedTable::Wanted;

/// Answers `id` with an error.
void refuse(Relayed& relayed, const mcp::Id& id, std::string_view message) {
  relayed.how = Relayed::How::replaced;
  relayed.frame +=
      mcp::encode_refusal({id, mcp::RefusalCode::malformed_frame, message}, mcp::RefuseAs::error);
  mcp::append_id_key(id, relayed.refused.emplace_back());
}

}  // namespace

ToolLists::Wanted ToolLists::wanted_by(std::string_view method) {
  if (method == mcp::kToolsList) return Wanted::tools;
  const bool tells = method == mcp::kInitialize || method == mcp::kServerDiscover;
  return tells ? Wanted::capabilities : Wanted::other;
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
  Relayed relayed;
  relayed.left_out = LeftOut::unclear_list;
  refuse(relayed, id, unclear_list_message());
  return relayed;
}

/// A batch passes when each of its answers would: by itself and beside the others. Lists are never
/// asked for in one.
Relayed ToolLists::relay_batch(const std::vector<mcp::Id>& answered) {
  struct Taken {
    mcp::Id id;
    Wanted wanted;
  };
  std::vector<Taken> taken;
  bool may_pass = true;
  for (const mcp::Id& id : answered) {
    const auto wanted = asked_.take(id);
    may_pass = may_pass && wanted && *wanted != Wanted::tools;
    if (wanted) taken.push_back({id, *wanted});
  }
  if (may_pass) return {};
  Relayed relayed{Relayed::How::nothing};
  relayed.left_out = taken.empty() ? LeftOut::unasked : LeftOut::batch;
  for (const auto& [id, wanted] : taken) {
    const bool is_list = wanted == Wanted::tools;
    if (is_list) relayed.left_out = LeftOut::unclear_list;
    refuse(relayed, id, is_list ? unclear_list_message() : refused_batch_message());
  }
  return relayed;
}

Relayed ToolLists::relay(std::string_view frame,
                         const mcp::ServerPeek& peek,
                         const mcp::ToolsAmendment& amendment) {
  if (peek.form == mcp::ServerPeek::Form::batch) return relay_batch(peek.answered);
  if (peek.answered.empty()) return {};
  const mcp::Id& id = peek.answered.front();
  const auto wanted = asked_.take(id);
  if (!wanted) return leave_out({}, LeftOut::unasked);
  if (*wanted == Wanted::tools) return amend(frame, id, amendment);
  if (*wanted == Wanted::capabilities) {
    if (auto amended = mcp::amend_capabilities(frame))
      return {Relayed::How::replaced, std::move(amended->frame)};
  }
  return {};
}

Relayed ToolLists::leave_out(const std::vector<mcp::Id>& answered, LeftOut why) {
  Relayed relayed{Relayed::How::nothing};
  relayed.left_out = why;
  const std::string message =
      why == LeftOut::unclear ? unclear_answer_message() : refused_batch_message();
  for (const mcp::Id& id : answered) {
    if (id.is_answerable() && asked_.take(id)) refuse(relayed, id, message);
  }
  return relayed;
}

}  // namespace aegis::wrap
