// SPDX-License-Identifier: Apache-2.0 OR MIT
// See calls.h.
#include "wrap/calls.h"

#include <utility>

namespace aegis::wrap {

void CallTable::add(CallInFlight call) {
  std::string key = call.id_key;
  calls_.emplace(std::move(key), std::move(call));
}

std::optional<CallInFlight> CallTable::take(std::string_view id_key) {
  const auto found = calls_.lower_bound(id_key);
  if (found == calls_.end() || found->first != id_key) return std::nullopt;
  CallInFlight call = std::move(found->second);
  calls_.erase(found);
  return call;
}

bool CallTable::cancel(std::string_view id_key) {
  for (auto it = calls_.lower_bound(id_key); it != calls_.end() && it->first == id_key; ++it) {
    if (it->second.is_cancelled) continue;
    it->second.is_cancelled = true;
    return true;
  }
  return false;
}

void CallTable::note_refusal(std::string_view sentence) {
  for (auto& [key, call] : calls_) {
    std::size_t used = 0;
    for (const std::string& each : call.refusals)
      used += each.size();
    if (used + sentence.size() <= audit::kMaxRefusalBytes) call.refusals.emplace_back(sentence);
  }
}

std::map<std::uint64_t, CallInFlight> CallTable::take_all() {
  std::map<std::uint64_t, CallInFlight> ordered;
  for (auto& [key, call] : calls_)
    ordered.emplace(call.intent_seq, std::move(call));
  calls_.clear();
  return ordered;
}

}  // namespace aegis::wrap
