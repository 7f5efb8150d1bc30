// SPDX-License-Identifier: Apache-2.0 OR MIT
// Diagnostics as they are found in one text, held to a number that a person reads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "policy/diagnostic.h"

namespace aegis::policy {

class Findings {
 public:
  static constexpr std::size_t kMost = 20;

  void add(Diagnostic diagnostic) {
    if (diagnostic.severity == Diagnostic::Severity::error) has_error_ = true;
    if (!is_full()) found_.push_back(std::move(diagnostic));
  }
  /// What is added now is not shown any more, so it need not be worked out.
  [[nodiscard]] bool is_full() const { return found_.size() == kMost; }
  [[nodiscard]] bool has_error() const { return has_error_; }

  /// In the order of the text.
  std::vector<Diagnostic> take() && {
    std::stable_sort(
        found_.begin(), found_.end(), [](const Diagnostic& left, const Diagnostic& right) {
          return std::tie(left.line, left.column) < std::tie(right.line, right.column);
        });
    if (is_full()) {
      found_.push_back({found_.back().severity,
                        0,
                        0,
                        "",
                        "these are the first " + std::to_string(kMost) + "; there may be more"});
    }
    return std::move(found_);
  }

 private:
  std::vector<Diagnostic> found_;
  bool has_error_ = false;
};

}  // namespace aegis::policy
