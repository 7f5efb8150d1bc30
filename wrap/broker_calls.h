// SPDX-License-Identifier: Apache-2.0 OR MIT
// The broker's calls of a session that have an intent and no end yet: found by their ticket when
// they are done, by their id when the client cancels them. Values only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/message.h"
#include "mcp/operation.h"
#include "wrap/calls.h"

namespace aegis::wrap {

struct BrokerCall {
  CallInFlight call;
  mcp::Operation operation = mcp::Operation::read_text;
  mcp::Id::Type id_type = mcp::Id::Type::absent;
  std::string id_lexeme;
  std::string loose_key;            // loose_id_key of the id
  std::string progress_token;       // as the client wrote it; empty: it wants to know nothing
  std::uint64_t total_seconds = 0;  // what it may take at most

  [[nodiscard]] mcp::Id id() const { return {id_type, id_lexeme}; }
};

/// A ticket is the call's intent_seq.
class BrokerCalls {
 public:
  [[nodiscard]] std::size_t size() const { return calls_.size(); }

  void add(BrokerCall call);
  std::optional<BrokerCall> take(std::uint64_t ticket);
  /// The oldest call with this id that is not cancelled yet becomes cancelled.
  std::optional<std::uint64_t> cancel(std::string_view id_key);
  /// Whether one that is not cancelled has this loose_id_key.
  [[nodiscard]] bool has_id(std::string_view loose_key) const;
  /// Whether a client may take this for the progress token of one that is not cancelled.
  [[nodiscard]] bool has_token(const mcp::Id& token) const;
  /// When somebody is to be told of progress, on the monotonic clock; nothing when nobody is.
  [[nodiscard]] std::optional<std::uint64_t> next_progress_ns() const;
  /// The notifications that are due; each is due once.
  std::string take_progress(std::uint64_t now_ns);
  /// Adds to the refusals of every call, once each.
  void note_refusal(std::string_view sentence);
  /// Takes out every call, in the order of their intents.
  std::vector<BrokerCall> take_all();

 private:
  struct Entry {
    BrokerCall call;
    std::uint64_t next_progress_ns;  // UINT64_MAX: never
  };
  std::map<std::uint64_t, Entry> calls_;
};

}  // namespace aegis::wrap
