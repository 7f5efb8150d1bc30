// SPDX-License-Identifier: Apache-2.0 OR MIT
// Looks code points up in the generated ranges.
#include "mcp/json/case_fold.h"

#include <algorithm>

#include "mcp/json/case_fold_table.h"
#include "mcp/json/utf8.h"

namespace aegis::mcp::json {

char32_t fold_case(char32_t code) noexcept {
  if (code < 0x80) return code >= U'A' && code <= U'Z' ? code + 0x20 : code;
  const auto* range = std::partition_point(
      kCaseFoldRanges.begin(), kCaseFoldRanges.end(), [code](const CaseFoldRange& candidate) {
        return candidate.last < code;
      });
  if (range == kCaseFoldRanges.end() || code < range->first) return code;
  if ((code - range->first) % range->step != 0) return code;
  return static_cast<char32_t>(static_cast<std::int32_t>(code) + range->delta);
}

void append_folded(std::string_view text, std::string& out) {
  while (!text.empty()) {
    const auto [code, size] = decode_utf8(text);
    append_utf8(fold_case(code), out);
    text.remove_prefix(size);
  }
}

}  // namespace aegis::mcp::json
