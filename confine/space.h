// SPDX-License-Identifier: Apache-2.0 OR MIT
// The room that is left on the file system of a writable folder. A program's total use of a disk
// cannot be bounded without quotas; that it does not fill the disk for everybody else can.
#pragma once

#include <cstdint>

namespace aegis::confine {

/// Below either the sandbox is ended: less than 256 MiB for an ordinary user, or less than a
/// twentieth of a file system that is smaller than 5 GiB; and the same for inodes, 4,096 or a
/// twentieth, where the file system counts them.
constexpr std::uint64_t kSpaceFloor = 256ULL << 20U;  // bytes
constexpr std::uint64_t kInodeFloor = 4096;
constexpr std::uint64_t kFloorShare = 20;

struct Space {
  std::uint64_t size = 0;       // bytes; 0: the file system does not count them
  std::uint64_t available = 0;  // bytes, to who is not root
  std::uint64_t inodes = 0;     // 0: not counted
  std::uint64_t available_inodes = 0;
};

constexpr bool is_below_floor(const Space& space) {
  const auto is_short = [](std::uint64_t left, std::uint64_t all, std::uint64_t floor) {
    return all != 0 && left < (all / kFloorShare < floor ? all / kFloorShare : floor);
  };
  return is_short(space.available, space.size, kSpaceFloor) ||
         is_short(space.available_inodes, space.inodes, kInodeFloor);
}

/// Of the file system that `fd` is on, by fstatvfs(3); any descriptor will do. False when it cannot
/// be asked. Costs about a microsecond.
bool is_below_floor(int fd) noexcept;

}  // namespace aegis::confine
