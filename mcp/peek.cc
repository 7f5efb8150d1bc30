// SPDX-License-Identifier: Apache-2.0 OR MIT
// See peek.h.
#include "mcp/peek.h"

#include <string>

#include "mcp/json/scan.h"

namespace aegis::mcp {
namespace {

using json::Rules;
using json::Scanner;
using json::Type;
using json::Value;

constexpr std::string_view kMethodNotFound = "-32601";

/// The '\n' that ends a frame and one '\r' before it are framing.
std::string_view strip_line_end(std::string_view frame) {
  if (frame.ends_with('\n')) frame.remove_suffix(1);
  if (frame.ends_with('\r')) frame.remove_suffix(1);
  return frame;
}

/// What the name of the member last come to says.
std::string name_of(const Scanner& scanner) {
  std::string name;
  json::append_decoded(scanner.name().raw, name);
  return name;
}

/// Enters the object that stands next; steps over anything else.
bool enter(Scanner& scanner) {
  if (scanner.peek() == Type::object) return scanner.enter_object();
  Value ignored;
  scanner.take(ignored);
  return false;
}

/// The bytes of the member `wanted` of the object that stands next.
std::string_view take_member(Scanner& scanner, std::string_view wanted) {
  std::string_view found;
  if (!enter(scanner)) return found;
  while (scanner.next_member()) {
    const bool is_wanted = name_of(scanner) == wanted;
    Value value;
    if (scanner.take(value) && is_wanted) found = value.lexeme;
  }
  return found;
}

void take_params(Scanner& scanner, CallDetails& details) {
  if (!enter(scanner)) return;
  while (scanner.next_member()) {
    const std::string name = name_of(scanner);
    if (name == "_meta") {
      const std::string_view token = take_member(scanner, "progressToken");
      const bool is_token = !token.empty() && (token.front() == '"' || token.front() == '-' ||
                                               (token.front() >= '0' && token.front() <= '9'));
      if (is_token) details.progress_token = token;
      continue;
    }
    Value value;
    if (scanner.take(value) && name == "arguments") details.arguments = value.lexeme;
  }
}

}  // namespace

CallDetails peek_call(std::string_view frame) {
  Scanner scanner;
  CallDetails details;
  scanner.start(strip_line_end(frame), Rules::strict);
  if (!enter(scanner)) return details;
  while (scanner.next_member()) {
    if (name_of(scanner) == "params") {
      take_params(scanner, details);
    } else {
      Value ignored;
      scanner.take(ignored);
    }
  }
  return details;
}

AnswerKind peek_answer(std::string_view frame) {
  Scanner scanner;
  bool has_result = false;
  bool has_error = false;
  bool has_method = false;
  std::string_view code;
  scanner.start(strip_line_end(frame), Rules::strict);
  if (!enter(scanner)) return AnswerKind::unclear;
  while (scanner.next_member()) {
    const std::string name = name_of(scanner);
    has_result = has_result || name == "result";
    has_method = has_method || name == "method";
    if (name == "error") {
      has_error = true;
      code = take_member(scanner, "code");
      continue;
    }
    Value ignored;
    scanner.take(ignored);
  }
  scanner.finish();
  if (scanner.defect() || has_method || has_result == has_error) return AnswerKind::unclear;
  if (has_result) return AnswerKind::result;
  return code == kMethodNotFound ? AnswerKind::method_not_found : AnswerKind::other_error;
}

}  // namespace aegis::mcp
