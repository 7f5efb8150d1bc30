// SPDX-License-Identifier: Apache-2.0 OR MIT
// Turns libyaml's events into a Document. Events come in a flat row, so nothing here recurses.
#include <utility>

#include "policy/document.h"
#include "policy/findings.h"
#include "policy/prescan.h"
#include "policy/yaml.h"

namespace aegis::policy {
namespace {

/// What readers may take differently about this node, which begins with `first`; null when nothing
/// is.
const char* oddity_of(const yaml_event_t& event, char first) {
  const yaml_char_t* anchor = nullptr;
  const yaml_char_t* tag = nullptr;
  if (event.type == YAML_ALIAS_EVENT) {
    return "a YAML alias stands here; a policy has none: write the text out, or in quotes";
  }
  if (event.type == YAML_SCALAR_EVENT) {
    anchor = event.data.scalar.anchor;
    tag = event.data.scalar.tag;
  } else if (event.type == YAML_SEQUENCE_START_EVENT) {
    anchor = event.data.sequence_start.anchor;
    tag = event.data.sequence_start.tag;
  } else {
    anchor = event.data.mapping_start.anchor;
    tag = event.data.mapping_start.tag;
  }
  if (anchor != nullptr) return "a YAML anchor stands here; a policy has none";
  // libyaml keeps silent about the tag "!" alone, which turns a number into a text for other
  // readers. A node's place is that of its tag, and no scalar without quotes begins so.
  if (tag != nullptr || first == '!') return "a YAML tag stands here; a policy has none";
  return nullptr;
}

}  // namespace

class DocumentBuilder {
 public:
  explicit DocumentBuilder(std::string_view text) : text_(text), cursor_(text) {}

  ParsedDocument build() {
    YamlParser parser(text_);
    while (!is_done_) {
      YamlEvent event;
      if (!parser.next(*event)) {
        report_failure(parser);
        break;
      }
      take(*event);
    }
    if (errors_.empty() && document_.records_.empty()) {
      errors_.push_back(
          {Diagnostic::Severity::error,
           0,
           0,
           "",
           "the text is empty; a policy has at least \"version: 1\" and \"rules: []\""});
    }
    if (errors_.empty()) report_oddities();
    if (!errors_.empty()) return {std::nullopt, std::move(errors_)};
    return {std::move(document_), {}};
  }

 private:
  struct Oddity {  // what YAML readers may take differently, told once the whole tree and so its
                   // path is known
    std::uint32_t record;
    const char* message;
  };

  void report_failure(const YamlParser& parser) {
    Diagnostic error = explain_failure(parser, text_);
    error.field = awaited_field();
    errors_.push_back(std::move(error));
  }

  /// The path of the member whose value the text was about to give; empty when it was not about to
  /// give any.
  [[nodiscard]] std::string awaited_field() {
    if (open_.empty()) return "";
    for (const std::uint32_t record : open_)
      document_.records_[record].end = size();
    const Document::Node innermost(document_, open_.back());
    if (innermost.kind() != Document::Kind::map) return "";
    const auto parts = innermost.items();  // names and values in turn
    return parts.size() % 2 == 1 ? document_.path_to(parts.back()) : "";
  }

  void report_oddities() {
    for (const Oddity& oddity : oddities_) {
      if (errors_.size() == Findings::kMost) break;
      const Document::Node node(document_, oddity.record);
      errors_.push_back({Diagnostic::Severity::error,
                         node.at().line,
                         node.at().column,
                         document_.path_to(node),
                         oddity.message});
    }
  }

  void take(const yaml_event_t& event) {
    switch (event.type) {
      case YAML_NO_EVENT:
      case YAML_STREAM_START_EVENT:
        return;
      case YAML_STREAM_END_EVENT:
        is_done_ = true;
        return;
      case YAML_DOCUMENT_START_EVENT:
        if (std::exchange(has_document_, true)) {
          stop(event, "a second YAML document begins; a policy is one document");
        }
        return;
      case YAML_DOCUMENT_END_EVENT:
        return;
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        document_.records_[open_.back()].end = size();
        open_.pop_back();
        return;
      case YAML_ALIAS_EVENT:
      case YAML_SCALAR_EVENT:
      case YAML_SEQUENCE_START_EVENT:
      case YAML_MAPPING_START_EVENT:
        add(event);
        return;
    }
  }

  void add(const yaml_event_t& event) {
    note_oddity(event);
    const bool is_list = event.type == YAML_SEQUENCE_START_EVENT;
    const bool is_map = event.type == YAML_MAPPING_START_EVENT;
    Document::Record record{};
    record.kind = is_list  ? Document::Kind::list
                  : is_map ? Document::Kind::map
                           : Document::Kind::scalar;
    record.end = size() + 1;
    record.line = static_cast<std::uint32_t>(event.start_mark.line + 1);
    record.column = static_cast<std::uint32_t>(event.start_mark.column + 1);
    record.text_at = static_cast<std::uint32_t>(document_.texts_.size());
    if (event.type == YAML_SCALAR_EVENT) {
      const auto& scalar = event.data.scalar;
      document_.texts_.append(reinterpret_cast<const char*>(scalar.value), scalar.length);
      record.text_size = static_cast<std::uint32_t>(scalar.length);
      record.is_plain = scalar.style == YAML_PLAIN_SCALAR_STYLE;
    }
    if (is_list || is_map) {
      if (open_.size() == kMaxPolicyDepth) {
        stop(event,
             "lists and maps are nested more than " + std::to_string(kMaxPolicyDepth) + " deep");
        return;
      }
      open_.push_back(size());
    }
    document_.records_.push_back(record);
  }

  void note_oddity(const yaml_event_t& event) {
    if (const char* message = oddity_of(event, cursor_.at(event.start_mark))) {
      oddities_.push_back({size(), message});
    }
  }

  void stop(const yaml_event_t& event, std::string message) {
    errors_.push_back(error_at(event.start_mark, std::move(message)));
    is_done_ = true;
  }

  [[nodiscard]] std::uint32_t size() const {
    return static_cast<std::uint32_t>(document_.records_.size());
  }

  std::string_view text_;
  MarkCursor cursor_;
  Document document_;
  std::vector<std::uint32_t> open_;  // collections that have begun and not ended
  std::vector<Oddity> oddities_;
  std::vector<Diagnostic> errors_;
  bool has_document_ = false;
  bool is_done_ = false;
};

ParsedDocument parse_document(std::string_view text) {
  if (auto forbidden = find_forbidden(text)) return {std::nullopt, {*std::move(forbidden)}};
  return DocumentBuilder(text).build();
}

}  // namespace aegis::policy
