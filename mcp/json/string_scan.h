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
/// 0xFF in each byte that is no plain text: '"', '\\', control characters and what is outside
/// ASCII. Bytes from 0x80 on are negative here, so that one comparison finds the last two.
inline __m128i special_bytes(__m128i bytes) noexcept {
  const __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
  const __m128i backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
  const __m128i outside = _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20));
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
