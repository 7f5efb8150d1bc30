// SPDX-License-Identifier: Apache-2.0 OR MIT
// What an operation came to, and how it is told: as a tool result in a JSON-RPC frame, and as the
// one JSON object of `aegis run|check`. It does nothing and judges nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "mcp/message.h"
#include "mcp/operation.h"

namespace aegis::mcp {

/// Not begun, or nothing of it may be told.
struct Refused {
  BrokerCode code;
  std::string reason;       // a sentence for people and models; what to do instead
  std::string member = {};  // of a schema failure
};
struct FileText {
  std::string path;  // as asked for
  std::string text;  // valid UTF-8
  bool is_truncated = false;
};
struct ListedEntry {
  enum class Type : std::uint8_t { file, folder, link, other };
  std::string path;  // relative to the listed folder
  Type type = Type::file;
  std::uint64_t size = 0;  // bytes, of a file
};
struct Listing {
  std::string path;
  std::vector<ListedEntry> entries;
  bool is_truncated = false;
  std::uint64_t left_out = 0;  // sensitive names and names that are no UTF-8
};
struct RunEnd {
  enum class Status : std::uint8_t { completed, timeout, output_limit, cancelled };
  Status status = Status::completed;
  std::optional<int> exit_code = {};  // nothing when a signal ended it
  std::optional<int> signal = {};
  std::string out;  // any bytes
  std::string err;
  std::uint64_t duration_ms = 0;
  bool is_truncated = false;
  std::uint64_t snapshot_left_out = 0;  // files of the workspace that the snapshot has no room for
  /// Of its processes, ended by the system since together they wanted more than the memory bound.
  std::uint64_t memory_kills = 0;
};
using BrokerAnswer = std::variant<Refused, FileText, Listing, RunEnd>;

/// A refusal, or a run that was stopped: the tool result's isError. A program's own exit code is no
/// error.
bool is_error(const BrokerAnswer& answer);
/// {"status":…,…}: one JSON object without a newline, by the tool's outputSchema. `status` is
/// "completed", "timeout", "output_limit", "cancelled" or "refused"; of a refusal, and of a bound
/// that ended a run, the code's word goes with it as `code`. Bytes that are no UTF-8 become U+FFFD,
/// and the object says so: "lossy":true.
std::string encode_structured(const BrokerAnswer& answer);
/// The same object, indented, without a newline at its end, for people.
std::string encode_readable(const BrokerAnswer& answer);

/// A whole frame with its '\n': the tool result with `content`, `structuredContent`, `isError` and
/// resultType "complete". `id` is answerable.
std::string encode_tool_response(const Id& id, const BrokerAnswer& answer);

struct Progress {
  std::string_view token;  // the value's bytes as the client sent it
  std::uint64_t done;      // seconds
  std::uint64_t total;     // seconds
};
/// A frame with its '\n'.
std::string encode_progress(const Progress& progress);

}  // namespace aegis::mcp
