// SPDX-License-Identifier: Apache-2.0 OR MIT
// A YAML text as a flat row of events, each with its place: libyaml's, without its C. Nothing here
// judges what a policy may say; it only tells what YAML readers would take differently.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "policy/diagnostic.h"
#include "policy/document.h"

namespace aegis::policy {

struct YamlEvent {
  enum class Kind : std::uint8_t {
    document_start,
    list_start,
    map_start,
    collection_end,
    scalar,
    text_end
  };
  Kind kind;
  Position at;
  std::string_view text = {};  // of a scalar, until the next event
  bool is_plain = false;       // a scalar without quotes, and no block
  std::string_view oddity =
      {};  // of a node: the anchor, alias or tag that it has; empty when it has none
};

class YamlEvents {
 public:
  /// `text` is valid UTF-8 and must outlive the events.
  explicit YamlEvents(std::string_view text);
  YamlEvents(const YamlEvents&) = delete;
  YamlEvents& operator=(const YamlEvents&) = delete;
  ~YamlEvents();

  /// Nothing once the text turned out to be no YAML. Not to be called after that, nor after
  /// text_end.
  std::optional<YamlEvent> next();
  /// Why next() gave nothing, in words that say what to do; without a field.
  [[nodiscard]] Diagnostic failure() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace aegis::policy
