// SPDX-License-Identifier: Apache-2.0 OR MIT
// Refusals are few bytes of fixed shape, so they are written out, not built from a tree: nothing
// here can fail, and an id goes back as the bytes it came in.
#include "mcp/refusal.h"

namespace aegis::mcp {
namespace {

void append_escaped(std::string_view text, std::string& out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (character == '"' || character == '\\') {
      out += '\\';
      out += character;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kDigits[byte >> 4U];
      out += kDigits[byte & 0xFU];
    } else {
      out += character;
    }
  }
}

/// {"layer":"wrap","code":"…"}: what never varies. It never has a member `elicitations`:
/// with it the TypeScript SDK takes -32042 for a request to open a URL, and this text is lost.
void append_aegis(RefusalCode code, std::string& out) {
  out += R"({"aegis":{"layer":"wrap","code":")";
  out += to_string(code);
  out += R"("}})";
}

void append_error(const Refusal& refusal, std::string& out) {
  out += R"("error":{"code":)";
  out += std::to_string(kRefusalCode);
  out += R"(,"message":")";
  append_escaped(refusal.message, out);
  out += R"(","data":)";
  append_aegis(refusal.code, out);
  out += '}';
}

void append_result(const Refusal& refusal, std::string& out) {
  out += R"("result":{"content":[{"type":"text","text":")";
  append_escaped(refusal.message, out);
  out += R"("}],"isError":true,"resultType":"complete","_meta":)";
  append_aegis(refusal.code, out);
  out += '}';
}

void append_refusal(const Refusal& refusal, RefuseAs as, std::string& out) {
  const bool has_id = refusal.id.is_answerable();
  out += R"({"jsonrpc":"2.0","id":)";
  out += has_id ? refusal.id.lexeme : "null";
  out += ',';
  if (has_id && as == RefuseAs::result) {
    append_result(refusal, out);
  } else {
    append_error(refusal, out);
  }
  out += '}';
}

}  // namespace

std::string_view to_string(RefusalCode code) {
  switch (code) {
    case RefusalCode::policy_denied:
      return "POLICY_DENIED";
    case RefusalCode::rate_limited:
      return "RATE_LIMITED";
    case RefusalCode::pending_approval:
      return "PENDING_APPROVAL";
    case RefusalCode::malformed_call:
      return "MALFORMED_CALL";
    case RefusalCode::malformed_frame:
      return "MALFORMED_FRAME";
    case RefusalCode::batch_denied:
      return "BATCH_DENIED";
    case RefusalCode::record_unavailable:
      return "RECORD_UNAVAILABLE";
  }
  return "MALFORMED_FRAME";
}

std::string encode_refusal(const Refusal& refusal, RefuseAs as) {
  std::string frame;
  append_refusal(refusal, as, frame);
  frame += '\n';
  return frame;
}

}  // namespace aegis::mcp
