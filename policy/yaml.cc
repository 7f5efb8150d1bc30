// SPDX-License-Identifier: Apache-2.0 OR MIT
// libyaml keeps its own stack on the heap, and tells lines, columns and offsets in code points from
// 0.
#include "policy/yaml.h"

#include <yaml.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "mcp/json/utf8.h"

namespace aegis::policy {
namespace {

/// The first byte of the character at `mark`; NUL at the end of the text.
char char_at(std::string_view text, const yaml_mark_t& mark) {
  for (std::size_t index = 0; index < mark.index && !text.empty(); ++index) {
    text.remove_prefix(std::max<std::size_t>(mcp::json::utf8_sequence_size(text), 1));
  }
  return text.empty() ? '\0' : text.front();
}

Position position_of(const yaml_mark_t& mark) {
  return {mark.line + 1, mark.column + 1};
}

constexpr std::string_view kAlias =
    "a YAML alias stands here; a policy has none: write the text out, or in quotes";

std::string_view oddity_of(const yaml_char_t* anchor, const yaml_char_t* tag) {
  if (anchor != nullptr) return "a YAML anchor stands here; a policy has none";
  if (tag != nullptr) return "a YAML tag stands here; a policy has none";
  return {};
}

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

Diagnostic error_at(const yaml_mark_t& mark, std::string message) {
  const Position at = position_of(mark);
  return {Diagnostic::Severity::error, at.line, at.column, "", std::move(message)};
}

}  // namespace

struct YamlEvents::State {
  explicit State(std::string_view whole)
      : text(whole), is_ready(yaml_parser_initialize(&parser) == 1) {
    if (!is_ready) return;
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(
        &parser, reinterpret_cast<const yaml_char_t*>(text.data()), text.size());
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    yaml_event_delete(&event);
    if (is_ready) yaml_parser_delete(&parser);
  }

  bool parse() {
    yaml_event_delete(&event);
    return is_ready && yaml_parser_parse(&parser, &event) == 1;
  }
  [[nodiscard]] YamlEvent describe() const;

  std::string_view text;
  yaml_parser_t parser{};
  yaml_event_t event{};
  bool is_ready;
};

YamlEvent YamlEvents::State::describe() const {
  using Kind = YamlEvent::Kind;
  const Position at = position_of(event.start_mark);
  switch (event.type) {
    case YAML_DOCUMENT_START_EVENT:
      return {Kind::document_start, at};
    case YAML_SEQUENCE_START_EVENT:
      return {Kind::list_start,
              at,
              {},
              false,
              oddity_of(event.data.sequence_start.anchor, event.data.sequence_start.tag)};
    case YAML_MAPPING_START_EVENT:
      return {Kind::map_start,
              at,
              {},
              false,
              oddity_of(event.data.mapping_start.anchor, event.data.mapping_start.tag)};
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
      return {Kind::collection_end, at};
    case YAML_ALIAS_EVENT:
      return {Kind::scalar, at, {}, false, kAlias};
    case YAML_SCALAR_EVENT: {
      const auto& scalar = event.data.scalar;
      return {Kind::scalar,
              at,
              {reinterpret_cast<const char*>(scalar.value), scalar.length},
              scalar.style == YAML_PLAIN_SCALAR_STYLE,
              oddity_of(scalar.anchor, scalar.tag)};
    }
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
      break;
  }
  return {Kind::text_end, at};
}

YamlEvents::YamlEvents(std::string_view text) : state_(std::make_unique<State>(text)) {}
YamlEvents::~YamlEvents() = default;

std::optional<YamlEvent> YamlEvents::next() {
  do {
    if (!state_->parse()) return std::nullopt;
  } while (state_->event.type == YAML_STREAM_START_EVENT ||
           state_->event.type == YAML_DOCUMENT_END_EVENT);
  return state_->describe();
}

Diagnostic YamlEvents::failure() const {
  const yaml_parser_t& failed = state_->parser;
  if (!state_->is_ready || failed.error == YAML_MEMORY_ERROR) {
    return {Diagnostic::Severity::error, 0, 0, "", "there is not enough memory to read the text"};
  }
  const std::string_view problem = view(failed.problem);
  const std::string_view context = view(failed.context);
  if (char_at(state_->text, failed.problem_mark) == '\t') {
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
