// SPDX-License-Identifier: Apache-2.0 OR MIT
// Fixed rate windows, one for each rule and tool, from its first call. The clock is the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "policy/policy.h"

namespace aegis::policy {

class RateWindows {
 public:
  /// `max_windows`: how many (rule, tool) pairs are kept at once. Windows that have ended make
  /// room; when none has, a new pair is refused (fail closed).
  explicit RateWindows(std::size_t max_windows);
  RateWindows(RateWindows&&) noexcept;
  RateWindows& operator=(RateWindows&&) noexcept;
  RateWindows(const RateWindows&) = delete;
  RateWindows& operator=(const RateWindows&) = delete;
  ~RateWindows();

  /// Counts one call at `now_ns` (monotonic, nanoseconds) against `rule.rate` (must be set). True:
  /// it is within the rate. Keyed by the rule's id, so a re-read policy goes on with the windows of
  /// the old one.
  bool admit(const Rule& rule, std::string_view tool, std::uint64_t now_ns);

 private:
  struct Table;
  std::unique_ptr<Table> table_;
};

}  // namespace aegis::policy
