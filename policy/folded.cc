// SPDX-License-Identifier: Apache-2.0 OR MIT
// Most names are ASCII, so those are not decoded.
#include "policy/folded.h"

#include <algorithm>
#include <cstddef>

#include "mcp/json/case_fold.h"
#include "mcp/json/utf8.h"

namespace aegis::policy {

std::string folded(std::string_view name) {
  std::string out;
  out.reserve(name.size());
  while (!name.empty()) {
    const auto first = static_cast<unsigned char>(name.front());
    if (first < 0x80) {
      out += static_cast<char>(mcp::json::fold_case(first));
      name.remove_prefix(1);
      continue;
    }
    const std::size_t size = mcp::json::utf8_sequence_size(name);
    if (size == 0) {
      out += name.front();
    } else {
      mcp::json::append_folded(name.substr(0, size), out);
    }
    name.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return out;
}

}  // namespace aegis::policy
