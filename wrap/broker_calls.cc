// SPDX-License-Identifier: Apache-2.0 OR MIT
// See broker_calls.h.
#include "wrap/broker_calls.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "mcp/broker_answer.h"
#include "wrap/limits.h"

namespace aegis::wrap {
namespace {

constexpr std::uint64_t kNever = UINT64_MAX;
constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr std::uint64_t kPeriodNs = std::chrono::nanoseconds(kProgressPeriod).count();

/// Digits behind "0b" or "0o"; nothing when there is none or another character.
std::optional<double> read_digits(std::string_view digits, int base) {
  std::uint64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, base);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return static_cast<double>(value);
}

/// What JavaScript's Number() makes of a token (ECMA-262, StringToNumber), for the TypeScript SDK
/// looks it up by that: " 0x1 " is 1. Whatever is a number there is one here, and a little more.
std::optional<double> number_of(const mcp::Id& token) {
  std::string text;
  mcp::append_id_key(token, text);
  text.erase(0, 1);  // its type
  if (token.type == mcp::Id::Type::number) text = token.lexeme;
  if (!token.is_answerable()) return std::nullopt;
  const auto is_shown = [](char c) { return c > ' ' && c <= '~'; };  // else some reader's space
  const auto first = std::find_if(text.begin(), text.end(), is_shown);
  const auto last = std::find_if(text.rbegin(), std::make_reverse_iterator(first), is_shown);
  text = std::string(first, last.base());
  if (text.empty()) return 0;
  if (text.starts_with("0b") || text.starts_with("0B"))
    return read_digits(std::string_view(text).substr(2), 2);
  if (text.starts_with("0o") || text.starts_with("0O"))
    return read_digits(std::string_view(text).substr(2), 8);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size()) return std::nullopt;
  return value;
}

/// As the client wrote it.
mcp::Id token_of(const BrokerCall& call) {
  const bool is_string = call.progress_token.starts_with('"');
  return {is_string ? mcp::Id::Type::string : mcp::Id::Type::number, call.progress_token};
}

bool is_taken_for(const mcp::Id& token, const mcp::Id& other) {
  std::string keys[2];
  mcp::append_id_key(token, keys[0]);
  mcp::append_id_key(other, keys[1]);
  if (keys[0] == keys[1]) return true;
  const auto number = number_of(token);
  return number && number == number_of(other);
}

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

bool BrokerCalls::has_id(std::string_view loose_key) const {
  return std::any_of(calls_.begin(), calls_.end(), [&](const auto& each) {
    const BrokerCall& call = each.second.call;
    return !call.call.is_cancelled && call.loose_key == loose_key;
  });
}

bool BrokerCalls::has_token(const mcp::Id& token) const {
  return std::any_of(calls_.begin(), calls_.end(), [&](const auto& each) {
    const BrokerCall& call = each.second.call;
    const bool is_told = !call.progress_token.empty() && !call.call.is_cancelled;
    return is_told && is_taken_for(token, token_of(call));
  });
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
