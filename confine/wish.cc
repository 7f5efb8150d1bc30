// SPDX-License-Identifier: Apache-2.0 OR MIT
// A wish's bytes: need, kind, the lengths of its four paths in two bytes each (low one first), the
// paths. A `written` that is the same as `path` has the length 0. The mark is one byte.
#include "confine/wish.h"

#include <array>
#include <optional>

namespace aegis::confine {
namespace {

constexpr std::size_t kPaths = 4;
constexpr std::size_t kHead = 2 + 2 * kPaths;
constexpr char kCut = '\x7f';  // in need's place, and alone

void append_size(std::size_t size, std::string& out) {
  out += static_cast<char>(size & 0xffU);
  out += static_cast<char>((size >> 8U) & 0xffU);
}

std::size_t size_at(std::string_view bytes, std::size_t at) {
  const auto byte = [bytes](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i]));
  };
  return byte(at) | (byte(at + 1) << 8U);
}

/// Takes one off the front of `bytes`.
std::optional<Wish> take(std::string_view& bytes) {
  if (bytes.size() < kHead) return std::nullopt;
  const auto need = static_cast<unsigned char>(bytes[0]);
  const auto kind = static_cast<unsigned char>(bytes[1]);
  if (need > static_cast<unsigned char>(Wish::Need::execute)) return std::nullopt;
  if (kind > static_cast<unsigned char>(Wish::Kind::other)) return std::nullopt;
  std::array<std::string_view, kPaths> paths;
  std::size_t end = kHead;
  for (std::size_t i = 0; i < kPaths; ++i) {
    const std::size_t size = size_at(bytes, 2 + 2 * i);
    if (bytes.size() - end < size) return std::nullopt;
    paths[i] = bytes.substr(end, size);
    end += size;
    const bool is_left_out = size == 0 && i > 0;
    if (!is_left_out && paths[i].substr(0, 1) != "/") return std::nullopt;
  }
  if (paths[2].empty() != paths[3].empty()) return std::nullopt;
  Wish wish{Wish::Need{need},
            Wish::Kind{kind},
            std::string(paths[0]),
            std::string(paths[1].empty() ? paths[0] : paths[1]),
            std::string(paths[2]),
            std::string(paths[3])};
  bytes.remove_prefix(end);
  return wish;
}

}  // namespace

void encode_wish(const Wish& wish, std::string& out) {
  const std::string_view written = wish.path == wish.written ? std::string_view() : wish.written;
  const std::array<std::string_view, kPaths> paths{wish.path, written, wish.link, wish.link_target};
  out += static_cast<char>(wish.need);
  out += static_cast<char>(wish.kind);
  for (const std::string_view each : paths)
    append_size(each.size(), out);
  for (const std::string_view each : paths)
    out += each;
}

void encode_cut(std::string& out) {
  out += kCut;
}

Wishes decode_wishes(std::string_view bytes) {
  Wishes wishes;
  while (!bytes.empty() && wishes.all.size() < kMaxWishes) {
    if (bytes.front() == kCut) {
      wishes.is_cut = true;
      bytes.remove_prefix(1);
      continue;
    }
    std::optional<Wish> wish = take(bytes);
    if (!wish) return wishes;
    wishes.all.push_back(*std::move(wish));
  }
  return wishes;
}

}  // namespace aegis::confine
