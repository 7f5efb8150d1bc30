// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a server with a broker beside it was asked and has not answered, and what becomes of its
// frames: only answers to what it was asked are relayed, once, and into those that list tools or
// tell capabilities the broker's tools are put. Values only; which tools these are is the session's
// to say.
//
// Fails closed: what some reader may take for another message than this one does is not relayed,
// nor is a list that cannot be amended. Else a server could answer the broker's calls in its stead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/amend.h"
#include "mcp/message.h"

namespace aegis::wrap {

/// What is relayed in the place of a server's frame.
struct Relayed {
  enum class How : std::uint8_t {
    as_it_is,
    replaced,   // by `frame`
    to_errors,  // not to the client
  };
  How how = How::as_it_is;
  std::string frame = {};
  std::vector<std::string> hidden = {};  // names of the server's tools that were taken out
  bool is_unclear_list = false;          // a list could not be amended: `frame` is an error
  bool is_unasked = false;               // to_errors: it answers what was not asked
};

class ToolLists {
 public:
  enum class Wanted : std::uint8_t { other, tools, capabilities };
  static Wanted wanted_by(std::string_view method);

  /// A request with this id is about to go to the server.
  void expect(const mcp::Id& id, Wanted wanted);
  /// It did not go after all.
  void forget(const mcp::Id& id) { static_cast<void>(take(id)); }
  [[nodiscard]] bool awaits_tools() const { return tools_awaited_ > 0; }

  Relayed relay(std::string_view frame, const mcp::ToolsAmendment& amendment);
  /// A frame that is not clear may be meant as the answer to `id`: what the client gets instead,
  /// when that was asked.
  std::optional<std::string> refuse_unclear(const mcp::Id& id);

 private:
  struct Asked {
    Wanted wanted;
    std::uint64_t order;
  };
  using Table = std::multimap<std::string, Asked, std::less<>>;

  std::optional<Wanted> take(const mcp::Id& id);
  void erase(Table::iterator entry);
  [[nodiscard]] static std::string key_of(const mcp::Id& id);
  static Relayed amend(std::string_view frame,
                       const mcp::Id& id,
                       const mcp::ToolsAmendment& amendment);
  Relayed relay_batch(const std::vector<mcp::Id>& answered);

  Table asked_;
  std::map<std::uint64_t, Table::iterator> by_age_;
  std::uint64_t next_order_ = 0;
  std::size_t key_bytes_ = 0;
  std::size_t tools_awaited_ = 0;
};

}  // namespace aegis::wrap
