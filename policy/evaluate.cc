// SPDX-License-Identifier: Apache-2.0 OR MIT
// Why one look-up a mask is enough: all rules that set the same axes and match a call set them to
// the same values, so of those only the strongest can ever decide, and it is known beforehand.
// Ranks are one order over all rules: denies first, then more set axes, then higher priority, then
// earlier in the file.
#include "policy/evaluate.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <tuple>

namespace aegis::policy {
namespace {

constexpr std::size_t kMasks = 1U << Axes::kCount;

std::uint8_t mask_of(const Axes& axes) noexcept {
  std::uint8_t mask = 0;
  for (std::size_t axis = 0; axis < Axes::kCount; ++axis) {
    if (axes.values[axis]) mask = static_cast<std::uint8_t>(mask | (1U << axis));
  }
  return mask;
}

using AxisHashes = std::array<std::uint64_t, Axes::kCount>;

AxisHashes hash_axes(const Axes& axes, std::uint8_t mask) noexcept {
  AxisHashes hashes{};
  for (std::size_t axis = 0; axis < Axes::kCount; ++axis) {
    if ((mask >> axis & 1U) != 0) hashes[axis] = std::hash<std::string_view>{}(*axes.values[axis]);
  }
  return hashes;
}

std::uint64_t combine(const AxisHashes& hashes, std::uint8_t mask) noexcept {
  constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15;  // 2^64 divided by the golden ratio
  std::uint64_t hash = mask;
  for (std::size_t axis = 0; axis < Axes::kCount; ++axis) {
    hash = (hash ^ ((mask >> axis & 1U) != 0 ? hashes[axis] : 0)) * kMultiplier;
    hash ^= hash >> 32U;
  }
  return hash;
}

auto strength(const Rule& rule) {
  return std::make_tuple(
      rule.action == Action::deny, std::popcount(mask_of(axes_of(rule))), rule.priority);
}

}  // namespace

Axes axes_of(const Rule& rule) {
  return {{rule.tool, rule.role, rule.capability}};
}

RuleIndex::RuleIndex(std::span<const Rule> rules) : rules_(rules), by_rank_(rules.size()) {
  std::iota(by_rank_.begin(), by_rank_.end(), 0U);
  std::stable_sort(by_rank_.begin(), by_rank_.end(), [&](std::uint32_t left, std::uint32_t right) {
    return strength(rules[left]) > strength(rules[right]);
  });
  slots_.resize(std::bit_ceil(rules.size() * 2 + 1));
  std::array<bool, kMasks> used{};
  for (std::uint32_t rank = 0; rank < by_rank_.size(); ++rank) {
    const Axes axes = axes_of(rules[by_rank_[rank]]);
    used[mask_of(axes)] = true;
    insert(axes, rank);
    for (std::size_t axis = 0; axis < Axes::kCount; ++axis) {
      longest_[axis] = std::max(longest_[axis], axes.values[axis].value_or("").size());
    }
  }
  for (std::size_t mask = 0; mask < kMasks; ++mask) {
    if (used[mask]) masks_.push_back(static_cast<Mask>(mask));
  }
}

void RuleIndex::insert(const Axes& axes, std::uint32_t rank) {
  const Mask mask = mask_of(axes);
  const std::uint64_t hash = combine(hash_axes(axes, mask), mask);
  if (look_up(hash, mask, axes) != nullptr) return;  // a stronger one came before
  std::size_t at = hash & (slots_.size() - 1);
  while (slots_[at].rank != kNoRank)
    at = (at + 1) & (slots_.size() - 1);
  slots_[at] = {hash, rank};
}

const RuleIndex::Slot* RuleIndex::look_up(std::uint64_t hash,
                                          Mask mask,
                                          const Axes& axes) const noexcept {
  for (std::size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
    const Slot& slot = slots_[at];
    if (slot.rank == kNoRank) return nullptr;
    if (slot.hash != hash) continue;
    const Axes found = axes_of(rules_[by_rank_[slot.rank]]);
    bool is_same = mask_of(found) == mask;
    for (std::size_t axis = 0; axis < Axes::kCount && is_same; ++axis) {
      is_same = !found.values[axis] || *found.values[axis] == *axes.values[axis];
    }
    if (is_same) return &slot;
  }
}

const Rule* RuleIndex::find(const Axes& axes) const noexcept {
  Mask present = mask_of(axes);
  for (std::size_t axis = 0; axis < Axes::kCount; ++axis) {
    // No rule can match a name longer than all of theirs, and hashing one could take as long as its
    // sender likes.
    if (axes.values[axis].value_or("").size() > longest_[axis]) {
      present = static_cast<Mask>(present & ~(1U << axis));
    }
  }
  const AxisHashes hashes = hash_axes(axes, present);
  std::uint32_t best = kNoRank;
  for (const Mask mask : masks_) {
    if ((mask & ~present) != 0) continue;
    const Slot* slot = look_up(combine(hashes, mask), mask, axes);
    if (slot != nullptr) best = std::min(best, slot->rank);
  }
  return best == kNoRank ? nullptr : &rules_[by_rank_[best]];
}

}  // namespace aegis::policy
