// SPDX-License-Identifier: Apache-2.0 OR MIT
// Requests are whatever a model writes: what is taken must say the same to nlohmann/json, which
// knows nothing of the reader, and must keep every bound; what is not must be named briefly.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "mcp/broker_request.h"

namespace {

using namespace aegis::mcp;
using Tree = nlohmann::json;

/// nlohmann's number for a float that no double holds: RFC 8259 allows it, so the scanner does.
constexpr int kNumberOverflow = 406;

void promise(bool is_kept, const char* what) {
  if (is_kept) return;
  static_cast<void>(std::fprintf(stderr, "broken promise: %s\n", what));
  std::abort();
}

bool is_text(std::string_view text, std::size_t most) {
  return text.size() <= most && text.find('\0') == std::string_view::npos;
}
bool is_path(std::string_view text) {
  return !text.empty() && is_text(text, kMaxPath);
}

bool is_control(char byte) {
  return byte >= 0 && byte < 0x20;
}

/// Both read the same, or neither has it.
bool agrees(const std::optional<std::uint64_t>& number, const Tree& tree, const char* name) {
  const auto found = tree.find(name);
  if (found == tree.end() || !number) return !number && found == tree.end();
  return found->is_number_unsigned() && *found == *number;
}
bool agrees(const std::optional<std::string>& text, const Tree& tree, const char* name) {
  const auto found = tree.find(name);
  if (found == tree.end() || !text) return !text && found == tree.end();
  return *found == *text;
}
bool agrees(const std::vector<std::string>& texts, const Tree& tree, const char* name) {
  const auto found = tree.find(name);
  return found == tree.end() ? texts.empty() : *found == texts;
}

struct Check {
  const Tree& tree;

  void operator()(const ReadText& read) const {
    promise(is_path(read.path), "a path is bounded");
    promise(agrees(std::optional{read.path}, tree, "path"), "both read one path");
    promise(agrees(read.max_bytes, tree, "max_bytes"), "both read one max_bytes");
    promise(read.max_bytes.value_or(1) >= 1 && read.max_bytes.value_or(1) <= kMostReadBytes,
            "max_bytes is bounded");
  }
  void operator()(const ListDir& list) const {
    promise(is_path(list.path), "a path is bounded");
    promise(agrees(std::optional{list.path}, tree, "path"), "both read one path");
    promise(agrees(list.max_depth, tree, "max_depth"), "both read one max_depth");
    promise(list.max_depth.value_or(0) <= kMaxListDepth, "max_depth is bounded");
    promise(tree.value("include_hidden", false) == list.includes_hidden, "both read one truth");
  }
  void operator()(const RunPython& run) const {
    promise(run.code.has_value() != run.script_path.has_value(), "code or a script");
    promise(agrees(run.code, tree, "code"), "both read one code");
    promise(agrees(run.script_path, tree, "script_path"), "both read one script_path");
    promise(agrees(run.arguments, tree, "args"), "both read the same args");
    promise(run.arguments.size() <= kMaxArguments, "args are bounded");
    promise(is_text(run.code.value_or(""), kMaxRequest), "code is bounded");
    promise(!run.script_path || is_path(*run.script_path), "a script's path is bounded");
    check_timeout(run.timeout_seconds);
  }
  void operator()(const RunCommand& run) const {
    promise(!run.argv.empty() && run.argv.size() <= kMaxWords, "argv is bounded");
    promise(!run.argv.front().empty(), "argv has a program");
    promise(agrees(run.argv, tree, "argv"), "both read the same argv");
    promise(agrees(run.writable, tree, "writable"), "both read the same writable");
    promise(run.writable.size() <= kMaxWritable, "writable is bounded");
    promise(std::all_of(run.writable.begin(), run.writable.end(), is_path), "so is each of it");
    check_timeout(run.timeout_seconds);
  }
  void operator()(const ShellCommand& shell) const {
    promise(tree.size() == 1, "a shell string stands alone");
    promise(agrees(std::optional{shell.command}, tree, "command"), "both read one command");
  }

 private:
  void check_timeout(const std::optional<std::uint64_t>& seconds) const {
    promise(agrees(seconds, tree, "timeout_seconds"), "both read one timeout");
    promise(seconds.value_or(1) >= 1 && seconds.value_or(1) <= kMostTimeoutSeconds,
            "the timeout is bounded");
  }
};

std::optional<Tree> read_tree(std::string_view text) {
  try {
    return Tree::parse(text);
  } catch (const Tree::exception& error) {
    promise(error.id == kNumberOverflow, "nlohmann reads what is taken");
    return std::nullopt;
  }
}

void check_fault(const RequestFault& fault) {
  promise(!fault.message.empty() && fault.message.size() < 1024, "a fault has few words");
  promise(fault.member.size() < 512, "a fault's member is short");
  const std::string words = fault.member + fault.message;
  promise(std::none_of(words.begin(), words.end(), is_control), "a fault is one line of text");
  static_cast<void>(Tree(words).dump());  // throws at bytes that are no UTF-8
}

void check_document(std::string_view text) {
  const ParsedRequest parsed = parse_broker_request(text);
  if (const auto* fault = std::get_if<RequestFault>(&parsed)) return check_fault(*fault);
  const auto& request = std::get<BrokerRequest>(parsed);
  const std::optional<Tree> tree = read_tree(text);
  if (!tree) return;
  promise(tree->at("schema_version") == "1.0", "both read the version");
  promise(tree->at("request_id") == request.request_id, "both read the request's id");
  promise(tree->at("operation") == to_string(request.operation), "both read the operation");
  std::visit(Check{tree->at("parameters")}, request.parameters);
}

void check_arguments(Operation operation, std::string_view text) {
  const ParsedRequest parsed = parse_tool_arguments(operation, text);
  if (const auto* fault = std::get_if<RequestFault>(&parsed)) return check_fault(*fault);
  const auto& request = std::get<BrokerRequest>(parsed);
  promise(request.operation == operation && request.request_id.empty(), "a call has no request id");
  promise(!std::holds_alternative<ShellCommand>(request.parameters), "a call has no shell string");
  if (const std::optional<Tree> tree = read_tree(text))
    std::visit(Check{*tree}, request.parameters);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  check_document(text);
  for (const Operation operation : kOperations)
    check_arguments(operation, text);
  return 0;
}
