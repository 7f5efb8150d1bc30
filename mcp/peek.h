// SPDX-License-Identifier: Apache-2.0 OR MIT
// A second look into a frame whose kind is known already, for the few that need one: what a call of
// the broker's asks for, and what an answer to a list is. Views point into the frame.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "mcp/message.h"

namespace aegis::mcp {

struct CallDetails {
  std::string_view arguments = {};       // of params, all bytes of the value; empty: there are none
  std::string_view progress_token = {};  // of params._meta, a string or a number; empty: none
};
/// `frame` is one tools/call, not a batch, that read_client found no defect in.
CallDetails peek_call(std::string_view frame);

enum class AnswerKind : std::uint8_t {
  result,
  method_not_found,  // error -32601 (JSON-RPC 2.0, section 5.1)
  other_error,
  unclear,  // not one response that every reader takes for the same
};
AnswerKind peek_answer(std::string_view frame);

/// A server's frame, as far as every reader, also one that compares names without their case, must
/// take it for the same: members that decide stand once and are written as they are meant. What
/// the other members hold is not judged.
struct ServerPeek {
  enum class Form : std::uint8_t { message, batch, unclear };
  Form form = Form::unclear;
  std::vector<Id> answered = {};  // of each response, whatever its type; none for other messages
  /// Of each notifications/progress, whatever some reader may take for its progressToken.
  std::vector<Id> progress_tokens = {};
};
ServerPeek peek_server(std::string_view frame);

}  // namespace aegis::mcp
