// SPDX-License-Identifier: Apache-2.0 OR MIT
// Why one look-up a mask is enough: all rules that set the same axes and match a call set them to
// the same values, so of those only the strongest can ever decide, and it is known beforehand.
// Ranks are one order over all rules: denies first, then more set axes, then higher priority, then
// earlier in the file.
#include "policy/evaluate.h"

#include <algorithm>
#include <bit>
#include <cstring>
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

bool has_axis(std::uint8_t mask, std::size_t axis) noexcept {
  return (mask & (1U << axis)) != 0;
}

using AxisHashes = std::array<std::uint64_t, Axes::kCount>;

AxisHashes hash_axes(const Axes& axes, std::uint8_t mask) noexcept {
  AxisHashes hashes{};
  for (std::size_t axis = 0; axis < Axes::kCount; ++axis) {
    if (has_axis(mask, axis)) hashes[axis] = std::hash<std::string_view>{}(*axes.values[axis]);
  }
  return hashes;
}

std::uint64_t combine(const AxisHashes& hashes, std::uint8_t mask) noexcept {
  constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15;  // 2^64 divided by the golden ratio
  std::uint64_t hash = mask;
  for (std::size_t axis = 0; axis < Axes::kCount; ++axis) {
    hash = (hash ^ (has_axis(mask, axis) ? hashes[axis] : 0)) * kMultiplier;
    hash ^= hash >> 32U;
  }
  return hash;
}

std::uint32_t tag_of(std::uint64_t hash) noexcept {
  return static_cast<std::uint32_t>(hash >> 32U);
}

auto strength(const Rule& rule) {
  return std::make_tuple(
      rule.action == Action::deny, std::popcount(mask_of(axes_of(rule))), rule.priority);
}

}  // namespace

Axes axes_of(const Rule& rule) {
  return {{rule.tool, rule.role, rule.capability}};
}

RuleIndex::RuleIndex(std::span<const Rule> rules) : rules_(rules) {
  std::vector<std::uint32_t> by_rank(rules.size());
  std::iota(by_rank.begin(), by_rank.end(), 0U);
  std::stable_sort(by_rank.begin(), by_rank.end(), [&](std::uint32_t left, std::uint32_t right) {
    return strength(rules[left]) > strength(rules[right]);
  });
  slots_.resize(std::bit_ceil(rules.size() * 2 + 1));
  std::array<bool, kMasks> used{};
  for (std::uint32_t rank = 0; rank < by_rank.size(); ++rank) {
    const Axes axes = axes_of(rules[by_rank[rank]]);
    used[mask_of(axes)] = true;
    insert(axes, rank, by_rank[rank]);
    for (std::size_t axis = 0; axis < Axes::kCount; ++axis) {
      longest_[axis] = std::max(longest_[axis], axes.values[axis].value_or("").size());
    }
  }
  for (std::size_t mask = 0; mask < kMasks; ++mask) {
    if (used[mask]) masks_.push_back(static_cast<Mask>(mask));
  }
}

void RuleIndex::insert(const Axes& axes, std::uint32_t rank, std::uint32_t rule) {
  Key key{rank, rule, {}, mask_of(axes)};
  const std::uint64_t hash = combine(hash_axes(axes, key.mask), key.mask);
  if (look_up(hash, key.mask, axes)) return;  // a stronger one came before
  std::size_t at = hash & (slots_.size() - 1);
  while (slots_[at].key != kNone)
    at = (at + 1) & (slots_.size() - 1);
  slots_[at] = {tag_of(hash), static_cast<std::uint32_t>(keys_.size())};
  std::string names;
  for (std::size_t axis = 0; axis < Axes::kCount; ++axis) {
    const std::string_view name = axes.values[axis].value_or("");
    key.sizes[axis] = static_cast<std::uint32_t>(name.size());
    names += name;
  }
  keys_.append(reinterpret_cast<const char*>(&key), sizeof key).append(names);
}

std::optional<RuleIndex::Key> RuleIndex::look_up(std::uint64_t hash,
                                                 Mask mask,
                                                 const Axes& axes) const noexcept {
  for (std::size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
    const Slot& slot = slots_[at];
    if (slot.key == kNone) return std::nullopt;
    if (slot.tag != tag_of(hash)) continue;
    Key key;
    std::memcpy(&key, keys_.data() + slot.key, sizeof key);
    if (key.mask == mask && has_names(key, slot.key + sizeof key, axes)) return key;
  }
}

bool RuleIndex::has_names(const Key& key, std::size_t names_at, const Axes& axes) const noexcept {
  for (std::size_t axis = 0; axis < Axes::kCount; ++axis) {
    if (!has_axis(key.mask, axis)) continue;
    const std::string_view name(keys_.data() + names_at, key.sizes[axis]);
    if (name != *axes.values[axis]) return false;
    names_at += name.size();
  }
  return true;
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
  std::uint32_t best_rank = kNone;
  const Rule* best = nullptr;
  for (const Mask mask : masks_) {
    if ((mask & ~present) != 0) continue;
    const auto key = look_up(combine(hashes, mask), mask, axes);
    if (!key || key->rank >= best_rank) continue;
    best_rank = key->rank;
    best = &rules_[key->rule];
  }
  return best;
}

}  // namespace aegis::policy
