// SPDX-License-Identifier: Apache-2.0 OR MIT
// A broker request: what is asked for, whole and well-typed, or which member is not. The same
// parameters come two ways: inside the request document of `aegis run|check`, and as the arguments
// of a tools/call. Whether it may be done is policy/broker_judge.h's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "mcp/operation.h"

namespace aegis::mcp {

/// What one request may hold.
inline constexpr std::size_t kMaxRequest = std::size_t{1} << 20U;  // bytes of the document
inline constexpr std::size_t kMaxPath = 4096;                      // bytes
inline constexpr std::size_t kMaxArguments = 100;                  // of run_python
inline constexpr std::size_t kMaxWords = 1024;                     // of run_command's argv
/// Bytes of one word on a program's command line: execve(2), MAX_ARG_STRLEN, its NUL counted.
inline constexpr std::size_t kMaxWord = (std::size_t{128} << 10U) - 1;
inline constexpr std::size_t kMaxWritable = 64;  // paths
inline constexpr std::uint64_t kMaxListDepth = 20;
// What no policy can exceed.
inline constexpr std::uint64_t kMostReadBytes = 50ULL << 20U;
inline constexpr std::uint64_t kMostTimeoutSeconds = 300;
inline constexpr std::uint64_t kMostOutputBytes = 10ULL << 20U;
inline constexpr std::uint64_t kMostMemoryMb = 4096;

struct ReadText {
  std::string path;
  std::optional<std::uint64_t> max_bytes = {};
};
struct ListDir {
  std::string path;
  std::optional<std::uint64_t> max_depth = {};  // 0: the folder's own entries
  bool includes_hidden = false;
};
struct RunPython {  // exactly one of code and script_path
  std::optional<std::string> code = {};
  std::optional<std::string> script_path = {};
  std::vector<std::string> arguments = {};
  std::optional<std::uint64_t> timeout_seconds = {};
};
struct RunCommand {
  std::vector<std::string> argv;  // at least one word
  std::optional<std::uint64_t> timeout_seconds = {};
  std::vector<std::string> writable = {};
};
/// A shell string: only to be judged, never to be run (parameters.command).
struct ShellCommand {
  std::string command;
};
using BrokerParameters = std::variant<ReadText, ListDir, RunPython, RunCommand, ShellCommand>;

struct BrokerRequest {
  Operation operation = Operation::read_text;
  BrokerParameters parameters;
  std::string request_id = {};  // empty when it came as a tools/call
};

/// What is wrong, where: "parameters.max_bytes", "a whole number from 1 to 52428800 is expected".
/// `member` is empty when it is the whole text. Neither repeats a value of the text.
struct RequestFault {
  std::string member;
  std::string message;
};
using ParsedRequest = std::variant<BrokerRequest, RequestFault>;

/// `document` is a whole file, of any bytes: strict JSON (mcp/json/scan.h), no unknown and no
/// repeated member, no `command` beside `argv`. An `approval` is read and authorizes nothing.
ParsedRequest parse_broker_request(std::string_view document);

/// `arguments` is the bytes of params.arguments, one JSON value, or empty when there was none. A
/// fault's member then begins with the parameter's own name. Never gives a ShellCommand.
ParsedRequest parse_tool_arguments(Operation operation, std::string_view arguments);

}  // namespace aegis::mcp
