// SPDX-License-Identifier: Apache-2.0 OR MIT
// A part of a text is enough to find it.
#include "policy/text.h"

#include <cstddef>

#include "mcp/json/printable.h"

namespace aegis::policy {
namespace {

constexpr std::size_t kQuotedCodePoints = 40;

}  // namespace

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (std::size_t shown = 0; !text.empty(); ++shown) {
    if (shown == kQuotedCodePoints) {
      out += "...";
      break;
    }
    text.remove_prefix(mcp::json::append_printable_front(text, mcp::json::Backslash::twice, out));
  }
  return out += '"';
}

}  // namespace aegis::policy
