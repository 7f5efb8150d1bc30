// SPDX-License-Identifier: Apache-2.0 OR MIT
// The table of windows: all in one row, found through an index of their hashes.
#include "policy/rate.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace aegis::policy {
namespace {

constexpr std::size_t kMaxToolBytes = 1024;

/// All names longer than any that a rule can hold count as one: else a client could make the table
/// keep as many bytes as it cares to send, and a new window with each of them.
std::string_view key_of(std::string_view tool) {
  constexpr std::string_view kLongName("\0long", 5);
  return tool.size() > kMaxToolBytes ? kLongName : tool;
}

std::uint64_t hash_of(std::string_view rule_id, std::string_view tool) {
  constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15;  // 2^64 divided by the golden ratio
  const std::hash<std::string_view> hash;
  const std::uint64_t mixed = (hash(rule_id) * kMultiplier) ^ hash(tool);
  return mixed ^ (mixed >> 32U);
}

std::uint64_t length_ns(const Rate& rate) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  return rate.per_seconds > kMost / kSecond ? kMost : rate.per_seconds * kSecond;
}

struct Window {
  std::uint64_t hash;
  std::string rule_id;
  std::string tool;
  std::uint64_t began_ns;
  std::uint64_t length_ns;  // as of the last call, should the rule have changed since
  std::uint64_t calls;

  [[nodiscard]] bool has_ended(std::uint64_t now_ns) const {
    return now_ns > began_ns && now_ns - began_ns >= length_ns;
  }
};

}  // namespace

struct RateWindows::Table {
  explicit Table(std::size_t most) : max_windows(most) {}

  Window* find(std::uint64_t hash, std::string_view rule_id, std::string_view tool);
  /// Null when the table is full of windows that have not ended.
  Window* add(Window window, std::uint64_t now_ns);
  void drop_ended(std::uint64_t now_ns);
  void index_all(std::size_t slot_count);
  void index_one(std::size_t number);

  const std::size_t max_windows;
  std::vector<Window> windows;
  std::vector<std::uint32_t> slots;  // open addressing: position in `windows` and 1; 0 is empty
};

Window* RateWindows::Table::find(std::uint64_t hash,
                                 std::string_view rule_id,
                                 std::string_view tool) {
  if (slots.empty()) return nullptr;
  for (std::size_t at = hash & (slots.size() - 1); slots[at] != 0;
       at = (at + 1) & (slots.size() - 1)) {
    Window& window = windows[slots[at] - 1];
    if (window.hash == hash && window.rule_id == rule_id && window.tool == tool) return &window;
  }
  return nullptr;
}

Window* RateWindows::Table::add(Window window, std::uint64_t now_ns) {
  if (windows.size() >= max_windows) drop_ended(now_ns);
  if (windows.size() >= max_windows) return nullptr;
  windows.push_back(std::move(window));
  if (windows.size() * 2 > slots.size()) {
    index_all(std::bit_ceil(windows.size() * 4));
  } else {
    index_one(windows.size() - 1);
  }
  return &windows.back();
}

void RateWindows::Table::drop_ended(std::uint64_t now_ns) {
  const auto ended = std::remove_if(windows.begin(), windows.end(), [&](const Window& window) {
    return window.has_ended(now_ns);
  });
  if (ended == windows.end()) return;
  windows.erase(ended, windows.end());
  index_all(slots.size());
}

void RateWindows::Table::index_all(std::size_t slot_count) {
  slots.assign(slot_count, 0);
  for (std::size_t number = 0; number < windows.size(); ++number)
    index_one(number);
}

void RateWindows::Table::index_one(std::size_t number) {
  std::size_t at = windows[number].hash & (slots.size() - 1);
  while (slots[at] != 0)
    at = (at + 1) & (slots.size() - 1);
  slots[at] = static_cast<std::uint32_t>(number + 1);
}

RateWindows::RateWindows(std::size_t max_windows) : table_(std::make_unique<Table>(max_windows)) {}
RateWindows::RateWindows(RateWindows&&) noexcept = default;
RateWindows& RateWindows::operator=(RateWindows&&) noexcept = default;
RateWindows::~RateWindows() = default;

bool RateWindows::admit(const Rule& rule, std::string_view tool, std::uint64_t now_ns) {
  assert(rule.rate);
  const std::string_view key = key_of(tool);
  const std::uint64_t hash = hash_of(rule.id, key);
  Window* window = table_->find(hash, rule.id, key);
  if (window == nullptr) {
    window =
        table_->add({hash, rule.id, std::string(key), now_ns, length_ns(*rule.rate), 0}, now_ns);
    if (window == nullptr) return false;
  }
  window->length_ns = length_ns(*rule.rate);
  if (window->has_ended(now_ns)) {
    window->began_ns = now_ns;
    window->calls = 0;
  }
  if (window->calls >= rule.rate->max) return false;
  ++window->calls;
  return true;
}

}  // namespace aegis::policy
