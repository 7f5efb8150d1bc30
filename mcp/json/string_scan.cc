// SPDX-License-Identifier: Apache-2.0 OR MIT
// Plain SSE2: it is in the x86-64 baseline, so there is nothing to detect when the program starts,
// and the memory is the limit for long texts anyway.
#include "mcp/json/string_scan.h"

#include <bit>
#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace aegis::mcp::json {

const char* skip_plain_text_portable(const char* at, const char* end) noexcept {
  while (at != end) {
    const auto byte = static_cast<unsigned char>(*at);
    if (byte < 0x20 || byte >= 0x80 || byte == '"' || byte == '\\') break;
    ++at;
  }
  return at;
}

StringEnd find_string_end_portable(const char* at, const char* end) noexcept {
  bool has_escapes = false;
  while (at != end && *at != '"') {
    const bool is_escape = *at == '\\';
    has_escapes |= is_escape;
    at += is_escape && end - at > 1 ? 2 : 1;
  }
  return {at, has_escapes};
}

#if defined(__SSE2__)
namespace {

__m128i load(const char* at) noexcept {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}

unsigned to_mask(__m128i bytes) noexcept {
  return static_cast<unsigned>(_mm_movemask_epi8(bytes));
}

bool is_plain_64(const char* at) noexcept {
  const __m128i first = _mm_or_si128(special_bytes(load(at)), special_bytes(load(at + 16)));
  const __m128i last = _mm_or_si128(special_bytes(load(at + 32)), special_bytes(load(at + 48)));
  return to_mask(_mm_or_si128(first, last)) == 0;
}

struct Masks {
  std::uint64_t quotes;
  std::uint64_t backslashes;
};

/// One bit for each of the 64 bytes from `at`.
Masks find_64(const char* at) noexcept {
  Masks masks{0, 0};
  for (unsigned place = 0; place < 64; place += 16) {
    const __m128i bytes = load(at + place);
    const std::uint64_t quotes = to_mask(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')));
    const std::uint64_t backslashes = to_mask(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
    masks.quotes |= quotes << place;
    masks.backslashes |= backslashes << place;
  }
  return masks;
}

/// The bytes that a backslash escapes. `carry`: the first byte is one, on return: the first byte of
/// the next block is. In a run of backslashes each second one is escaped; subtracting each run's
/// first bit from the odd positions tells both kinds of run apart without a branch (Langdale and
/// Lemire, "Parsing gigabytes of JSON per second", section 3.1.1).
std::uint64_t escaped_bytes(std::uint64_t backslashes, std::uint64_t& carry) noexcept {
  constexpr std::uint64_t kOdd = 0xAAAA'AAAA'AAAA'AAAAU;
  const std::uint64_t starts = backslashes & ~carry;
  const std::uint64_t ends = (((starts << 1U) | kOdd) - starts) ^ kOdd;
  const std::uint64_t escaped = ends ^ (backslashes | carry);
  carry = (ends & backslashes) >> 63U;
  return escaped;
}

}  // namespace

const char* skip_plain_text(const char* at, const char* end) noexcept {
  // Most runs are short; only behind 64 plain bytes is it worth looking at 64 at once.
  for (int step = 0; step < 4; ++step, at += 16) {
    if (end - at < 16) return skip_plain_text_portable(at, end);
    const unsigned length = plain_text_in_16(at, end);
    if (length < 16) return at + length;
  }
  while (end - at >= 64 && is_plain_64(at))
    at += 64;
  while (end - at >= 16) {
    const unsigned length = plain_text_in_16(at, end);
    if (length < 16) return at + length;
    at += 16;
  }
  return skip_plain_text_portable(at, end);
}

StringEnd find_string_end(const char* at, const char* end) noexcept {
  std::uint64_t carry = 0;
  bool has_escapes = false;
  while (end - at >= 64) {
    auto [quotes, backslashes] = find_64(at);
    if ((backslashes | carry) != 0) quotes &= ~escaped_bytes(backslashes, carry);
    if (quotes != 0) {
      const int index = std::countr_zero(quotes);
      const std::uint64_t before = (std::uint64_t{1} << index) - 1;
      return {at + index, has_escapes || (backslashes & before) != 0};
    }
    has_escapes |= backslashes != 0;
    at += 64;
  }
  if (carry != 0 && at != end) ++at;
  const StringEnd tail = find_string_end_portable(at, end);
  return {tail.quote, has_escapes || tail.has_escapes};
}

#else

const char* skip_plain_text(const char* at, const char* end) noexcept {
  return skip_plain_text_portable(at, end);
}

StringEnd find_string_end(const char* at, const char* end) noexcept {
  return find_string_end_portable(at, end);
}

#endif

}  // namespace aegis::mcp::json
