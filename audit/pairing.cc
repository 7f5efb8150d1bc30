// SPDX-License-Identifier: Apache-2.0 OR MIT
// An ordered map, not a hashed one: call ids are the file's to choose, and a tree has no bad case.
#include "audit/pairing.h"

#include <algorithm>
#include <utility>

namespace aegis::audit {
namespace {

/// What an entry takes in all: its texts, the node, and what the allocator adds, rounded up.
std::size_t cost(std::string_view call_id, std::string_view tool_id) {
  return 256 + call_id.size() + tool_id.size();
}

}  // namespace

Pairing::Added Pairing::add(Call call) {
  const std::size_t bytes = cost(call.call_id, call.tool_id);
  if (bytes_ + bytes > kMaxPairing) {
    is_overfull_ = true;
    return Added::full;
  }
  Open open{call.seq, std::move(call.tool_id), call.request_digest};
  const bool is_new = calls_.try_emplace(std::move(call.call_id), std::move(open)).second;
  if (!is_new) return Added::repeated;
  bytes_ += bytes;
  return Added::added;
}

Pairing::Match Pairing::close(std::string_view call_id,
                              std::string_view tool_id,
                              const FrameDigest& request_digest) {
  const auto found = calls_.find(call_id);
  if (found == calls_.end()) return Match::no_intent;
  if (found->second.tool_id != tool_id) return Match::other_tool;
  if (found->second.request_digest != request_digest) return Match::other_request;
  bytes_ -= cost(call_id, tool_id);
  calls_.erase(found);
  return Match::paired;
}

std::vector<Pairing::Call> Pairing::take_all() {
  std::vector<Call> calls;
  calls.reserve(calls_.size());
  for (auto node = calls_.begin(); node != calls_.end();) {
    auto taken = calls_.extract(node++);
    Open& open = taken.mapped();
    calls.push_back(
        {open.seq, std::move(taken.key()), std::move(open.tool_id), open.request_digest});
  }
  std::sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) { return a.seq < b.seq; });
  bytes_ = 0;
  is_overfull_ = false;
  return calls;
}

}  // namespace aegis::audit
