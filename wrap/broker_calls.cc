// SPDX-License-Identifier: Apache-2.0 OR MIT
// See broker_calls.h.
#include "wrap/broker_calls.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "mcp/broker_answer.h"
#include "wrap/limits.h"

namespace aegis::wrap {
namespace {

constexpr std::uint64_t kNever = UINT64_MAX;
constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr std::uint64_t kPeriodNs = std::chrono::nanoseconds(kProgressPeriod).count();

}  // namespace

void BrokerCalls::add(BrokerCall call) {
  const std::uint64_t ticket = call.call.intent_seq;
  const bool is_silent = call.progress_token.empty();
  const std::uint64_t next = is_silent ? kNever : call.call.started_ns + kPeriodNs;
  calls_.emplace(ticket, Entry{std::move(call), next});
}

std::optional<BrokerCall> BrokerCalls::take(std::uint64_t ticket) {
  const auto found = calls_.find(ticket);
  if (found == calls_.end()) return std::nullopt;
  BrokerCall call = std::move(found->second.call);
  calls_.erase(found);
  return call;
}

std::optional<std::uint64_t> BrokerCalls::cancel(std::string_view id_key) {
  for (auto& [ticket, entry] : calls_) {
    CallInFlight& call = entry.call.call;
    if (call.id_key != id_key || call.is_cancelled) continue;
    call.is_cancelled = true;
    entry.next_progress_ns = kNever;
    return ticket;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> BrokerCalls::next_progress_ns() const {
  std::uint64_t next = kNever;
  for (const auto& [ticket, entry] : calls_)
    next = std::min(next, entry.next_progress_ns);
  if (next == kNever) return std::nullopt;
  return next;
}

std::string BrokerCalls::take_progress(std::uint64_t now_ns) {
  std::string frames;
  for (auto& [ticket, entry] : calls_) {
    if (entry.next_progress_ns > now_ns) continue;
    const BrokerCall& call = entry.call;
    // MCP: the value must grow with each notification. Each is a period after the one before.
    const std::uint64_t seconds = (now_ns - call.call.started_ns) / kNanosecondsPerSecond;
    // One that had to wait for its turn takes longer than it may run.
    frames +=
        mcp::encode_progress({call.progress_token, seconds, std::max(call.total_seconds, seconds)});
    entry.next_progress_ns = call.call.started_ns + seconds * kNanosecondsPerSecond + kPeriodNs;
  }
  return frames;
}

void BrokerCalls::note_refusal(std::string_view sentence) {
  for (auto& [ticket, entry] : calls_) {
    std::vector<std::string>& refusals = entry.call.call.refusals;
    if (std::find(refusals.begin(), refusals.end(), sentence) == refusals.end())
      refusals.emplace_back(sentence);
  }
}

std::vector<BrokerCall> BrokerCalls::take_all() {
  std::vector<BrokerCall> taken;
  for (auto& [ticket, entry] : calls_)
    taken.push_back(std::move(entry.call));
  calls_.clear();
  return taken;
}

}  // namespace aegis::wrap
