// SPDX-License-Identifier: Apache-2.0 OR MIT
// The client's requests that ask for tools, or for what a server can do, and what becomes of their
// answers: the broker's tools are put in, the server's tools of the same names taken out. Values
// only; which tools these are is the session's to say.
//
// Fails closed: an answer to tools/list that cannot be amended is not relayed, and while one is
// awaited neither is a line that some reader might take for it. What is refused whatever a list
// says are the calls; the lists are for the client's eyes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
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
    to_errors,  // not to the client: it has no certain reading, and a list is awaited
  };
  How how = How::as_it_is;
  std::string frame = {};
  std::vector<std::string> hidden = {};  // names of the server's tools that were taken out
  bool is_unclear_list = false;          // a list could not be amended: `frame` is an error
};

class ToolLists {
 public:
  enum class Wanted : std::uint8_t { tools, capabilities };
  /// Nothing for a request whose answer is nobody's business here.
  static std::optional<Wanted> wanted_by(std::string_view method);

  /// The request is about to go to the server. False when there is no room to remember it: then it
  /// must not go, or its answer would cross as it is.
  [[nodiscard]] bool expect(const mcp::Id& id, Wanted wanted);
  [[nodiscard]] bool empty() const { return awaited_.empty(); }

  /// `reading` is the server's reading of `frame`.
  Relayed relay(std::string_view frame,
                const mcp::Reading& reading,
                const mcp::ToolsAmendment& amendment);

 private:
  std::optional<Wanted> take(const mcp::Id& id);
  static Relayed amend(std::string_view frame,
                       const mcp::Id& id,
                       const mcp::ToolsAmendment& amendment);

  std::multimap<std::string, Wanted, std::less<>> awaited_;  // by mcp::append_id_key
  std::size_t key_bytes_ = 0;
  std::size_t tools_awaited_ = 0;
};

}  // namespace aegis::wrap
