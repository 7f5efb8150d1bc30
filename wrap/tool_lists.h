// SPDX-License-Identifier: Apache-2.0 OR MIT
// What becomes of the frames of a server with a broker beside it: only answers to what it was asked
// are relayed, once, and into those that list tools or tell capabilities the broker's tools are
// put. Values only; which tools these are is the session's to say.
//
// Fails closed: what some reader may take for another message than this one does is not relayed,
// nor is a list that cannot be amended. Else a server could answer the broker's calls in its stead.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/amend.h"
#include "mcp/message.h"
#include "mcp/peek.h"
#include "wrap/asked.h"
#include "wrap/left_out.h"

namespace aegis::wrap {

/// What is relayed in the place of a server's frame.
struct Relayed {
  enum class How : std::uint8_t {
    as_it_is,
    replaced,  // by `frame`
    nothing,
  };
  How how = How::as_it_is;
  std::string frame = {};
  LeftOut left_out = LeftOut::no;         // else `frame` is errors for those who asked
  std::vector<std::string> hidden = {};   // names of the server's tools that were taken out
  std::vector<std::string> refused = {};  // mcp::append_id_key of what those errors answer
};

class ToolLists {
 public:
  using Wanted = AskedTable::Wanted;
  static Wanted wanted_by(std::string_view method);

  AskedTable& asked() { return asked_; }
  [[nodiscard]] const AskedTable& asked() const { return asked_; }

  /// `peek` is of this very frame, and clear.
  Relayed relay(std::string_view frame,
                const mcp::ServerPeek& peek,
                const mcp::ToolsAmendment& amendment);
  /// Of a frame that answers these: each that was asked is answered with an error, for its client
  /// must not wait for what it will never get.
  Relayed leave_out(const std::vector<mcp::Id>& answered, LeftOut why);

 private:
  static Relayed amend(std::string_view frame,
                       const mcp::Id& id,
                       const mcp::ToolsAmendment& amendment);
  Relayed relay_batch(const std::vector<mcp::Id>& answered);

  AskedTable asked_;
};

}  // namespace aegis::wrap
