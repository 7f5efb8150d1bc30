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
    if (found_.size() < kMost) {
      found_.push_back(std::move(diagnostic));
    } else {
      last_ = diagnostic.severity;
      ++unshown_;
    }
  }
  [[nodiscard]] bool has_error() const { return has_error_; }

  /// In the order of the text.
  std::vector<Diagnostic> take() && {
    std::stable_sort(
        found_.begin(), found_.end(), [](const Diagnostic& left, const Diagnostic& right) {
          return std::tie(left.line, left.column) < std::tie(right.line, right.column);
        });
    if (unshown_ != 0) {
      found_.push_back({last_, 0, 0, "", "and " + std::to_string(unshown_) + " more of this kind"});
    }
    return std::move(found_);
  }

 private:
  std::vector<Diagnostic> found_;
  std::size_t unshown_ = 0;
  Diagnostic::Severity last_ = Diagnostic::Severity::error;
  bool has_error_ = false;
};

}  // namespace aegis::policy
