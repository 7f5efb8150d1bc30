// SPDX-License-Identifier: Apache-2.0 OR MIT
// The requests that a server with a broker beside it was sent and has not answered, by their ids.
// Values only: what becomes of an answer is ToolLists' to say, of a request the session's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "mcp/message.h"

namespace aegis::wrap {

/// One text for all ids that some client takes for one: beyond all spellings of a number, clients
/// whose ids are numbers take "1" for 1 (both SDKs of the protocol's do).
std::string loose_id_key(const mcp::Id& id);

class AskedTable {
 public:
  /// What the broker has to put into an answer.
  enum class Wanted : std::uint8_t { other, tools, capabilities };
  /// Of requests: how many, and the bytes of their keys together.
  struct Load {
    std::size_t count = 0;
    std::size_t bytes = 0;

    void add(const mcp::Id& id);
  };

  /// Whether so much more fits below kMaxAsked and kMaxAskedBytes (limits.h). For its sake those
  /// that the client has cancelled are forgotten, in that order: most of them nobody answers.
  [[nodiscard]] bool make_room(const Load& load);
  /// There is room for it.
  void add(const mcp::Id& id, Wanted wanted);
  /// Takes out the one that this answers: the oldest whose id is of the same JSON type, or else of
  /// the other.
  std::optional<Wanted> take(const mcp::Id& id);
  /// The client has cancelled the oldest with this id that is not cancelled yet, if there is one.
  /// It can still be answered.
  void cancel(const mcp::Id& id);
  /// Nobody waits for those with this id that were cancelled any more.
  void forget_cancelled(const mcp::Id& id);
  /// One with this id that is not cancelled.
  [[nodiscard]] bool awaits(const mcp::Id& id) const;
  [[nodiscard]] bool awaits_tools() const { return tools_awaited_ > 0; }

 private:
  struct Asked {
    Wanted wanted;
    mcp::Id::Type type;
    std::uint64_t cancelled_as = 0;  // its key in cancelled_; 0: it is not cancelled
  };
  // Equal keys keep the order in which they were inserted ([associative.reqmts]).
  using Table = std::multimap<std::string, Asked>;

  void erase(Table::iterator entry);

  Table asked_;
  std::map<std::uint64_t, Table::iterator> cancelled_;  // in the order of their cancellation
  std::uint64_t cancellations_ = 0;
  std::size_t key_bytes_ = 0;
  std::size_t tools_awaited_ = 0;
};

}  // namespace aegis::wrap
