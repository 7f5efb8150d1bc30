// SPDX-License-Identifier: Apache-2.0 OR MIT
// The inner loops over strings, 16 and 64 bytes at a time where the machine has SSE2 (every
// x86-64), byte by byte elsewhere and at the end of a text. They never read outside [at, end).
#pragma once

#include <bit>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace aegis::mcp::json {

#if defined(__SSE2__)
/// The high bit in each byte that is no plain text: '"', '\\', control characters and what is
/// outside ASCII. Of the last two a saturating subtraction leaves a negative byte, and of no other.
inline __m128i special_bytes(__m128i bytes) noexcept {
  const __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
  const __m128i backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
  const __m128i outside = _mm_subs_epi8(bytes, _mm_set1_epi8(0x20));
  return _mm_or_si128(_mm_or_si128(quote, backslash), outside);
}
#endif

/// How many bytes of plain text stand at `at`, if fewer than 16; 16 also when fewer bytes are left
/// to look at.
inline unsigned plain_text_in_16(const char* at, const char* end) noexcept {
#if defined(__SSE2__)
  if (end - at < 16) return 16;
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  const auto special = static_cast<unsigned>(_mm_movemask_epi8(special_bytes(bytes)));
  return static_cast<unsigned>(std::countr_zero(special | 0x10000U));
#else
  static_cast<void>(at);
  static_cast<void>(end);
  return 16;
#endif
}

/// "\n" and its like: what may follow a backslash, but for 'u'.
inline bool is_short_escape(char letter) noexcept {
  switch (letter) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
      return true;
    default:
      return false;
  }
}

struct StringPart {
  const char* end;   // behind the part, or the text's end
  bool has_escapes;  // a backslash stands in it
};
/// As much of a string as is plain text and short escapes. What follows is a quote, "\u", what no
/// string may hold, or a letter outside ASCII.
StringPart skip_easy_text(const char* at, const char* end) noexcept;

/// All of the string whose content starts at `at`, whatever it is, up to its quote.
StringPart find_string_end(const char* at, const char* end) noexcept;

// The same byte by byte: for machines without SSE2, for the ends of texts, and for tests to compare
// with.
StringPart skip_easy_text_portable(const char* at, const char* end) noexcept;
StringPart find_string_end_portable(const char* at, const char* end) noexcept;

}  // namespace aegis::mcp::json
