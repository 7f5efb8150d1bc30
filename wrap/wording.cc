// SPDX-License-Identifier: Apache-2.0 OR MIT
// See wording.h. Written for a model to act on: a fact, then what to do.
#include "wrap/wording.h"

namespace aegis::wrap {
namespace {

/// A tool's name in quotes, cut so that a message stays a message. The name is valid UTF-8 (a frame
/// that is not was refused before), so the cut falls between code points.
std::string quoted(std::string_view name) {
  constexpr std::size_t kMost = 128;
  std::size_t size = name.size();
  if (size > kMost) {
    size = kMost;
    while (size > 0 && (static_cast<unsigned char>(name[size]) & 0xC0U) == 0x80U)
      --size;
  }
  std::string text = "\"";
  text += name.substr(0, size);
  text += size < name.size() ? "…\"" : "\"";
  return text;
}

std::string because(const policy::Rule& rule) {
  return rule.reason.empty() ? "." : ": " + rule.reason + ".";
}

std::string count(std::uint64_t n, std::string_view one) {
  std::string text = std::to_string(n) + " ";
  text += one;
  if (n != 1) text += "s";
  return text;
}

}  // namespace

std::string denied_message(std::string_view tool, const policy::Rule* rule) {
  std::string text = "aegis did not run " + quoted(tool) + ": ";
  text += rule == nullptr ? "no rule of this server's policy allows it."
                          : "the policy's rule " + quoted(rule->id) + " denies it" + because(*rule);
  return text + " Do not try it again; use another tool, or ask the user to change the policy.";
}

std::string rate_limited_message(std::string_view tool, const policy::Rule& rule) {
  const policy::Rate rate = rule.rate.value_or(policy::Rate{1, 1});
  return "aegis did not run " + quoted(tool) + ": the policy's rule " + quoted(rule.id) +
         " allows " + count(rate.max, "call") + " in " + count(rate.per_seconds, "second") +
         ", and they are used up" + because(rule) + " Wait up to " +
         count(rate.per_seconds, "second") + " before trying again.";
}

std::string pending_message(std::string_view tool,
                            const policy::Rule& rule,
                            std::string_view approval_id) {
  std::string text = "aegis did not run " + quoted(tool) + ": the policy's rule " +
                     quoted(rule.id) + " asks for an approval first (";
  text += approval_id;
  text += ")" + because(rule);
  return text +
         " This version of aegis has no way to approve it: do not try it again; use another tool, "
         "or ask the user to "
         "change the policy.";
}

std::string malformed_call_message() {
  return "aegis did not forward this tools/call: its params have no string \"name\", so no rule "
         "can judge it. Send "
         "the tool's name as a string.";
}

std::string malformed_frame_message(const mcp::json::Defect& defect) {
  return "aegis did not forward this message: " + mcp::json::describe(defect) +
         ". A message must read the same for every parser: send one JSON-RPC object on one line, "
         "in "
         "UTF-8, with each member once.";
}

std::string batch_denied_message() {
  return "aegis did not forward this batch, because a call in it was refused. Send what was not "
         "refused again, on "
         "its own.";
}

std::string batch_of_broker_message() {
  return "aegis did not forward this batch: a request in it that concerns aegis's own tools must "
         "be "
         "sent by itself. Send its requests one by one.";
}

std::string unclear_list_message() {
  return "aegis did not relay the server's answer to tools/list: it is no list of tools that reads "
         "the same for every parser, so aegis's own tools cannot be put into it. The server's "
         "tools "
         "can be called all the same.";
}

std::string unclear_answer_message() {
  return "aegis did not relay the server's answer: it does not read the same for every parser, and "
         "beside aegis's own tools only what does is relayed. The server may have done what was "
         "asked.";
}

std::string refused_batch_message() {
  return "aegis did not relay the server's answer: it came in a batch with a message that could be "
         "taken for one of aegis's own. The server may have done what was asked.";
}

std::string hidden_tool_sentence(std::string_view tool) {
  return "the server's own tool " + quoted(tool) +
         " is hidden: calls of that name are the broker's";
}

std::string record_unavailable_message() {
  return "aegis did not run this call: it could not write it to its record first. Do not try it "
         "again before the "
         "user has looked at aegis's messages on stderr (a full disk is the usual cause).";
}

std::string too_many_calls_message(std::size_t limit) {
  return "aegis did not run this call: " + std::to_string(limit) +
         " calls wait for this server's answers already. Wait for some of them first.";
}

std::string too_many_requests_message(std::size_t limit) {
  return "aegis did not forward this request: " + std::to_string(limit) +
         " requests, or very long ids, wait for this server's answers already. Wait for some of "
         "them first.";
}

std::string id_of_operation_message() {
  return "aegis did not forward this request: a call of one of aegis's own tools has the same id "
         "and is not answered yet. Give each request an id of its own.";
}

std::string id_of_request_message() {
  return "a request with the same id was forwarded to the server and is not answered yet; give "
         "each request an id of its own";
}

}  // namespace aegis::wrap
