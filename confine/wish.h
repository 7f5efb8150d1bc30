// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a watched program was seen to do with a file of the host (tracer.h), and how it comes from
// the first process of its sandbox to aegis. Pure. What it means for grants is explain.h's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace aegis::confine {

struct Wish {
  enum class Need : std::uint8_t {
    look,     // at its metadata, and that went well
    read,     // likewise
    write,    // which was refused, since the host's files are read-only
    execute,  // or map as code; went well
  };
  enum class Kind : std::uint8_t { file, folder, absent_file, absent_folder, other };
  Need need = Need::look;
  Kind kind = Kind::file;
  std::string path;     // absolute, without links; of an absent one its folder is
  std::string written;  // absolute, as the program named it; mostly the same
  // When not: the first symbolic link on the way, by a name without links, and where it leads.
  std::string link = {};
  std::string link_target = {};
  friend bool operator==(const Wish&, const Wish&) = default;
};

struct Wishes {
  std::vector<Wish> all = {};
  bool is_cut = false;  // there was more than could be seen or kept
};

/// How many are kept, and how many bytes of them.
inline constexpr std::size_t kMaxWishes = 100'000;
inline constexpr std::size_t kMaxWishBytes = 32UL << 20U;

/// Appends one. Its paths are no longer than PATH_MAX.
void encode_wish(const Wish& wish, std::string& out);
/// Appends the mark that there was more.
void encode_cut(std::string& out);
/// What encode_* wrote, one after the other; ends where `bytes` are nothing of that.
Wishes decode_wishes(std::string_view bytes);

}  // namespace aegis::confine
