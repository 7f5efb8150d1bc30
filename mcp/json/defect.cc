// SPDX-License-Identifier: Apache-2.0 OR MIT
// The words for each defect. A model reads them in a refusal and an operator in a record, so they
// say what to do, and hold nothing of the frame but the place.
#include "mcp/json/scan.h"

namespace aegis::mcp::json {
namespace {

struct Words {
  std::string_view what;
  std::string_view advice;
};

Words words_for(Defect::Kind kind) {
  switch (kind) {
    case Defect::Kind::empty:
      return {"a blank line", "send one JSON-RPC message a line"};
    case Defect::Kind::syntax:
      return {"not valid JSON", "send one JSON-RPC message, by RFC 8259, on one line"};
    case Defect::Kind::trailing:
      return {"something follows the message on its line", "send one JSON-RPC message a line"};
    case Defect::Kind::not_utf8:
      return {"not valid UTF-8", "encode the message in UTF-8"};
    case Defect::Kind::byte_order_mark:
      return {"a byte-order mark before the message", "send UTF-8 without one"};
    case Defect::Kind::nul:
      return {"a NUL, where some readers end the text", "leave it out"};
    case Defect::Kind::control_character:
      return {"a raw control character, where some readers split the line",
              "write it as a \\u escape"};
    case Defect::Kind::lone_surrogate:
      return {"half of a surrogate pair", "write both halves, or the character itself in UTF-8"};
    case Defect::Kind::too_deep:
      return {"nested more than 512 levels deep", "send flatter arguments"};
    case Defect::Kind::repeated_member:
      return {"one object holds the same member twice, and readers differ on which counts",
              "send each member once"};
    case Defect::Kind::folded_member:
      return {
          "a member's name differs from another, or from one that JSON-RPC gives meaning, only in "
          "upper "
          "and lower case, and some readers take them for one",
          "spell it exactly, once"};
    case Defect::Kind::nested_batch:
      return {"an array inside a batch", "send the messages in one flat array, or one a line"};
    case Defect::Kind::not_a_message:
      return {"no JSON-RPC request, notification or response",
              "send an object with a string \"method\" (and, for a request, a string or number "
              "\"id\"), or with "
              "an \"id\" and a \"result\" or \"error\""};
    case Defect::Kind::content_length:
      return {
          "a Content-Length header as in LSP",
          "MCP over stdio has none: send each message as one line of JSON that ends in a newline"};
    case Defect::Kind::batch_too_long:
      return {"more messages in one batch than are read",
              "send them in several batches, or one a line"};
  }
  return {"not readable", "send one JSON-RPC message a line"};
}

}  // namespace

std::string describe(const Defect& defect) {
  const Words words = words_for(defect.kind);
  std::string sentence{words.what};
  sentence += " (at byte ";
  sentence += std::to_string(defect.offset);
  sentence += "); ";
  sentence += words.advice;
  return sentence;
}

}  // namespace aegis::mcp::json
