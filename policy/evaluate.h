// SPDX-License-Identifier: Apache-2.0 OR MIT
// Finds the rule that decides a call without walking over the rules: one look-up for each set of
// axes that rules use, eight at most, whatever the number of rules.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy.h"

namespace aegis::policy {

/// Values of the axes of a call; of a rule, those it sets.
struct Axes {
  static constexpr std::size_t kCount = 3;
  std::array<std::optional<std::string_view>, kCount> values;  // tool, role, capability
};
Axes axes_of(const Rule& rule);

class RuleIndex {
 public:
  /// `rules` must outlive the index and stay where it is.
  explicit RuleIndex(std::span<const Rule> rules);

  /// The rule that decides a call with these axes and no others; null when none matches.
  [[nodiscard]] const Rule* find(const Axes& axes) const noexcept;

 private:
  using Mask = std::uint8_t;  // bit i: axis i is set
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Slot {
    std::uint32_t tag = 0;      // the hash's upper half
    std::uint32_t key = kNone;  // where in keys_ its key begins; empty when there is none
  };
  struct Key {  // the names follow it
    std::uint32_t rank;
    std::uint32_t rule;
    std::array<std::uint32_t, Axes::kCount> sizes;
    Mask mask;
  };

  [[nodiscard]] std::optional<Key> look_up(std::uint64_t hash,
                                           Mask mask,
                                           const Axes& axes) const noexcept;
  [[nodiscard]] bool has_names(const Key& key,
                               std::size_t names_at,
                               const Axes& axes) const noexcept;
  void insert(const Axes& axes, std::uint32_t rank, std::uint32_t rule);

  std::span<const Rule> rules_;
  std::vector<Slot> slots_;  // open addressing; for each set of values only the strongest rule
  // Keys and names in one place, so that a call touches two lines of cache for each set of axes and
  // not five.
  std::string keys_;
  std::vector<Mask> masks_;                          // those that rules use
  std::array<std::size_t, Axes::kCount> longest_{};  // of the names on each axis, in bytes
};

}  // namespace aegis::policy
