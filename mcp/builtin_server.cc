// SPDX-License-Identifier: Apache-2.0 OR MIT
// It remembers nothing between frames: a request says by itself which revision it is of. One whose
// params._meta names a revision is of 2026-07-28 or later, one without is older.
#include "mcp/builtin_server.h"

#include <algorithm>
#include <array>
#include <optional>

#include "mcp/amend.h"
#include "mcp/builtin_params.h"
#include "mcp/json/canonical.h"
#include "mcp/json/printable.h"
#include "mcp/json/scan.h"

namespace aegis::mcp {
namespace {

using json::Defect;
using json::Rules;
using json::Scanner;
using json::Type;
using json::Value;

/// What initialize negotiates, the newest last: modelcontextprotocol.io/specification/<revision>.
constexpr std::array<std::string_view, 4> kNegotiated{
    "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};
/// The revision without initialize, where each request says its own.
constexpr std::string_view kStateless = "2026-07-28";

/// JSON-RPC 2.0, section 5.1; the last is MCP's, of 2026-07-28.
enum class ErrorCode : int {
  parse_error = -32700,
  invalid_request = -32600,
  method_not_found = -32601,
  invalid_params = -32602,
  unsupported_version = -32022,
};

constexpr std::string_view kInstructions =
    "The tools work on one workspace; paths are relative to it. Programs run in a sandbox without "
    "network, on a read-only copy of the workspace. A refusal says why, and what to do instead.";

bool is_string(const std::optional<Value>& value) {
  return value && value->type == Type::string;
}
bool is_object(const std::optional<Value>& value) {
  return value && value->type == Type::object;
}

std::string begin_answer(const Id& id) {
  std::string frame = R"({"jsonrpc":"2.0","id":)";
  frame += id.is_answerable() ? id.lexeme : "null";
  return frame;
}

std::string encode_error(const Id& id,
                         ErrorCode code,
                         std::string_view message,
                         std::string_view data = {}) {
  std::string frame = begin_answer(id) + R"(,"error":{"code":)";
  frame += std::to_string(static_cast<int>(code));
  frame += R"(,"message":)";
  json::append_string(message, frame);
  if (!data.empty()) frame += R"(,"data":)" + std::string{data};
  return frame + "}}\n";
}

/// One request, and what it is answered from.
struct Asked {
  const Request& request;
  const Params& params;
  std::string_view version;  // this program's
};

std::string encode_server_info(std::string_view version) {
  std::string info = R"({"name":"aegis","title":"aegis","version":)";
  json::append_string(version, info);
  return info + '}';
}

std::string answer_initialize(const Asked& asked) {
  if (!is_string(asked.params.asked_version)) {
    return encode_error(asked.request.id,
                        ErrorCode::invalid_params,
                        "Invalid params: protocolVersion, a string, is missing");
  }
  const std::string version = decode(asked.params.asked_version->text());
  const bool is_known =
      std::find(kNegotiated.begin(), kNegotiated.end(), version) != kNegotiated.end();
  std::string frame = begin_answer(asked.request.id) + R"(,"result":{"protocolVersion":)";
  json::append_string(is_known ? std::string_view{version} : kNegotiated.back(), frame);
  frame += R"(,"capabilities":{"tools":{}},"serverInfo":)" + encode_server_info(asked.version);
  frame += R"(,"instructions":)";
  json::append_string(kInstructions, frame);
  return frame + "}}\n";
}

std::string answer_ping(const Asked& asked) {
  return begin_answer(asked.request.id) + ",\"result\":{}}\n";
}

std::string answer_discover(const Asked& asked) {
  std::string frame = begin_answer(asked.request.id) + R"(,"result":{"supportedVersions":[)";
  json::append_string(kStateless, frame);
  frame += R"(],"capabilities":{"tools":{}},"instructions":)";
  json::append_string(kInstructions, frame);
  frame += R"(,"resultType":"complete","ttlMs":0,"cacheScope":"private",)";
  frame += R"("_meta":{"io.modelcontextprotocol/serverInfo":)" + encode_server_info(asked.version);
  return frame + "}}}\n";
}

std::string answer_list(const Asked& asked) {
  if (!asked.params.cursor) return encode_tools_list(asked.request.id, {});
  return encode_error(asked.request.id,
                      ErrorCode::invalid_params,
                      "Invalid params: this cursor is none that was given out; leave it out");
}

std::string answer_call(const Asked& asked) {
  const Id& id = asked.request.id;
  if (!asked.request.tool) {
    return encode_error(
        id, ErrorCode::invalid_params, "Invalid params: name, a string, is missing");
  }
  if (asked.params.arguments && !is_object(asked.params.arguments)) {
    return encode_error(
        id, ErrorCode::invalid_params, "Invalid params: arguments is not an object");
  }
  constexpr std::size_t kShown = 128;  // bytes of the name
  std::string shown;
  for (std::string_view rest = *asked.request.tool; !rest.empty() && shown.size() < kShown;)
    rest.remove_prefix(json::append_printable_front(rest, json::Backslash::keep, shown));
  return encode_error(id, ErrorCode::invalid_params, "Unknown tool: " + shown);
}

enum class Era : std::uint8_t { negotiated, stateless, both };
struct Method {
  std::string_view name;
  Era era;
  std::string (*answer)(const Asked&);
};
/// 2026-07-28 has neither initialize nor ping.
constexpr std::array<Method, 5> kMethods{{
    {kInitialize, Era::negotiated, answer_initialize},
    {"ping", Era::negotiated, answer_ping},
    {kServerDiscover, Era::stateless, answer_discover},
    {kToolsList, Era::both, answer_list},
    {kToolsCall, Era::both, answer_call},
}};

/// What is wrong with the envelope that a request of 2026-07-28 carries in params._meta.
std::optional<std::string> refuse_envelope(const Asked& asked) {
  const Params& params = asked.params;
  if (!is_string(params.version)) {
    return encode_error(asked.request.id,
                        ErrorCode::invalid_params,
                        "Invalid params: _meta needs " + std::string{kVersionKey} + ", a string");
  }
  if (decode(params.version->text()) != kStateless) {
    std::string data = R"({"supported":[)";
    json::append_string(kStateless, data);
    data += R"(],"requested":)" + std::string{params.version->lexeme} + '}';
    return encode_error(
        asked.request.id, ErrorCode::unsupported_version, "Unsupported protocol version", data);
  }
  if (is_object(params.capabilities)) return std::nullopt;
  return encode_error(
      asked.request.id,
      ErrorCode::invalid_params,
      "Invalid params: _meta needs " + std::string{kCapabilitiesKey} + ", an object");
}

std::string answer_request(const Asked& asked) {
  const Params& params = asked.params;
  const Id& id = asked.request.id;
  const auto method = std::find_if(kMethods.begin(), kMethods.end(), [&asked](const Method& each) {
    return each.name == asked.request.method;
  });
  const bool is_stateless = params.version.has_value();
  const bool is_known =
      method != kMethods.end() && (method->era != Era::negotiated || !is_stateless);
  if (!is_known) return encode_error(id, ErrorCode::method_not_found, "Method not found");
  if (params.type && params.type != Type::object) {
    return encode_error(id, ErrorCode::invalid_params, "Invalid params: an object is expected");
  }
  if (params.meta && !is_object(params.meta)) {
    return encode_error(id, ErrorCode::invalid_params, "Invalid params: _meta is not an object");
  }
  if (is_stateless || method->era == Era::stateless) {
    if (auto refusal = refuse_envelope(asked)) return *std::move(refusal);
  }
  return method->answer(asked);
}

/// Whether the text was JSON, and only no message.
bool is_json(Defect::Kind kind) {
  switch (kind) {
    case Defect::Kind::repeated_member:
    case Defect::Kind::folded_member:
    case Defect::Kind::nested_batch:
    case Defect::Kind::not_a_message:
    case Defect::Kind::batch_too_long:
      return true;
    case Defect::Kind::empty:
    case Defect::Kind::syntax:
    case Defect::Kind::trailing:
    case Defect::Kind::not_utf8:
    case Defect::Kind::byte_order_mark:
    case Defect::Kind::nul:
    case Defect::Kind::control_character:
    case Defect::Kind::lone_surrogate:
    case Defect::Kind::too_deep:
    case Defect::Kind::content_length:
      break;
  }
  return false;
}

std::string answer_defect(const Id& id, const Defect& defect) {
  if (is_json(defect.kind)) {
    return encode_error(id, ErrorCode::invalid_request, "Invalid Request: " + describe(defect));
  }
  return encode_error(id, ErrorCode::parse_error, "Parse error: " + describe(defect));
}

/// Its elements, when the text is a batch and nothing but JSON is asked of it.
std::optional<std::vector<std::string_view>> read_batch(std::string_view text) {
  Scanner scanner;
  scanner.start(text, Rules::strict);
  if (scanner.peek() != Type::array) return std::nullopt;
  std::vector<std::string_view> elements;
  scanner.enter_array();
  Value value;
  while (elements.size() <= kMaxBatch && scanner.next_element() && scanner.take(value))
    elements.push_back(value.lexeme);
  if (elements.empty() || elements.size() > kMaxBatch || !scanner.finish()) return std::nullopt;
  return elements;
}

std::string_view strip_line_end(std::string_view frame) {
  if (frame.ends_with('\n')) frame.remove_suffix(1);
  if (frame.ends_with('\r')) frame.remove_suffix(1);
  return frame;
}

}  // namespace

std::string BuiltinServer::answer(std::string_view frame) {
  const std::string_view text = strip_line_end(frame);
  const auto batch = read_batch(text);
  if (!batch) return answer_one(text, Place::alone);
  std::string answers;
  for (const std::string_view element : *batch) {
    std::string answer = answer_one(element, Place::in_batch);
    if (answer.empty()) continue;
    answer.pop_back();
    answers += (answers.empty() ? "[" : ",") + answer;
  }
  return answers.empty() ? answers : answers + "]\n";
}

std::string BuiltinServer::answer_one(std::string_view text, Place place) {
  const Reading reading = reader_.read_client(text);
  if (reading.defect && reading.defect->kind == Defect::Kind::empty) return {};
  if (reading.defect) return answer_defect(reading.sole_id, *reading.defect);
  if (reading.is_batch) {
    return encode_error({}, ErrorCode::invalid_request, "Invalid Request: a batch in a batch");
  }
  const Request* const request = std::get_if<Request>(&reading.messages.front());
  if (request == nullptr) return {};  // notifications and responses are not answered
  if (place == Place::in_batch && request->method == kInitialize) {
    return encode_error(request->id, ErrorCode::invalid_request, "Invalid Request: not in a batch");
  }
  const Params params = read_params(text);
  return answer_request({*request, params, version_});
}

}  // namespace aegis::mcp
