// SPDX-License-Identifier: Apache-2.0 OR MIT
// Names are compared by hash first. The hash is not seeded (this part has no source of chance), so
// an attacker can make all of them equal: such a run is sorted by what the names say, which is
// never quadratic.
#include "mcp/json/names.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "mcp/json/case_fold.h"
#include "mcp/json/string_scan.h"

namespace aegis::mcp::json {
namespace {

constexpr unsigned kOffsetBits = 40;
constexpr std::uint64_t kOffsetMask = (std::uint64_t{1} << kOffsetBits) - 1;
/// Up to here all pairs are compared: a handful of integer comparisons beats any sorting.
constexpr std::size_t kFew = 16;
/// Scratch that one huge frame needed is not kept for the next.
constexpr std::size_t kKeptNames = 65'536;

std::uint64_t offset_of(std::uint64_t entry) {
  return entry & kOffsetMask;
}
/// Both have one hash.
bool may_be_equal(std::uint64_t one, std::uint64_t other) {
  return (one ^ other) <= kOffsetMask;
}

std::uint64_t load_8(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

/// The first `size` bytes, fewer than eight, with zeros behind them. Where eight can be read it is
/// one load.
std::uint64_t load_few(const char* at, std::size_t size, const char* readable_end) {
  if (readable_end - at >= 8) return load_8(at) & ((std::uint64_t{1} << 8 * size) - 1);
  std::uint64_t word = 0;
  std::memcpy(&word, at, size);
  return word;
}

struct Hashed {
  std::uint64_t hash;
  bool is_own_fold;  // ASCII without capitals: folding leaves it alone
};

/// A high bit in each byte that is a capital or outside ASCII.
std::uint64_t folding_bytes(std::uint64_t word) {
  constexpr std::uint64_t kEach = 0x0101'0101'0101'0101U;
  const std::uint64_t low = word & kEach * 0x7F;
  const std::uint64_t from_a = low + kEach * (0x80 - 'A');
  const std::uint64_t past_z = low + kEach * (0x80 - 'Z' - 1);
  return ((from_a & ~past_z) | word) & kEach * 0x80;
}

constexpr std::uint64_t kMultiplier = 0x9E37'79B9'7F4A'7C15U;

Hashed hash_last(std::uint64_t mixed, std::uint64_t word, std::uint64_t folding) {
  return {(mixed ^ word) * kMultiplier, (folding | folding_bytes(word)) == 0};
}

Hashed hash_long_name(std::string_view name, const char* readable_end) {
  const char* at = name.data();
  std::size_t left = name.size();
  std::uint64_t mixed = left;
  std::uint64_t folding = 0;
  for (; left >= 8; at += 8, left -= 8) {
    const std::uint64_t word = load_8(at);
    folding |= folding_bytes(word);
    mixed = (mixed ^ word) * kMultiplier;
    mixed ^= mixed >> 32U;
  }
  return hash_last(mixed, load_few(at, left, readable_end), folding);
}

/// `readable_end`: up to where bytes behind the name may be loaded (they do not count).
inline Hashed hash_name(std::string_view name, const char* readable_end) {
  if (name.size() >= 8) return hash_long_name(name, readable_end);
  return hash_last(name.size(), load_few(name.data(), name.size(), readable_end), 0);
}

Hashed hash_name(std::string_view name) {
  return hash_name(name, name.data() + name.size());
}

}  // namespace

void NameTable::start(std::string_view text) {
  assert(text.size() <= kOffsetMask);
  text_ = text;
  names_.clear();
  if (names_.capacity() > kKeptNames) names_.shrink_to_fit();
}

inline void NameTable::add_entry(const Text& name, std::uint64_t hash) {
  const auto offset = static_cast<std::uint64_t>(name.raw.data() - text_.data());
  names_.push_back((hash & ~kOffsetMask) | offset);
}

void NameTable::add(const Text& name) {
  if (!name.has_escapes) {
    add_entry(name, hash_name(name.raw, text_.data() + text_.size()).hash);
    return;
  }
  decoded_.clear();
  append_decoded(name.raw, decoded_);
  add_entry(name, hash_name(decoded_).hash);
}

bool NameTable::add_own_fold(const Text& name) {
  const Hashed hashed = hash_name(name.raw, text_.data() + text_.size());
  if (name.has_escapes || !hashed.is_own_fold) return false;
  add_entry(name, hashed.hash);
  return true;
}

NameTable::Spelling NameTable::add_folded(const Text& name) {
  decoded_.clear();
  one_.clear();
  append_decoded(name.raw, decoded_);
  append_folded(decoded_, one_);
  add_entry(name, hash_name(one_).hash);
  return {decoded_, one_};
}

std::optional<NameTable::Repeat> NameTable::find_repeat(std::size_t first, NameRule rule) {
  const std::size_t count = names_.size() - first;
  if (count < 2) return std::nullopt;
  return count <= kFew ? find_among_few(first, names_.size(), rule) : find_among_many(first, rule);
}

std::optional<NameTable::Repeat> NameTable::find_among_few(std::size_t first,
                                                           std::size_t last,
                                                           NameRule rule) {
  const std::uint64_t* const begin = names_.data() + first;
  const std::uint64_t* const end = names_.data() + last;
  for (const std::uint64_t* later = begin + 1; later < end; ++later) {
    for (const std::uint64_t* earlier = begin; earlier != later; ++earlier) {
      if (!may_be_equal(*earlier, *later)) continue;
      if (compare(*earlier, *later, rule) == 0) return make_repeat(*earlier, *later);
    }
  }
  return std::nullopt;
}

std::optional<NameTable::Repeat> NameTable::find_among_many(std::size_t first, NameRule rule) {
  std::sort(names_.begin() + static_cast<std::ptrdiff_t>(first), names_.end());
  std::optional<Repeat> found;
  std::size_t last = first;
  for (; first < names_.size(); first = last) {
    while (last < names_.size() && may_be_equal(names_[first], names_[last]))
      ++last;
    const auto repeat = find_in_run(first, last, rule);
    if (repeat && (!found || repeat->offset < found->offset)) found = repeat;
  }
  return found;
}

std::optional<NameTable::Repeat> NameTable::find_in_run(std::size_t first,
                                                        std::size_t last,
                                                        NameRule rule) {
  if (last - first <= kFew) return find_among_few(first, last, rule);
  const auto begin = names_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = names_.begin() + static_cast<std::ptrdiff_t>(last);
  const auto find_neighbours = [this, begin, end, rule]() -> std::optional<Repeat> {
    const auto equal = [this, rule](std::uint64_t one, std::uint64_t other) {
      return compare(one, other, rule) == 0;
    };
    const auto found = std::adjacent_find(begin, end, equal);
    if (found == end) return std::nullopt;
    return make_repeat(*found, *(found + 1));
  };
  // One name a million times over is found without sorting.
  if (const auto repeat = find_neighbours()) return repeat;
  std::sort(begin, end, [this, rule](std::uint64_t one, std::uint64_t other) {
    const int order = compare(one, other, rule);
    return order != 0 ? order < 0 : one < other;
  });
  return find_neighbours();
}

std::string_view NameTable::raw_name(std::uint64_t entry) const {
  const char* const at = text_.data() + offset_of(entry);
  const char* const quote = find_string_end(at, text_.data() + text_.size()).end;
  return {at, static_cast<std::size_t>(quote - at)};
}

std::string_view NameTable::spelled(std::uint64_t entry, NameRule rule, std::string& scratch) {
  const std::string_view raw = raw_name(entry);
  if (rule == NameRule::exact && raw.find('\\') == std::string_view::npos) return raw;
  decoded_.clear();
  append_decoded(raw, decoded_);
  if (rule == NameRule::exact) return scratch = decoded_;
  scratch.clear();
  append_folded(decoded_, scratch);
  return scratch;
}

int NameTable::compare(std::uint64_t one, std::uint64_t other, NameRule rule) {
  return spelled(one, rule, one_).compare(spelled(other, rule, other_));
}

NameTable::Repeat NameTable::make_repeat(std::uint64_t one, std::uint64_t other) {
  return {offset_of(other), compare(one, other, NameRule::exact) == 0};
}

}  // namespace aegis::mcp::json
