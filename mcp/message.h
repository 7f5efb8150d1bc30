// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a frame says in JSON-RPC 2.0: requests, notifications, responses, alone or in a batch, in
// every MCP revision. Reading decides nothing and changes nothing: views point into the frame or
// into the reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "mcp/json/scan.h"

namespace aegis::mcp {

/// A JSON-RPC id as written. 1 and "1" are two ids; digits are never rounded.
struct Id {
  enum class Type : std::uint8_t { absent, number, string, null, other };
  Type type = Type::absent;
  std::string_view lexeme = {};  // the value's bytes in the frame, a string's quotes included

  /// Only these can be answered.
  [[nodiscard]] bool is_answerable() const { return type == Type::number || type == Type::string; }
};

/// One text for all spellings of one id: type, then the decoded string or the number as significant
/// digits and a power of ten ("1.0", "1e0" and "1" are one number; "\u0041" and "A" one string).
/// Appends to `out`, whatever the exponent no more than the lexeme's size and a few bytes.
void append_id_key(const Id& id, std::string& out);

/// `method` is decoded. `tool` is `params.name`, decoded, when it is a string.
struct Request {
  Id id;
  std::string_view method;
  std::optional<std::string_view> tool;
};
struct Notification {
  std::string_view method;
  std::optional<std::string_view> tool;  // a tools/call without an id is a call too
  Id cancelled;                          // `params.requestId` of notifications/cancelled
};
struct Response {
  Id id;
};
struct Malformed {
  json::Defect defect;
};
using Message = std::variant<Request, Notification, Response, Malformed>;

inline constexpr std::string_view kToolsCall = "tools/call";

/// Messages of one batch that are read. A client's longer batch has a defect; of a server's the
/// rest is skipped. Without a limit one frame of `{},{},…` would take many times its size in
/// memory.
inline constexpr std::size_t kMaxBatch = 65'536;

/// What one frame holds. Valid until the reader's next read.
struct Reading {
  /// Set when the frame has not exactly one certain reading. `messages` is then the best guess:
  /// what a lenient reader might take from it (last of repeated members), empty when the frame does
  /// not tokenise.
  std::optional<json::Defect> defect;
  bool is_batch = false;
  std::span<const Message> messages;
  /// What a refusal of the whole frame may name: the id of a frame that tokenises and has exactly
  /// one top-level `id`, a string or a number; absent otherwise (the answer then says null).
  Id sole_id;
  /// Some reader, however lenient, may take this frame for a tools/call. Never false for a frame
  /// without a defect that holds one.
  bool may_be_call = false;
};

/// Reads frames, one at a time, re-using its memory. Not copyable: readings point into it (a move
/// keeps them).
class MessageReader {
 public:
  MessageReader();
  ~MessageReader();
  MessageReader(const MessageReader&) = delete;
  MessageReader& operator=(const MessageReader&) = delete;
  MessageReader(MessageReader&&) noexcept;
  MessageReader& operator=(MessageReader&&) noexcept;

  /// A frame from the client, by the strictest rules: what two readers could take differently is a
  /// defect. `frame` may end in '\n' or "\r\n". Beyond json::Rules::strict, these are defects: what
  /// is no message, a batch in a batch, names that decide in another case, and an escaped NUL in
  /// such a name, in `method` or in the tool's name.
  Reading read_client(std::string_view frame);

  /// A frame from the server: only as much as is needed to know what it answers. Skips what is
  /// nested, does not judge UTF-8, names or doubles (the last of repeated members counts). A defect
  /// means that it is no JSON; JSON that is no message is Malformed among the messages. `tool`,
  /// `cancelled`, `sole_id` and `may_be_call` are not looked for.
  Reading read_server(std::string_view frame);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace aegis::mcp
