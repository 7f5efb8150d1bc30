// SPDX-License-Identifier: Apache-2.0 OR MIT
// Two loops of the same kind, one over components and one over characters: go on from the last star
// when something does not match. That is enough, since what stands between two stars takes a fixed
// number of items wherever it is tried; no recursion, at most pattern times path.
#include "policy/glob.h"

#include <algorithm>
#include <cstddef>

#include "mcp/json/case_fold.h"
#include "mcp/json/utf8.h"
#include "policy/path.h"

namespace aegis::policy {
namespace {

using mcp::json::fold_case;

/// Takes a code point off `text`, or, told beyond all of those, a byte that is no UTF-8.
char32_t take(std::string_view& text) {
  constexpr char32_t kByte = 0x110000;
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t size = first < 0x80 ? 1 : mcp::json::utf8_sequence_size(text);
  const char32_t code = first < 0x80 ? char32_t{first}
                        : size == 0  ? kByte + first
                                     : mcp::json::decode_utf8(text).code;
  text.remove_prefix(std::max<std::size_t>(size, 1));
  return code;
}

/// `code` is folded. A range is meant as it stands and as it folds: [Z-a] and [A-Z] both hold 'z'.
bool is_between(char32_t code, char32_t first, char32_t last) {
  const auto holds = [first, last](char32_t each) { return first <= each && each <= last; };
  const bool is_letter = code >= U'a' && code <= U'z';
  return holds(code) || (is_letter && holds(code - 0x20)) ||
         (fold_case(first) <= code && code <= fold_case(last));
}

/// `set` begins behind the '['; it is left behind the ']'.
bool take_set(std::string_view& set, char32_t code) {
  const bool is_negated = set.starts_with('!');
  if (is_negated) set.remove_prefix(1);
  bool is_in = false;
  do {  // a ']' that comes first stands for itself
    const char32_t first = take(set);
    char32_t last = first;
    if (set.size() > 1 && set[0] == '-' && set[1] != ']') {
      set.remove_prefix(1);
      last = take(set);
    }
    is_in = is_in || is_between(code, first, last);
  } while (set.front() != ']');
  set.remove_prefix(1);
  return is_in != is_negated;
}

/// Whether the first item of `pattern`, no star, takes `code`; it is left behind that item.
bool take_item(std::string_view& pattern, char32_t code) {
  const char32_t item = take(pattern);
  if (item == U'?') return true;
  if (item == U'[') return take_set(pattern, code);
  return item == code || fold_case(item) == code;
}

bool does_component_match(std::string_view pattern, std::string_view name) {
  std::optional<std::string_view> after_star;
  std::string_view retry;  // what of the name the last star has not taken yet
  while (!name.empty()) {
    if (pattern.starts_with('*')) {
      pattern.remove_prefix(1);
      after_star = pattern;
      retry = name;
      continue;
    }
    const char32_t code = take(name);
    if (!pattern.empty() && take_item(pattern, code)) continue;
    if (!after_star) return false;
    take(retry);
    pattern = *after_star;
    name = retry;
  }
  return pattern.find_first_not_of('*') == std::string_view::npos;
}

constexpr std::string_view kAnyDepth = "**";

/// Why the set behind a '[' is none; it is left behind the ']'.
std::optional<std::string> find_set_flaw(std::string_view& set) {
  constexpr std::string_view kOpen = "a '[' without its ']'; for a '[' itself write [[]";
  if (set.starts_with('^')) return "write [!...] for the characters that are not in a set";
  if (set.starts_with('!')) set.remove_prefix(1);
  bool is_first = true;
  while (!set.empty() && (is_first || set.front() != ']')) {
    is_first = false;
    const char32_t first = take(set);
    if (first == U'[' && (set.starts_with(':') || set.starts_with('.') || set.starts_with('='))) {
      return "character classes such as [:alpha:] are not known; write [a-z]";
    }
    if (set.size() < 2 || set[0] != '-' || set[1] == ']') continue;
    set.remove_prefix(1);
    if (take(set) < first) return "a range in [] goes backwards, so it holds nothing";
  }
  if (set.empty()) return std::string(kOpen);
  set.remove_prefix(1);
  return std::nullopt;
}

std::optional<std::string> find_component_flaw(std::string_view component) {
  if (component.empty()) return "an empty name; write one '/' between names and none at the ends";
  if (component == "." || component == "..") {
    return "\".\" and \"..\" name nothing here; write the path from the workspace's root on";
  }
  while (!component.empty()) {
    const char32_t item = take(component);
    if (item == U'\\') return "there is no escape with '\\'; write [*] for a '*' itself";
    if (item != U'[') continue;
    if (auto flaw = find_set_flaw(component)) return flaw;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> find_glob_flaw(std::string_view pattern) {
  for (bool is_first = true; is_first || !pattern.empty(); is_first = false) {
    // What ends in a slash has one more component, an empty one.
    const bool has_more = pattern.find('/') != std::string_view::npos;
    if (auto flaw = find_component_flaw(take_component(pattern))) return flaw;
    if (has_more && pattern.empty()) return find_component_flaw("");
  }
  return std::nullopt;
}

bool does_glob_cover(std::string_view pattern, std::string_view path) {
  const bool is_anywhere = pattern.find('/') == std::string_view::npos;
  std::optional<std::string_view> after_star;
  std::string_view retry = path;
  if (is_anywhere) after_star = pattern;
  while (!path.empty()) {
    if (pattern.empty()) return true;  // it lies in what the pattern names
    std::string_view rest = pattern;
    const std::string_view component = take_component(rest);
    if (component == kAnyDepth) {
      pattern = rest;
      after_star = rest;
      retry = path;
      continue;
    }
    if (does_component_match(component, take_component(path))) {
      pattern = rest;
      continue;
    }
    if (!after_star) return false;
    take_component(retry);
    pattern = *after_star;
    path = retry;
  }
  // What is left may stand for no component at all.
  while (pattern == kAnyDepth || pattern.starts_with("**/"))
    take_component(pattern);
  return pattern.empty();
}

}  // namespace aegis::policy
