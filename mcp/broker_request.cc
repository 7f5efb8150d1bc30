// SPDX-License-Identifier: Apache-2.0 OR MIT
// The members of a request and of each operation's parameters. What is not written here is refused.
#include "mcp/broker_request.h"

#include <utility>

#include "mcp/request_fields.h"

namespace aegis::mcp {
namespace {

constexpr std::size_t kMaxRequestId = 256;  // bytes

constexpr TextRule kPath{1, kMaxPath, "a path"};
constexpr TextRule kWord{0, kMaxWord, "a word"};
constexpr TextRule kCode{0, kMaxRequest, "code"};
constexpr TextRule kShellString{1, kMaxRequest, "a command"};
constexpr TextRule kRequestId{1, kMaxRequestId, "an identifier"};
constexpr TextRule kOperation{1, kMaxRequestId, "an operation"};
constexpr NumberRule kReadBytes{1, kMostReadBytes};
constexpr NumberRule kDepth{0, kMaxListDepth};
constexpr NumberRule kTimeout{1, kMostTimeoutSeconds};
constexpr ListRule kArguments{0, kMaxArguments, kWord};
constexpr ListRule kArgv{1, kMaxWords, kWord};
constexpr ListRule kWritable{0, kMaxWritable, kPath};

constexpr std::string_view kMissing = "it is missing";

/// Whether a shell string may stand for an argv.
enum class ShellStrings : std::uint8_t { refused, judged };

using Texts = std::optional<std::vector<std::string>>;

ReadText read_read_text(Fields& fields) {
  std::optional<std::string> path;
  ReadText result;
  while (fields.next()) {
    if (fields.name() == "path") {
      fields.take_text(kPath, path);
    } else if (fields.name() == "max_bytes") {
      fields.take_number(kReadBytes, result.max_bytes);
    } else {
      fields.refuse_unknown("path, max_bytes");
    }
  }
  fields.finish();
  if (!path) fields.refuse("path", kMissing);
  result.path = std::move(path).value_or("");
  return result;
}

ListDir read_list_dir(Fields& fields) {
  std::optional<std::string> path;
  ListDir result;
  while (fields.next()) {
    if (fields.name() == "path") {
      fields.take_text(kPath, path);
    } else if (fields.name() == "max_depth") {
      fields.take_number(kDepth, result.max_depth);
    } else if (fields.name() == "include_hidden") {
      fields.take_truth(result.includes_hidden);
    } else {
      fields.refuse_unknown("path, max_depth, include_hidden");
    }
  }
  fields.finish();
  if (!path) fields.refuse("path", kMissing);
  result.path = std::move(path).value_or("");
  return result;
}

RunPython read_run_python(Fields& fields) {
  Texts arguments;
  RunPython result;
  while (fields.next()) {
    if (fields.name() == "code") {
      fields.take_text(kCode, result.code);
    } else if (fields.name() == "script_path") {
      fields.take_text(kPath, result.script_path);
    } else if (fields.name() == "args") {
      fields.take_texts(kArguments, arguments);
    } else if (fields.name() == "timeout_seconds") {
      fields.take_number(kTimeout, result.timeout_seconds);
    } else {
      fields.refuse_unknown("code, script_path, args, timeout_seconds");
    }
  }
  fields.finish();
  if (!result.code && !result.script_path) {
    fields.refuse("code", "it is missing, and so is script_path: one of the two is expected");
  }
  if (result.code && result.script_path) {
    fields.refuse("script_path", "it stands beside code: only one of the two is expected");
  }
  result.arguments = std::move(arguments).value_or(std::vector<std::string>{});
  return result;
}

/// What parameters of run_command may hold, whichever way it is asked for.
struct CommandMembers {
  Texts argv = {};
  Texts writable = {};
  std::optional<std::uint64_t> timeout_seconds = {};
  std::optional<std::string> command = {};
};

void take_command_member(Fields& fields, ShellStrings shell, CommandMembers& members) {
  if (fields.name() == "argv") {
    fields.take_texts(kArgv, members.argv);
  } else if (fields.name() == "timeout_seconds") {
    fields.take_number(kTimeout, members.timeout_seconds);
  } else if (fields.name() == "writable") {
    fields.take_texts(kWritable, members.writable);
  } else if (fields.name() != "command") {
    fields.refuse_unknown("argv, timeout_seconds, writable");
  } else if (shell == ShellStrings::judged) {
    fields.take_text(kShellString, members.command);
  } else {
    fields.refuse("command", "no shell is there to read it: give argv, a list of words");
  }
}

BrokerParameters read_run_command(Fields& fields, ShellStrings shell) {
  CommandMembers members;
  while (fields.next())
    take_command_member(fields, shell, members);
  fields.finish();
  if (members.command) {
    if (members.argv || members.writable || members.timeout_seconds) {
      fields.refuse("command", "a shell string is only judged: it is expected alone");
    }
    return ShellCommand{*std::move(members.command)};
  }
  if (!members.argv) {
    fields.refuse("argv", kMissing);
  } else if (!fields.fault() && members.argv->front().empty()) {
    fields.refuse("argv[0]", "the program's name is expected");
  }
  return RunCommand{std::move(members.argv).value_or(std::vector<std::string>{}),
                    members.timeout_seconds,
                    std::move(members.writable).value_or(std::vector<std::string>{})};
}

BrokerParameters read_parameters(Operation operation, Fields& fields, ShellStrings shell) {
  switch (operation) {
    case Operation::read_text:
      return read_read_text(fields);
    case Operation::list_dir:
      return read_list_dir(fields);
    case Operation::run_python:
      return read_run_python(fields);
    case Operation::run_command:
      return read_run_command(fields, shell);
  }
  return ReadText{};
}

/// The request's own members.
struct Envelope {
  std::optional<std::string> version = {};
  std::optional<std::string> request_id = {};
  std::optional<std::string> operation = {};
  std::optional<std::string_view> parameters = {};
};

void take_envelope_member(Fields& fields, Envelope& envelope) {
  std::optional<std::string_view> ignored;
  if (fields.name() == "schema_version") {
    fields.take_text(kRequestId, envelope.version);
    if (envelope.version != "1.0") fields.refuse("schema_version", R"("1.0" is expected)");
  } else if (fields.name() == "request_id") {
    fields.take_text(kRequestId, envelope.request_id);
  } else if (fields.name() == "operation") {
    fields.take_text(kOperation, envelope.operation);
  } else if (fields.name() == "parameters") {
    fields.take_object(envelope.parameters);
  } else if (fields.name() == "context" || fields.name() == "approval") {
    // Whoever writes a request can write an approval into it: it authorizes nothing.
    fields.take_object(ignored);
  } else {
    fields.refuse_unknown("schema_version, request_id, operation, parameters, context, approval");
  }
}

std::optional<Operation> read_envelope(Fields& fields, Envelope& envelope) {
  while (fields.next())
    take_envelope_member(fields, envelope);
  fields.finish();
  if (!envelope.version) fields.refuse("schema_version", kMissing);
  if (!envelope.request_id) fields.refuse("request_id", kMissing);
  if (!envelope.operation) fields.refuse("operation", kMissing);
  if (!envelope.parameters) fields.refuse("parameters", kMissing);
  const auto operation = parse_operation(envelope.operation.value_or(""));
  if (!operation) {
    fields.refuse("operation", "read_text, list_dir, run_python or run_command is expected");
  }
  return operation;
}

/// The scanner judges frames, which have no line breaks; a file may have them between its tokens.
/// Those inside strings stay, and are refused. No offset changes.
std::string blank_line_breaks(std::string_view document) {
  std::string text{document};
  bool is_in_string = false;
  bool is_escaped = false;
  for (char& byte : text) {
    if (is_in_string) {
      if (byte == '"' && !is_escaped) is_in_string = false;
      is_escaped = byte == '\\' && !is_escaped;
    } else if (byte == '"') {
      is_in_string = true;
    } else if (byte == '\n' || byte == '\r') {
      byte = ' ';
    }
  }
  return text;
}

RequestFault too_large() {
  return {{}, "it is over " + std::to_string(kMaxRequest) + " bytes"};
}

}  // namespace

ParsedRequest parse_broker_request(std::string_view document) {
  if (document.size() > kMaxRequest) return too_large();
  const std::string text = blank_line_breaks(document);
  Fields outer{text, ""};
  Envelope envelope;
  const auto operation = read_envelope(outer, envelope);
  if (outer.fault()) return *outer.fault();
  Fields inner{*envelope.parameters, "parameters."};
  BrokerRequest request{
      *operation, read_parameters(*operation, inner, ShellStrings::judged), *envelope.request_id};
  if (inner.fault()) return *inner.fault();
  return request;
}

ParsedRequest parse_tool_arguments(Operation operation, std::string_view arguments) {
  if (arguments.size() > kMaxRequest) return too_large();
  Fields fields{arguments.empty() ? "{}" : arguments, ""};
  BrokerRequest request{operation, read_parameters(operation, fields, ShellStrings::refused)};
  if (fields.fault()) return *fields.fault();
  return request;
}

}  // namespace aegis::mcp
