// SPDX-License-Identifier: Apache-2.0 OR MIT
// A small honest MCP server on stdio for `make demo` and for trying aegis by hand: it keeps notes
// in memory. Speaks every revision from 2024-11-05 to 2025-11-25 after `initialize`, and
// 2026-07-28, which needs none. It knows nothing of aegis, writes no file, and keeps nothing when
// it ends.

#include <algorithm>
#include <array>
#include <cstddef>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace {

using Json = nlohmann::ordered_json;  // members stay as written: people read them

constexpr std::string_view kStateless = "2026-07-28";
constexpr std::string_view kBatching = "2025-03-26";  // the only revision with batches
constexpr std::array<std::string_view, 4> kWithHandshake = {
    "2025-11-25", "2025-06-18", kBatching, "2024-11-05"};
constexpr auto kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr auto kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr auto kServerInfoKey = "io.modelcontextprotocol/serverInfo";

// JSON-RPC 2.0, and one of MCP's own.
constexpr int kParseError = -32700;
constexpr int kInvalidRequest = -32600;
constexpr int kMethodNotFound = -32601;
constexpr int kInvalidParams = -32602;
constexpr int kUnsupportedVersion = -32022;

struct Failure {
  int code;
  std::string message;
  Json data = nullptr;
};
/// What a method gives back: a failure, or the `result` member.
struct Answer {
  std::optional<Failure> failure;
  Json result = Json::object();
};
Answer fail(int code, std::string message) {
  return {.failure = Failure{.code = code, .message = std::move(message)}};
}

Json server_info() {
  return {{"name", "notes"}, {"version", "1.0.0"}};
}

// --- The tools ------------------------------------------------------------------------------

Answer say(const std::string& text) {
  Answer answer;
  answer.result["content"] = Json::array({{{"type", "text"}, {"text", text}}});
  return answer;
}
/// A tool that failed says so in its result, where the model sees it.
Answer complain(const std::string& text) {
  Answer answer = say(text);
  answer.result["isError"] = true;
  return answer;
}

class Notes {
 public:
  Answer add(const Json& arguments) {
    const auto text = arguments.find("text");
    if (text == arguments.end() || !text->is_string()) {
      return complain("add_note needs a string named text");
    }
    notes_.push_back(text->get<std::string>());
    return say("Noted. There are " + std::to_string(notes_.size()) + " notes.");
  }
  Answer read() const {
    std::string text;
    for (const std::string& note : notes_)
      text += "- " + note + "\n";
    return say(notes_.empty() ? "There are no notes." : text);
  }
  Answer remove_all() {
    const std::size_t count = notes_.size();
    notes_.clear();
    return say("Deleted " + std::to_string(count) + " notes.");
  }

 private:
  std::vector<std::string> notes_;
};

Json list_tools() {
  const Json nothing = {{"type", "object"}, {"properties", Json::object()}};
  const Json text = {
      {"type", "object"}, {"properties", {{"text", {{"type", "string"}}}}}, {"required", {"text"}}};
  return {{{"name", "add_note"}, {"description", "Keep one note"}, {"inputSchema", text}},
          {{"name", "read_notes"},
           {"description", "Read all notes"},
           {"inputSchema", nothing},
           {"annotations", {{"readOnlyHint", true}}}},
          {{"name", "delete_notes"},
           {"description", "Delete all notes for good"},
           {"inputSchema", nothing},
           {"annotations", {{"destructiveHint", true}}}}};
}

Answer call_tool(Notes& notes, const Json& params) {
  const auto name = params.find("name");
  if (name == params.end() || !name->is_string()) {
    return fail(kInvalidParams, "tools/call needs a string named name");
  }
  const Json arguments = params.value("arguments", Json::object());
  if (!arguments.is_object()) return fail(kInvalidParams, "arguments must be an object");
  if (*name == "add_note") return notes.add(arguments);
  if (*name == "read_notes") return notes.read();
  if (*name == "delete_notes") return notes.remove_all();
  return fail(kInvalidParams, "Unknown tool: " + name->get<std::string>());
}

// --- The protocol ---------------------------------------------------------------------------

class Server {
 public:
  /// One line from the client to what is answered; empty: nothing is.
  std::string answer_line(const std::string& line) {
    const Json message = Json::parse(line, nullptr, false);
    Json answer;
    if (message.is_discarded()) {
      answer = envelope(nullptr, fail(kParseError, "Parse error"));
    } else if (message.is_array() && negotiated_ == kBatching && !message.empty()) {
      answer = answer_batch(message);
    } else {
      answer = answer_message(message);
    }
    return answer.is_null() ? "" : answer.dump() + "\n";
  }

 private:
  static Json envelope(const Json& id, const Answer& answer) {
    Json out = {{"jsonrpc", "2.0"}, {"id", id}};
    if (answer.failure) {
      out["error"] = {{"code", answer.failure->code}, {"message", answer.failure->message}};
      if (!answer.failure->data.is_null()) out["error"]["data"] = answer.failure->data;
    } else {
      out["result"] = answer.result;
    }
    return out;
  }

  Json answer_batch(const Json& batch) {
    Json answers = Json::array();
    for (const Json& message : batch) {
      Json answer = answer_message(message);
      if (!answer.is_null()) answers.push_back(std::move(answer));
    }
    return answers.empty() ? Json() : answers;
  }

  /// Null: a notification, or an answer to a request that this server never makes.
  Json answer_message(const Json& message) {
    const Answer invalid = fail(kInvalidRequest, "Invalid Request");
    if (!message.is_object()) return envelope(nullptr, invalid);
    const Json id = message.value("id", Json());
    const Json method = message.value("method", Json());
    if (!method.is_string()) {
      const bool is_response = message.contains("result") || message.contains("error");
      return is_response ? Json() : envelope(nullptr, invalid);
    }
    if (!message.contains("id")) return {};  // a notification: all of them may be ignored here
    if (!id.is_string() && !id.is_number_integer()) return envelope(nullptr, invalid);
    const Json params = message.value("params", Json::object());
    if (!params.is_object()) return envelope(id, fail(kInvalidParams, "params must be an object"));
    return envelope(id, dispatch(method.get<std::string>(), params));
  }

  Answer dispatch(const std::string& method, const Json& params) {
    const Json meta = params.value("_meta", Json::object());
    if (meta.is_object() && meta.contains(kVersionKey)) return stateless(method, params, meta);
    if (method == "initialize") return initialize(params);
    if (method == "ping") return {};
    if (method != "tools/list" && method != "tools/call") {
      return fail(kMethodNotFound, "Method not found");
    }
    if (negotiated_.empty()) {
      return fail(kInvalidRequest,
                  "No protocol version: send initialize first, or name one in _meta");
    }
    return tools(method, params);
  }

  /// 2026-07-28: each request says its version, each result what kind it is.
  Answer stateless(const std::string& method, const Json& params, const Json& meta) {
    if (meta[kVersionKey] != kStateless) {
      Answer answer = fail(kUnsupportedVersion, "Unsupported protocol version");
      answer.failure->data = {{"supported", {kStateless}}, {"requested", meta[kVersionKey]}};
      return answer;
    }
    if (!meta.value(kCapabilitiesKey, Json()).is_object()) {
      return fail(kInvalidParams, std::string("_meta lacks the object ") + kCapabilitiesKey);
    }
    Answer answer;
    if (method == "server/discover") {
      answer.result = {{"supportedVersions", {kStateless}},
                       {"capabilities", {{"tools", Json::object()}}}};
    } else if (method == "tools/list" || method == "tools/call") {
      answer = tools(method, params);
    } else {
      return fail(kMethodNotFound, "Method not found");
    }
    answer.result["resultType"] = "complete";
    answer.result["_meta"][kServerInfoKey] = server_info();
    if (method != "tools/call") {  // how long, and for whom, a client may keep it
      answer.result["ttlMs"] = 0;
      answer.result["cacheScope"] = "private";
    }
    return answer;
  }

  /// The client's version when it is one of ours, else our latest: the client decides whether to go
  /// on.
  Answer initialize(const Json& params) {
    const Json wanted = params.value("protocolVersion", Json());
    if (!wanted.is_string()) return fail(kInvalidParams, "initialize needs protocolVersion");
    const auto* const found = std::find(kWithHandshake.begin(), kWithHandshake.end(), wanted);
    negotiated_ = found == kWithHandshake.end() ? kWithHandshake.front() : *found;
    return {.failure = {},
            .result = {{"protocolVersion", negotiated_},
                       {"capabilities", {{"tools", Json::object()}}},
                       {"serverInfo", server_info()}}};
  }

  Answer tools(const std::string& method, const Json& params) {
    if (method == "tools/call") return call_tool(notes_, params);
    return {.failure = {}, .result = {{"tools", list_tools()}}};
  }

  Notes notes_;
  std::string_view negotiated_;
};

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  Server server;
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << server.answer_line(line) << std::flush;
  }
}
