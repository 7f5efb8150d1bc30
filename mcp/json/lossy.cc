// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "mcp/json/lossy.h"

#include <cstddef>

#include "mcp/json/utf8.h"

namespace aegis::mcp::json {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// How many bytes `text` begins with that are well-formed.
std::size_t count_well_formed(std::string_view text) noexcept {
  std::size_t at = 0;
  while (at < text.size()) {
    const bool is_ascii = static_cast<unsigned char>(text[at]) < 0x80;
    const std::size_t size = is_ascii ? 1 : utf8_sequence_size(text.substr(at));
    if (size == 0) break;
    at += size;
  }
  return at;
}

}  // namespace

std::string_view as_utf8(std::string_view bytes, std::string& scratch) {
  std::size_t good = count_well_formed(bytes);
  if (good == bytes.size()) return bytes;
  scratch.clear();
  scratch.reserve(bytes.size() + bytes.size() / 2);
  while (good < bytes.size()) {
    scratch.append(bytes.substr(0, good));
    scratch += kReplacement;
    bytes.remove_prefix(good + 1);
    good = count_well_formed(bytes);
  }
  scratch.append(bytes);
  return scratch;
}

}  // namespace aegis::mcp::json
