// SPDX-License-Identifier: Apache-2.0 OR MIT
// See peek.h.
#include "mcp/peek.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "mcp/draft.h"
#include "mcp/json/canonical.h"
#include "mcp/json/case_fold.h"
#include "mcp/json/scan.h"

namespace aegis::mcp {
namespace {

using json::Rules;
using json::Scanner;
using json::Type;
using json::Value;

constexpr std::string_view kMethodNotFound = "-32601";
constexpr std::string_view kProgress = "notifications/progress";
constexpr std::string_view kFoldedToken = "progresstoken";

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

constexpr std::array<std::string_view, 6> kServerDeciding{
    "jsonrpc", "id", "method", "params", "result", "error"};
// Their places.
constexpr std::size_t kId = 1;
constexpr std::size_t kMethod = 2;
constexpr std::size_t kParams = 3;
constexpr std::size_t kResult = 4;
constexpr std::size_t kError = 5;

/// One message of a server's while it is read.
struct Deciders {
  std::array<bool, kServerDeciding.size()> stands{};
  std::array<bool, kServerDeciding.size()> is_null{};
  Value id;
  Value params;
  bool is_progress = false;
  bool is_clear = true;  // readers take each name for the same

  /// Who writes every member out writes null for what there is not: no error, no method. A result
  /// may be null by itself, but not beside an error (JSON-RPC 2.0, section 5).
  [[nodiscard]] bool has(std::size_t place) const { return stands[place] && !is_null[place]; }
  [[nodiscard]] bool has_result() const {
    return stands[kResult] && !(is_null[kResult] && has(kError));
  }
  [[nodiscard]] bool is_response() const { return has_result() || has(kError); }
  [[nodiscard]] bool has_one_form() const {
    return is_clear && is_response() != has(kMethod) && !(has_result() && has(kError));
  }
};

/// Which of the deciding names this is, or is to some reader; nothing when none.
std::optional<std::size_t> find_deciding(std::string_view name, Deciders& deciders) {
  // Where a string ends at a NUL the name is another.
  if (!json::is_encodable(name) || name.find('\0') != std::string_view::npos) {
    deciders.is_clear = false;
    return std::nullopt;
  }
  std::string folded;
  json::append_folded(name, folded);
  const auto* const found = std::find(kServerDeciding.begin(), kServerDeciding.end(), folded);
  if (found == kServerDeciding.end()) return std::nullopt;
  if (name != *found) deciders.is_clear = false;
  return static_cast<std::size_t>(found - kServerDeciding.begin());
}

/// Steps over the member's value. False when there is none.
bool take_server_member(Scanner& scanner, Deciders& deciders) {
  const auto place = find_deciding(name_of(scanner), deciders);
  Value value;
  if (!scanner.take(value)) return false;
  if (!place) return true;
  if (std::exchange(deciders.stands[*place], true)) deciders.is_clear = false;
  deciders.is_null[*place] = value.type == Type::null;
  if (*place == kId) deciders.id = value;
  if (*place == kParams) deciders.params = value;
  if (*place != kMethod || value.type == Type::null) return true;
  if (value.type != Type::string) {
    deciders.is_clear = false;
    return true;
  }
  std::string method;
  json::append_decoded(value.lexeme.substr(1, value.lexeme.size() - 2), method);
  deciders.is_progress = method == kProgress;
  return true;
}

/// Whether some reader may take this name for the token's: in another case, or up to a NUL.
bool may_name_token(std::string_view name) {
  if (!json::is_encodable(name) || name.find('\0') != std::string_view::npos) return true;
  std::string folded;
  json::append_folded(name, folded);
  return folded == kFoldedToken;
}

/// Of `params`, all that some reader may take for the token.
void append_tokens(std::string_view params, std::vector<Id>& tokens) {
  Scanner scanner;
  scanner.start(params, Rules::lenient);
  if (!enter(scanner)) return;
  while (scanner.next_member()) {
    const bool may_be_token = may_name_token(name_of(scanner));
    Value value;
    if (!scanner.take(value)) return;
    if (may_be_token) tokens.push_back(make_id(value));
  }
}

/// The object that stands next is one message. False when it is not clear which.
bool peek_message(Scanner& scanner, ServerPeek& peek) {
  Deciders deciders;
  if (!enter(scanner)) return false;
  while (scanner.next_member()) {
    if (!take_server_member(scanner, deciders)) return false;
  }
  if (scanner.defect() || !deciders.has_one_form()) return false;
  if (deciders.is_response())
    peek.answered.push_back(deciders.stands[kId] ? make_id(deciders.id) : Id{});
  if (deciders.is_progress) append_tokens(deciders.params.lexeme, peek.progress_tokens);
  return true;
}

}  // namespace

ServerPeek peek_server(std::string_view frame) {
  const std::string_view text = strip_line_end(frame);
  // Some readers end a line at '\r' too.
  if (text.find('\r') != std::string_view::npos) return {};
  Scanner scanner;
  ServerPeek peek;
  scanner.start(text, Rules::lenient);
  bool is_clear = true;
  if (scanner.peek() == Type::array) {
    peek.form = ServerPeek::Form::batch;
    scanner.enter_array();
    while (is_clear && scanner.next_element())
      is_clear = peek_message(scanner, peek);
  } else {
    peek.form = ServerPeek::Form::message;
    is_clear = peek_message(scanner, peek);
  }
  if (is_clear) scanner.finish();
  if (!is_clear || scanner.defect()) return {};
  return peek;
}

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
    const bool is_null = scanner.peek() == Type::null;
    has_result = has_result || (name == "result" && !is_null);
    has_method = has_method || (name == "method" && !is_null);
    if (name == "error" && !is_null) {
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
