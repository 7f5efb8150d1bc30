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
constexpr std::size_t kKeptNames = 64 * 1024;

std::uint64_t offset_of(std::uint64_t entry) {
  return entry & kOffsetMask;
}
std::uint64_t hash_of(std::uint64_t entry) {
  return entry >> kOffsetBits;
}

template <typename Word>
std::uint64_t load(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

/// The last one to seven bytes of a name. Loads overlap instead of looping.
std::uint64_t load_tail(const char* at, std::size_t size) {
  if (size >= 4) return load<std::uint32_t>(at) << 32U | load<std::uint32_t>(at + size - 4);
  if (size == 0) return 0;
  return load<std::uint8_t>(at) << 16U | load<std::uint8_t>(at + size / 2) << 8U |
         load<std::uint8_t>(at + size - 1);
}

std::uint64_t hash(std::string_view name) {
  constexpr std::uint64_t kMultiplier = 0x9E37'79B9'7F4A'7C15U;
  std::uint64_t mixed = name.size() * kMultiplier;
  const auto mix = [&mixed](std::uint64_t word) {
    mixed = (mixed ^ word) * kMultiplier;
    mixed ^= mixed >> 32U;
  };
  const char* at = name.data();
  std::size_t left = name.size();
  for (; left >= 8; at += 8, left -= 8)
    mix(load<std::uint64_t>(at));
  mix(load_tail(at, left));
  return mixed * kMultiplier;
}

/// Lower-case ASCII: what folding leaves alone.
bool is_own_fold(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char character) {
    const auto byte = static_cast<unsigned char>(character);
    return byte < 0x80 && (byte < 'A' || byte > 'Z');
  });
}

}  // namespace

void NameTable::start(std::string_view text) {
  assert(text.size() <= kOffsetMask);
  text_ = text;
  names_.clear();
  if (names_.capacity() > kKeptNames) names_.shrink_to_fit();
}

void NameTable::add_entry(Text name, std::uint64_t hash) {
  const auto offset = static_cast<std::uint64_t>(name.raw.data() - text_.data());
  names_.push_back(hash >> kOffsetBits << kOffsetBits | offset);
}

void NameTable::add(Text name) {
  if (!name.has_escapes) {
    add_entry(name, hash(name.raw));
    return;
  }
  one_.clear();
  append_decoded(name.raw, one_);
  add_entry(name, hash(one_));
}

NameTable::Folded NameTable::add_folded(Text name) {
  if (!name.has_escapes && is_own_fold(name.raw)) {
    add_entry(name, hash(name.raw));
    return {name.raw, false};
  }
  decoded_.clear();
  one_.clear();
  append_decoded(name.raw, decoded_);
  append_folded(decoded_, one_);
  add_entry(name, hash(one_));
  return {one_, one_ != decoded_};
}

std::optional<NameTable::Repeat> NameTable::find_repeat(std::size_t first, NameRule rule) {
  const std::size_t count = names_.size() - first;
  if (count < 2) return std::nullopt;
  return count <= kFew ? find_among_few(first, names_.size(), rule) : find_among_many(first, rule);
}

std::optional<NameTable::Repeat> NameTable::find_among_few(std::size_t first,
                                                           std::size_t last,
                                                           NameRule rule) {
  for (std::size_t later = first + 1; later < last; ++later) {
    for (std::size_t earlier = first; earlier < later; ++earlier) {
      if (hash_of(names_[earlier] ^ names_[later]) != 0) continue;
      if (compare(names_[earlier], names_[later], rule) == 0) {
        return make_repeat(names_[earlier], names_[later]);
      }
    }
  }
  return std::nullopt;
}

std::optional<NameTable::Repeat> NameTable::find_among_many(std::size_t first, NameRule rule) {
  std::sort(names_.begin() + static_cast<std::ptrdiff_t>(first), names_.end());
  std::optional<Repeat> found;
  std::size_t last = first;
  for (; first < names_.size(); first = last) {
    while (last < names_.size() && hash_of(names_[first] ^ names_[last]) == 0)
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
  std::sort(begin, end, [this, rule](std::uint64_t one, std::uint64_t other) {
    const int order = compare(one, other, rule);
    return order != 0 ? order < 0 : one < other;
  });
  std::optional<Repeat> found;
  for (auto next = begin + 1; next != end; ++next) {
    if (found && offset_of(*next) > found->offset) continue;
    if (compare(*(next - 1), *next, rule) == 0) found = make_repeat(*(next - 1), *next);
  }
  return found;
}

std::string_view NameTable::raw_name(std::uint64_t entry) const {
  const char* const at = text_.data() + offset_of(entry);
  const char* const quote = find_string_end(at, text_.data() + text_.size()).quote;
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
