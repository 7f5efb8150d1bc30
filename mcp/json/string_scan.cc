// SPDX-License-Identifier: Apache-2.0 OR MIT
// Plain SSE2: it is in the x86-64 baseline, so there is nothing to detect when the program starts,
// and the memory is the limit for long texts anyway.
#include "mcp/json/string_scan.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace aegis::mcp::json {

StringPart skip_easy_text_portable(const char* at, const char* end) noexcept {
  bool has_escapes = false;
  while (at != end) {
    const auto byte = static_cast<unsigned char>(*at);
    if (byte == '\\' && end - at > 1 && is_short_escape(at[1])) {
      has_escapes = true;
      at += 2;
    } else if (byte < 0x20 || byte >= 0x80 || byte == '"' || byte == '\\') {
      break;
    } else {
      ++at;
    }
  }
  return {at, has_escapes};
}

StringPart find_string_end_portable(const char* at, const char* end) noexcept {
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

/// One bit for each of the 64 bytes from `at` for which `judge` sets the byte's high bit.
template <typename Judge>
std::uint64_t mask_64(const char* at, Judge judge) noexcept {
  std::uint64_t mask = 0;
  for (unsigned place = 0; place < 64; place += 16) {
    mask |= std::uint64_t{to_mask(judge(load(at + place)))} << place;
  }
  return mask;
}

std::uint64_t find_64(const char* at, char wanted) noexcept {
  return mask_64(at,
                 [wanted](__m128i bytes) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(wanted)); });
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

/// The lowest `count` bits.
std::uint64_t below(int count) noexcept {
  return count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

/// So many special bytes in 64 are worth more work than one after the other.
constexpr int kManyEscapes = 4;

/// How many of the 64 bytes from `at` are plain text and short escapes; 63 when the last begins an
/// escape.
int easy_text_in_64(const char* at, std::uint64_t backslashes) noexcept {
  std::uint64_t carry = 0;
  const std::uint64_t escaped = escaped_bytes(backslashes, carry);
  const std::uint64_t quotes = find_64(at, '"');
  std::uint64_t letters = quotes | backslashes;
  for (const char letter : {'/', 'b', 'f', 'n', 'r', 't'})
    letters |= find_64(at, letter);
  const std::uint64_t outside =
      mask_64(at, [](__m128i bytes) { return _mm_subs_epi8(bytes, _mm_set1_epi8(0x20)); });
  const std::uint64_t long_escapes = (escaped & ~letters) >> 1U | carry << 63U;
  return std::countr_zero((quotes & ~escaped) | outside | long_escapes);
}

/// Steps over a short escape, if `part` ends before one.
inline bool skip_short_escape(StringPart& part, const char* end) noexcept {
  if (*part.end != '\\' || end - part.end < 2 || !is_short_escape(part.end[1])) return false;
  part.has_escapes = true;
  part.end += 2;
  return true;
}

/// Steps over at most 16 bytes. False where the easy text ends.
inline bool skip_easy_16(StringPart& part, const char* end) noexcept {
  const unsigned length = plain_text_in_16(part.end, end);
  part.end += length;
  return length == 16 || skip_short_escape(part, end);
}

/// Steps over at most 64 bytes. False where the easy text ends.
bool skip_easy_64(StringPart& part, const char* end) noexcept {
  const std::uint64_t special = mask_64(part.end, special_bytes);
  const int length = std::countr_zero(special);
  if (length < 64 && std::popcount(special) >= kManyEscapes && part.end[length] == '\\') {
    const std::uint64_t backslashes = find_64(part.end, '\\');
    const int easy = easy_text_in_64(part.end, backslashes);
    part.has_escapes |= (backslashes & below(easy)) != 0;
    part.end += easy;
    return easy >= 63;
  }
  part.end += length;
  return length == 64 || skip_short_escape(part, end);
}

}  // namespace

StringPart skip_easy_text(const char* at, const char* end) noexcept {
  StringPart part{at, false};
  // Most strings are short: only behind some bytes is it worth looking at 64 at once.
  for (int look = 0; look < 2 && end - part.end >= 16; ++look) {
    if (!skip_easy_16(part, end)) return part;
  }
  while (end - part.end >= 64) {
    if (!skip_easy_64(part, end)) return part;
  }
  while (end - part.end >= 16) {
    if (!skip_easy_16(part, end)) return part;
  }
  const StringPart tail = skip_easy_text_portable(part.end, end);
  return {tail.end, part.has_escapes || tail.has_escapes};
}

StringPart find_string_end(const char* at, const char* end) noexcept {
  if (const unsigned length = plain_text_in_16(at, end); length < 16 && at[length] == '"') {
    return {at + length, false};
  }
  std::uint64_t carry = 0;
  bool has_escapes = false;
  while (end - at >= 64) {
    std::uint64_t quotes = find_64(at, '"');
    const std::uint64_t backslashes = find_64(at, '\\');
    if ((backslashes | carry) != 0) quotes &= ~escaped_bytes(backslashes, carry);
    if (quotes != 0) {
      const int index = std::countr_zero(quotes);
      return {at + index, has_escapes || (backslashes & below(index)) != 0};
    }
    has_escapes |= backslashes != 0;
    at += 64;
  }
  if (carry != 0 && at != end) ++at;
  const StringPart tail = find_string_end_portable(at, end);
  return {tail.end, has_escapes || tail.has_escapes};
}

#else

StringPart skip_easy_text(const char* at, const char* end) noexcept {
  return skip_easy_text_portable(at, end);
}

StringPart find_string_end(const char* at, const char* end) noexcept {
  return find_string_end_portable(at, end);
}

#endif

}  // namespace aegis::mcp::json
