// SPDX-License-Identifier: Apache-2.0 OR MIT
// Where a socket stands in a process: under which descriptors, and registered in which epoll
// instances (proc(5): /proc/<pid>/fd, fdinfo). What it finds is only as true as the moment: the
// process may change it at once, to its own harm.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace aegis::confine {

struct EpollPlace {
  int epoll = -1;   // the instance's descriptor
  int number = -1;  // the socket's, as it was registered
  std::uint32_t events = 0;
  std::uint64_t data = 0;
  ino_t inode = 0;
  friend bool operator==(const EpollPlace&, const EpollPlace&) = default;
};

struct SocketPlaces {
  struct Descriptor {
    int number = -1;
    bool is_closed_on_exec = false;
  };
  std::vector<Descriptor> descriptors;
  std::vector<EpollPlace> epolls;
};

/// Registrations that are looked for in one process; more are not found.
inline constexpr std::size_t kMaxEpollPlaces = 4096;

/// `process`: its folder in /proc (O_PATH). `inode`: the socket's (fstat(2)). Nothing when /proc
/// does not show its descriptors.
std::optional<SocketPlaces> find_places(int process, ino_t inode);

/// A line of an epoll instance's fdinfo: "tfd: 5 events: 19 data: 5 pos:0 ino:4c5 sdev:8". `epoll`
/// is left as it is. Nothing for any other line.
std::optional<EpollPlace> parse_epoll_line(std::string_view line);

}  // namespace aegis::confine
