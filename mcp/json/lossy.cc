// SPDX-License-Identifier: Apache-2.0 OR MIT
// One pass: most of any output is plain text, which is found sixteen bytes at a time and copied in
// runs.
#include "mcp/json/lossy.h"

#include <cstddef>

#include "mcp/json/canonical.h"
#include "mcp/json/string_scan.h"
#include "mcp/json/utf8.h"

namespace aegis::mcp::json {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool is_ascii(char byte) noexcept {
  return static_cast<unsigned char>(byte) < 0x80;
}

/// Printable ASCII that needs no escape.
bool is_plain(char byte) noexcept {
  return is_ascii(byte) && byte >= 0x20 && byte != '"' && byte != '\\';
}

const char* skip_plain(const char* at, const char* end) noexcept {
  while (end - at >= 16) {
    const unsigned length = plain_text_in_16(at, end);
    at += length;
    if (length < 16) return at;
  }
  while (at != end && is_plain(*at))
    ++at;
  return at;
}

}  // namespace

Fidelity append_any_string(std::string_view bytes, std::string& out) {
  Fidelity fidelity = Fidelity::exact;
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  const char* copied = at;  // all before it is in `out`
  out += '"';
  while ((at = skip_plain(at, end)) != end) {
    const std::string_view rest{at, static_cast<std::size_t>(end - at)};
    const std::size_t size = is_ascii(*at) ? 0 : utf8_sequence_size(rest);
    if (size != 0) {
      at += size;
      continue;
    }
    out.append(copied, at);
    if (is_ascii(*at)) {
      append_escape(*at, out);
    } else {
      out += kReplacement;
      fidelity = Fidelity::lossy;
    }
    copied = ++at;
  }
  out.append(copied, end);
  out += '"';
  return fidelity;
}

}  // namespace aegis::mcp::json
