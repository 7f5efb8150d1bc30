// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reads the members of maps as the few types that policies have, and says exactly what is wrong
// where. It knows no field of any policy; what a text or a number means is its caller's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "policy/document.h"
#include "policy/findings.h"

namespace aegis::policy {

struct NumberRange {
  std::int64_t first;
  std::int64_t last;
};

/// Every read_ gives nothing after it added an error.
class FieldReader {
 public:
  using Node = Document::Node;
  using Field = std::optional<Node>;  // empty: the map does not have it

  FieldReader(const Document& document, Findings& findings)
      : document_(document), findings_(findings) {}

  /// The values of the members called `names`, in that order. Any other name, and any name that
  /// comes twice, is an error; then the first of two counts, so that the rest can still be looked
  /// at.
  template <std::size_t Count>
  std::optional<std::array<Field, Count>> read_map(
      Node map, const std::array<std::string_view, Count>& names) {
    std::array<Field, Count> fields;
    if (!gather(map, names, fields)) return std::nullopt;
    return fields;
  }
  std::optional<std::vector<Node>> read_list(Node list);
  /// A scalar of at most `max_bytes` bytes without NUL. Without quotes it is taken as it stands
  /// ("yes" and "1.10" are texts like others), but not when it could as well mean that there is
  /// nothing.
  std::optional<std::string> read_text(Node scalar, std::size_t max_bytes);
  /// Plain decimal digits without quotes: all that every reader of YAML takes for the same number.
  std::optional<std::int64_t> read_number(Node scalar, NumberRange range);
  /// `true` or `false` without quotes, in lower case: all that every reader of YAML takes for the
  /// same.
  std::optional<bool> read_truth(Node scalar);
  /// The position in `words`.
  std::optional<std::size_t> read_word(Node scalar, std::span<const std::string_view> words);

  void error(Node node, std::string message);
  void warn(Node node, std::string message);
  /// `map` does not have the member `name`.
  void missing(Node map, std::string_view name, std::string_view expected);

 private:
  bool gather(Node map, std::span<const std::string_view> names, std::span<Field> fields);
  void gather_member(Document::Member member,
                     std::span<const std::string_view> names,
                     std::span<Field> fields);

  void add(Diagnostic::Severity severity, Node node, std::string message);

  const Document& document_;
  Findings& findings_;
};

}  // namespace aegis::policy
