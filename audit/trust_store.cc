// SPDX-License-Identifier: Apache-2.0 OR MIT
// The text of a trust store.
#include "audit/verify.h"

namespace aegis::audit {

TrustStore parse_trust_store(std::string_view text) {
  TrustStore store;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos || line.front() == '#') continue;
    const auto key = parse_public_key(line);
    if (!key) {
      store.malformed_line = number;
      return store;
    }
    store.keys.push_back(*key);
  }
  return store;
}

}  // namespace aegis::audit
