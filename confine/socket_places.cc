// SPDX-License-Identifier: Apache-2.0 OR MIT
// See socket_places.h.
#include "confine/socket_places.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string>

#include "confine/fd.h"

namespace aegis::confine {
namespace {

// Bytes of fdinfo that are read for one call. A program with so many registrations that they do not
// fit waits for those beyond; reading them all could take as long as it liked.
constexpr std::size_t kMaxInfo = 1U << 20U;
constexpr std::size_t kMaxPlainInfo = 4096;  // of a socket, whose flags stand at the start
constexpr std::string_view kEpollLink = "anon_inode:[eventpoll]";

template <class Number>
bool parse_number(std::string_view text, Number& number, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc{} && end == text.data() + text.size();
}

/// The word behind `key` in a line of "key: word key:word".
std::string_view word_after(std::string_view line, std::string_view key) {
  const std::size_t found = line.find(key);
  if (found == std::string_view::npos) return {};
  line.remove_prefix(found + key.size());
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return line.substr(0, line.find_first_of(" \n"));
}

std::string read_info(int process, int number, std::size_t most) {
  const std::string path = "fdinfo/" + std::to_string(number);
  const Fd file(::openat(process, path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  if (!file.is_open()) return text;
  std::array<char, 16384> part;
  ssize_t size = 0;
  while (text.size() < most && (size = ::read(file.get(), part.data(), part.size())) > 0)
    text.append(part.data(), static_cast<std::size_t>(size));
  return text;
}

bool is_closed_on_exec(const std::string& info) {
  unsigned flags = 0;
  constexpr int kOctal = 8;
  // When it cannot be known, closing is what leaks nothing.
  if (!parse_number(word_after(info, "flags:\t"), flags, kOctal)) return true;
  return (flags & static_cast<unsigned>(O_CLOEXEC)) != 0;
}

void add_epolls(SocketPlaces& places, int process, int epoll, ino_t inode, std::size_t& budget) {
  const std::string info = read_info(process, epoll, budget);
  budget -= std::min(budget, info.size());
  for (std::string_view rest = info; !rest.empty();) {
    const std::size_t size = std::min(rest.find('\n'), rest.size());
    std::optional<EpollPlace> place = parse_epoll_line(rest.substr(0, size));
    rest.remove_prefix(std::min(size + 1, rest.size()));
    if (!place || place->inode != inode || places.epolls.size() >= kMaxEpollPlaces) continue;
    place->epoll = epoll;
    places.epolls.push_back(*place);
  }
}

}  // namespace

std::optional<EpollPlace> parse_epoll_line(std::string_view line) {
  constexpr int kDecimal = 10;
  constexpr int kHex = 16;
  if (line.substr(0, 4) != "tfd:") return std::nullopt;
  EpollPlace place;
  if (!parse_number(word_after(line, "tfd:"), place.number, kDecimal) ||
      !parse_number(word_after(line, "events:"), place.events, kHex) ||
      !parse_number(word_after(line, "data:"), place.data, kHex) ||
      !parse_number(word_after(line, "ino:"), place.inode, kHex))
    return std::nullopt;
  return place;
}

std::optional<SocketPlaces> find_places(int process, ino_t inode) {
  const int folder = ::openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return std::nullopt;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(folder), ::closedir);
  if (!listing) {
    ::close(folder);
    return std::nullopt;
  }
  SocketPlaces places;
  std::size_t budget = kMaxInfo;
  const std::string wanted = "socket:[" + std::to_string(inode) + "]";
  while (const dirent* entry = ::readdir(listing.get())) {
    int number = -1;
    constexpr int kDecimal = 10;
    if (!parse_number(std::string_view{entry->d_name}, number, kDecimal)) continue;
    std::array<char, 64> target;
    const ssize_t size = ::readlinkat(folder, entry->d_name, target.data(), target.size());
    if (size <= 0) continue;
    const std::string_view link{target.data(), static_cast<std::size_t>(size)};
    if (link == wanted) {
      places.descriptors.push_back(
          {number, is_closed_on_exec(read_info(process, number, kMaxPlainInfo))});
    } else if (link == kEpollLink) {
      add_epolls(places, process, number, inode, budget);
    }
  }
  return places;
}

}  // namespace aegis::confine
