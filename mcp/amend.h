// SPDX-License-Identifier: Apache-2.0 OR MIT
// Changes to a server's answer that put the broker's tools into it. All that is not named here
// stays byte for byte: what is taken out or put in is a span of the frame, nothing is serialised
// anew.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/message.h"

namespace aegis::mcp {

inline constexpr std::string_view kToolsList = "tools/list";
inline constexpr std::string_view kInitialize = "initialize";
inline constexpr std::string_view kServerDiscover = "server/discover";

struct ToolsAmendment {
  std::span<const std::string_view> hidden;  // names of tools that are taken out of every page
  std::string_view added;  // objects parted by commas, put behind the last page's; may be empty
};
struct AmendedTools {
  std::string frame;                // with its '\n' if the server's had one
  std::vector<std::string> hidden;  // names that were there and are no more
};
/// `frame` answers a tools/list. Nothing when it is no result with an array `tools`, or has not
/// exactly one certain reading: then it must not be relayed as a list.
std::optional<AmendedTools> amend_tools_list(std::string_view frame,
                                             const ToolsAmendment& amendment);

/// `frame` answers initialize or server/discover: `result.capabilities` gets an empty `tools` when
/// it has none. Nothing when there is nothing to change, or it is not certainly such a result.
struct AmendedCapabilities {
  std::string frame;
};
std::optional<AmendedCapabilities> amend_capabilities(std::string_view frame);

/// A tools/list result of our own, for a server that knows no tools/list. `id` is answerable.
std::string encode_tools_list(const Id& id, std::string_view tools);

}  // namespace aegis::mcp
