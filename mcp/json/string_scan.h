// SPDX-License-Identifier: Apache-2.0 OR MIT
// The inner loops over strings, 16 and 64 bytes at a time where the machine has SSE2 (every
// x86-64), byte by byte elsewhere and at the end of a text. They never read outside [at, end).
#pragma once

namespace aegis::mcp::json {

/// The first byte that a strict reader must look at: '"', '\\', a control character or one outside
/// ASCII; `end` when there is none.
const char* skip_plain_text(const char* at, const char* end) noexcept;

struct StringEnd {
  const char* quote;  // `end` when there is none
  bool has_escapes;   // a backslash stands before it
};
/// Where the string ends whose content starts at `at`, whatever the content is.
StringEnd find_string_end(const char* at, const char* end) noexcept;

// The same byte by byte: for machines without SSE2, for the ends of texts, and for tests to compare
// with.
const char* skip_plain_text_portable(const char* at, const char* end) noexcept;
StringEnd find_string_end_portable(const char* at, const char* end) noexcept;

}  // namespace aegis::mcp::json
