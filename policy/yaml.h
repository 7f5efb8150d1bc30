// SPDX-License-Identifier: Apache-2.0 OR MIT
// libyaml (C) with owners for what it allocates. It keeps its own stack on the heap and tells a
// place for each event, with lines, columns and offsets in code points from 0. Only
// policy/document_builder includes this.
#pragma once

#include <yaml.h>

#include <string>
#include <string_view>

#include "policy/diagnostic.h"

namespace aegis::policy {

class YamlParser {
 public:
  explicit YamlParser(std::string_view text) : is_ready_(yaml_parser_initialize(&parser_) == 1) {
    if (!is_ready_) return;
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    // libyaml's own type for bytes.
    const auto* bytes = reinterpret_cast<const yaml_char_t*>(text.data());
    yaml_parser_set_input_string(&parser_, bytes, text.size());
  }
  YamlParser(const YamlParser&) = delete;
  YamlParser& operator=(const YamlParser&) = delete;
  ~YamlParser() {
    if (is_ready_) yaml_parser_delete(&parser_);
  }

  bool next(yaml_event_t& event) { return is_ready_ && yaml_parser_parse(&parser_, &event) == 1; }
  /// Of the call of next() that failed.
  [[nodiscard]] const yaml_parser_t& failed() const { return parser_; }
  [[nodiscard]] bool is_out_of_memory() const {
    return !is_ready_ || parser_.error == YAML_MEMORY_ERROR;
  }

 private:
  yaml_parser_t parser_{};
  bool is_ready_;
};

class YamlEvent {
 public:
  YamlEvent() = default;
  YamlEvent(const YamlEvent&) = delete;
  YamlEvent& operator=(const YamlEvent&) = delete;
  ~YamlEvent() { yaml_event_delete(&event_); }
  yaml_event_t* operator->() { return &event_; }
  yaml_event_t& operator*() { return event_; }

 private:
  yaml_event_t event_{};
};

/// Finds the bytes of marks, which never go back, in one walk over the text.
class MarkCursor {
 public:
  explicit MarkCursor(std::string_view text) : rest_(text) {}
  /// The character at `mark`; NUL at the end.
  char at(const yaml_mark_t& mark);

 private:
  std::string_view rest_;
  std::size_t index_ = 0;
};

Diagnostic error_at(const yaml_mark_t& mark, std::string message);

/// Why `parser` failed at `text`, in words that say what to do.
Diagnostic explain_failure(const YamlParser& parser, std::string_view text);

}  // namespace aegis::policy
