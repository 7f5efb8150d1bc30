// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "policy/yaml.h"

#include <array>
#include <utility>

#include "policy/text.h"

namespace aegis::policy {
namespace {

std::string_view view(const char* words) {
  return words == nullptr ? std::string_view() : words;
}

struct Hint {
  std::string_view context;  // empty: any
  std::string_view problem;  // empty: any
  bool is_at_context;        // the context's place is the one to look at
  std::string_view message;
};
// What libyaml 0.2.5 says (its scanner.c) where that does not say what to do.
constexpr std::array<Hint, 5> kHints = {
    {{"while scanning an alias",
      "",
      true,
      "a '*' without quotes begins a YAML alias; write \"*\" in quotes for \"matches anything\""},
     {"while scanning an anchor",
      "",
      true,
      "a '&' without quotes begins a YAML anchor; put the text in quotes"},
     {"",
      "mapping values are not allowed in this context",
      false,
      "a ':' stands where no member can begin; check the indentation, and put a text that holds ': "
      "' in quotes"},
     {"",
      "found unknown escape character",
      false,
      "this escape in a double-quoted text is none of YAML's; write the character itself"},
     {"",
      "found invalid Unicode character escape code",
      false,
      "this escape in a double-quoted text names no character; write the character itself"}}};

}  // namespace

char MarkCursor::at(const yaml_mark_t& mark) {
  for (; index_ < mark.index && !rest_.empty(); ++index_) {
    const CodePoint point = decode_front(rest_);
    rest_.remove_prefix(point.size == 0 ? 1 : point.size);
  }
  return rest_.empty() ? '\0' : rest_.front();
}

Diagnostic error_at(const yaml_mark_t& mark, std::string message) {
  return {Diagnostic::Severity::error, mark.line + 1, mark.column + 1, "", std::move(message)};
}

Diagnostic explain_failure(const YamlParser& parser, std::string_view text) {
  if (parser.is_out_of_memory()) {
    return {Diagnostic::Severity::error, 0, 0, "", "there is not enough memory to read the text"};
  }
  const yaml_parser_t& failed = parser.failed();
  const std::string_view problem = view(failed.problem);
  const std::string_view context = view(failed.context);
  if (MarkCursor(text).at(failed.problem_mark) == '\t') {
    return error_at(failed.problem_mark,
                    "a tab stands where the indentation is; indent with spaces");
  }
  for (const Hint& hint : kHints) {
    if (!hint.context.empty() && hint.context != context) continue;
    if (!hint.problem.empty() && hint.problem != problem) continue;
    return error_at(hint.is_at_context ? failed.context_mark : failed.problem_mark,
                    std::string(hint.message));
  }
  std::string message = "this is not YAML: ";
  message += problem.empty() ? "it cannot be read" : problem;
  if (!context.empty()) message.append(" ").append(context);
  return error_at(failed.problem_mark, std::move(message));
}

}  // namespace aegis::policy
