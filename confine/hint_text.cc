// SPDX-License-Identifier: Apache-2.0 OR MIT
// See hint_text.h.
#include "confine/hint_text.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace aegis::confine {
namespace {

constexpr std::string_view kQuotes = "'\"`";
constexpr std::size_t kMaxPath = 4096;  // PATH_MAX: no longer one can be meant
constexpr std::size_t kMaxFound = 16;   // in one line

constexpr char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}
constexpr bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}
constexpr bool is_upper(char letter) {
  return letter >= 'A' && letter <= 'Z';
}
constexpr bool is_letter(char letter) {
  return is_upper(letter) || (letter >= 'a' && letter <= 'z');
}

/// What may stand before a path that is not inside a word or an URL.
bool can_begin_behind(char before) {
  return std::string_view(" \t([{<=,:;>").find(before) != std::string_view::npos ||
         kQuotes.find(before) != std::string_view::npos;
}

/// "/x/y.js:12:3" is "/x/y.js", and a full stop ends a sentence.
std::string_view without_tail(std::string_view path) {
  for (std::size_t colon = path.rfind(':'); colon != std::string_view::npos;
       colon = path.rfind(':')) {
    const std::string_view behind = path.substr(colon + 1);
    if (!std::all_of(behind.begin(), behind.end(), is_digit)) break;
    path = path.substr(0, colon);
  }
  while (path.size() > 1 && (path.back() == '.' || path.back() == '/'))
    path.remove_suffix(1);
  return path;
}

/// The path that begins with the slash at `at`; empty when none does.
std::string_view path_at(std::string_view line, std::size_t at) {
  constexpr std::string_view kFileUrl = "file://";  // its third slash begins a path
  const std::string_view text = line.substr(at);
  if (text.substr(0, 2) == "//") return {};  // of an URL, or of a comment
  const bool is_url =
      at >= kFileUrl.size() && line.substr(at - kFileUrl.size(), kFileUrl.size()) == kFileUrl;
  const char before = is_url || at == 0 ? ' ' : line[at - 1];
  if (!can_begin_behind(before)) return {};
  const bool is_quoted = kQuotes.find(before) != std::string_view::npos;
  std::size_t end = text.find(is_quoted ? before : ' ');
  if (!is_quoted) {
    end = std::min(end, text.find_first_of("\t'\"`,;)]}>"));
    end = std::min(end, text.find(": "));
  }
  return without_tail(text.substr(0, end));
}

struct Decoded {
  char32_t point = 0;
  std::size_t size = 0;  // 0: no UTF-8
};

/// The first character of `text`, which is not empty (RFC 3629).
Decoded decode(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  std::size_t size = 0;
  if (first >= 0xc2 && first <= 0xdf) size = 2;
  if (first >= 0xe0 && first <= 0xef) size = 3;
  if (first >= 0xf0 && first <= 0xf4) size = 4;
  if (size == 0 || size > text.size()) return {};
  constexpr unsigned kHead[] = {0, 0, 0x1f, 0x0f, 0x07};
  char32_t point = first & kHead[size];
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    point = (point << 6U) | (byte(i) & 0x3fU);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = point >= 0xd800 && point <= 0xdfff;
  if (point < kLeast[size] || point > 0x10ffff || is_surrogate) return {};
  return {point, size};
}

struct Range {
  char32_t first;
  char32_t last;
};
/// What moves a cursor, is not seen, or turns text around: Unicode's categories Cc, Cf, Zl, Zp as
/// far as terminals act on them (UTS 55, TR 36).
constexpr Range kHidden[] = {{0x00, 0x1f},
                             {0x7f, 0x9f},
                             {0xad, 0xad},
                             {0x61c, 0x61c},
                             {0x180e, 0x180e},
                             {0x200b, 0x200f},
                             {0x2028, 0x202e},
                             {0x2060, 0x206f},
                             {0xfe00, 0xfe0f},
                             {0xfeff, 0xfeff},
                             {0xfff9, 0xfffb},
                             {0xe0000, 0xe0fff}};

bool is_hidden(char32_t point) {
  return std::any_of(std::begin(kHidden), std::end(kHidden), [point](const Range& range) {
    return point >= range.first && point <= range.last;
  });
}

void append_hex(std::string_view bytes, std::string& out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const char each : bytes) {
    const auto byte = static_cast<unsigned char>(each);
    out.append("\\x").append(1, kDigits[byte >> 4U]).append(1, kDigits[byte & 0x0fU]);
  }
}

bool is_plain(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char each) {
    return is_letter(each) || is_digit(each) ||
           std::string_view("/._-+:@%,=").find(each) != std::string_view::npos;
  });
}

}  // namespace

std::vector<std::string> paths_in(std::string_view line) {
  std::vector<std::string> paths;
  std::size_t at = line.find('/');
  while (at != std::string_view::npos && paths.size() < kMaxFound) {
    const std::string_view path = path_at(line, at);
    if (path.size() > 1 && path.size() < kMaxPath) paths.emplace_back(path);
    at = line.find('/', at + std::max<std::size_t>(path.size(), 1));
  }
  return paths;
}

std::string host_behind(std::string_view line, std::string_view mark) {
  const std::size_t at = line.find(mark);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = line.substr(at + mark.size());
  const std::size_t end = static_cast<std::size_t>(
      std::find_if_not(rest.begin(),
                       rest.end(),
                       [](char each) {
                         return is_letter(each) || is_digit(each) || each == '.' || each == '-';
                       }) -
      rest.begin());
  constexpr std::size_t kLongestName = 253;  // RFC 1035
  std::string host(rest.substr(0, end));
  while (!host.empty() && (host.back() == '.' || host.back() == '-'))
    host.pop_back();
  const bool is_host =
      !host.empty() && host.size() <= kLongestName && host.front() != '.' && host.front() != '-';
  return is_host ? host : std::string();
}

std::vector<std::string> variables_in(std::string_view line) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at < line.size() && names.size() < kMaxFound;) {
    const auto is_part = [](char each) { return is_upper(each) || is_digit(each) || each == '_'; };
    const char* const begin = line.data() + at;
    const char* const end = std::find_if_not(begin, line.data() + line.size(), is_part);
    const std::string_view word(begin, static_cast<std::size_t>(end - begin));
    const bool is_whole = (at == 0 || !is_letter(line[at - 1])) &&
                          (at + word.size() == line.size() || !is_letter(line[at + word.size()]));
    const bool is_name = word.size() >= 3 && is_upper(word.front()) && is_whole &&
                         word.find('_') != std::string_view::npos;
    if (is_name) names.emplace_back(word);
    at += std::max<std::size_t>(word.size(), 1);
  }
  return names;
}

std::string shell_word(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::string plain = "'";
  std::string escaped = "$'";
  bool needs_escapes = false;
  while (!text.empty()) {
    const Decoded character = decode(text);
    const std::string_view bytes = text.substr(0, std::max<std::size_t>(character.size, 1));
    text.remove_prefix(bytes.size());
    if (character.size == 0 || is_hidden(character.point)) {
      needs_escapes = true;
      append_hex(bytes, escaped);
      continue;
    }
    if (bytes == "'" || bytes == "\\") escaped += '\\';
    escaped.append(bytes);
    plain.append(bytes == "'" ? "'\\''" : bytes);
  }
  return (needs_escapes ? escaped : plain) + "'";
}

bool says(std::string_view line, std::string_view part) {
  const auto is_in_word = [line](std::size_t at) {
    return at < line.size() && (is_letter(line[at]) || is_digit(line[at]));
  };
  const auto is_same = [](char one, char other) { return lower(one) == other; };
  for (auto from = line.begin();; ++from) {
    from = std::search(from, line.end(), part.begin(), part.end(), is_same);
    if (from == line.end()) return false;
    const auto begin = static_cast<std::size_t>(from - line.begin());
    const std::size_t end = begin + part.size();
    const bool is_cut = (begin > 0 && is_in_word(begin) && is_in_word(begin - 1)) ||
                        (is_in_word(end - 1) && is_in_word(end));
    if (!is_cut) return true;
  }
}

}  // namespace aegis::confine
