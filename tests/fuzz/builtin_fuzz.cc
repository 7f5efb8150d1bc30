// SPDX-License-Identifier: Apache-2.0 OR MIT
// The built-in server answers any line with nothing or with one line of JSON-RPC, and forgets it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "mcp/builtin_server.h"

namespace {

using namespace aegis::mcp;
using Tree = nlohmann::json;

/// nlohmann's number for a float that no double holds: RFC 8259 allows it, so an id may be one.
constexpr int kNumberOverflow = 406;

void promise(bool is_kept, const char* what) {
  if (is_kept) return;
  static_cast<void>(std::fprintf(stderr, "broken promise: %s\n", what));
  std::abort();
}

void check_message(const Tree& message) {
  promise(message.is_object() && message.size() == 3, "an answer has three members");
  promise(message.at("jsonrpc") == "2.0", "it is JSON-RPC 2.0");
  const Tree& id = message.at("id");
  const bool is_error = message.contains("error");
  promise(id.is_number() || id.is_string() || (id.is_null() && is_error), "it names its request");
  if (!is_error) return promise(message.at("result").is_object(), "a result is an object");
  const Tree& error = message.at("error");
  promise(error.at("code").is_number_integer(), "an error has a code");
  promise(error.at("message").is_string(), "an error has a message");
}

void check_answer(std::string_view answer) {
  if (answer.empty()) return;
  promise(answer.find('\n') == answer.size() - 1, "an answer is one line");
  try {
    const Tree tree = Tree::parse(answer);
    if (!tree.is_array()) return check_message(tree);
    promise(!tree.empty(), "no batch is empty");
    for (const Tree& message : tree)
      check_message(message);
  } catch (const Tree::exception& error) {
    promise(error.id == kNumberOverflow, "an answer is JSON");
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static BuiltinServer server{"1"};  // what one frame leaves behind must not show in the next
  const std::string_view frame{reinterpret_cast<const char*>(data), size};
  const std::string answer = server.answer(frame);
  check_answer(answer);
  promise(BuiltinServer{"1"}.answer(frame) == answer, "a server has no memory");
  return 0;
}
