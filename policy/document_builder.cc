// SPDX-License-Identifier: Apache-2.0 OR MIT
// Turns the events of a YAML text into a Document. They come in a flat row, so nothing here
// recurses.
#include <string>
#include <utility>

#include "policy/document.h"
#include "policy/findings.h"
#include "policy/prescan.h"
#include "policy/yaml.h"

namespace aegis::policy {

class DocumentBuilder {
 public:
  ParsedDocument build(std::string_view text) {
    YamlEvents events(text);
    while (!is_done_) {
      const auto event = events.next();
      if (!event) {
        report_failure(events.failure());
        break;
      }
      take(*event);
    }
    if (errors_.empty() && document_.records_.empty()) {
      errors_.push_back({Diagnostic::Severity::error,
                         0,
                         0,
                         "",
                         "the text is empty; a policy names at least its version"});
    }
    if (errors_.empty()) report_oddities();
    if (!errors_.empty()) return {std::nullopt, std::move(errors_)};
    return {std::move(document_), {}};
  }

 private:
  struct Oddity {  // told once the whole tree, and so its path, is known
    std::uint32_t record;
    std::string_view message;
  };

  void report_failure(Diagnostic failure) {
    failure.field = awaited_field();
    errors_.push_back(std::move(failure));
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
                         std::string(oddity.message)});
    }
  }

  void take(const YamlEvent& event) {
    switch (event.kind) {
      case YamlEvent::Kind::document_start:
        if (std::exchange(has_document_, true)) {
          stop(event.at, "a second YAML document begins; a policy is one document");
        }
        return;
      case YamlEvent::Kind::list_start:
        return open(event, Document::Kind::list);
      case YamlEvent::Kind::map_start:
        return open(event, Document::Kind::map);
      case YamlEvent::Kind::collection_end:
        document_.records_[open_.back()].end = size();
        open_.pop_back();
        return;
      case YamlEvent::Kind::scalar:
        return add(event, Document::Kind::scalar);
      case YamlEvent::Kind::text_end:
        is_done_ = true;
        return;
    }
  }

  void open(const YamlEvent& event, Document::Kind kind) {
    if (open_.size() == kMaxPolicyDepth) {
      stop(event.at,
           "lists and maps are nested more than " + std::to_string(kMaxPolicyDepth) + " deep");
      return;
    }
    open_.push_back(size());
    add(event, kind);
  }

  void add(const YamlEvent& event, Document::Kind kind) {
    if (!event.oddity.empty()) oddities_.push_back({size(), event.oddity});
    // A text of 1 MiB has no place, node or length that 32 bits do not hold.
    Document::Record record{};
    record.kind = kind;
    record.is_plain = event.is_plain;
    record.end = size() + 1;
    record.line = static_cast<std::uint32_t>(event.at.line);
    record.column = static_cast<std::uint32_t>(event.at.column);
    record.text_at = static_cast<std::uint32_t>(document_.texts_.size());
    record.text_size = static_cast<std::uint32_t>(event.text.size());
    document_.texts_ += event.text;
    document_.records_.push_back(record);
  }

  void stop(Position at, std::string message) {
    errors_.push_back({Diagnostic::Severity::error, at.line, at.column, "", std::move(message)});
    is_done_ = true;
  }

  [[nodiscard]] std::uint32_t size() const {
    return static_cast<std::uint32_t>(document_.records_.size());
  }

  Document document_;
  std::vector<std::uint32_t> open_;  // lists and maps that have begun and not ended
  std::vector<Oddity> oddities_;
  std::vector<Diagnostic> errors_;
  bool has_document_ = false;
  bool is_done_ = false;
};

ParsedDocument parse_document(std::string_view text) {
  if (auto forbidden = find_forbidden(text)) return {std::nullopt, {*std::move(forbidden)}};
  return DocumentBuilder().build(text);
}

}  // namespace aegis::policy
