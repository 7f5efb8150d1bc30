// SPDX-License-Identifier: Apache-2.0 OR MIT
// Room on the disk ahead of the record's end, so that a sync on a call's path finds blocks in place
// instead of waiting until they are found and noted. Only an aid: without it, or when any of it
// fails, the same bytes are recorded, and what counts as durable is as durable.
#pragma once

#include <cstdint>
#include <string>

#include "confine/fd.h"
#include "confine/result.h"

namespace aegis::wrap {

/// Bytes reserved at a time: as many as the record has, within these.
inline constexpr std::uint64_t kLeastRoom = std::uint64_t{256} << 10;
inline constexpr std::uint64_t kMostRoom = std::uint64_t{8} << 20;

/// Offsets are bytes from the start of the file. Nothing here moves the end of the file, so no
/// reader can ever see a byte that was not recorded.
class RecordRoom {
 public:
  /// Of a record that ends at `end`. Does nothing at all where it was not measured to help.
  RecordRoom(const confine::Fd& record, std::uint64_t end);

  /// The record was written up to `end`, and a sync will follow: reserves room for what comes next,
  /// and when a block was begun has the kernel start writing it. Waits for neither. An error says
  /// that the kernel could not write what it had taken, as a failed sync does, and `path` in its
  /// message; that there is no room to be had is none.
  confine::Result<void> prepare(const confine::Fd& record,
                                const std::string& path,
                                std::uint64_t end);

  /// The record is on the disk up to `end`.
  void synced(std::uint64_t end) { started_ = end; }

  /// Gives back what was reserved and not used. A process that is killed cannot: blocks of up to
  /// kMostRoom then stay behind the end of the file, of which nothing is ever read, until another
  /// session of the same file ends.
  void give_back(const confine::Fd& record) const;

 private:
  void reserve(const confine::Fd& record, std::uint64_t end);
  confine::Result<void> start(const confine::Fd& record,
                              const std::string& path,
                              std::uint64_t end);

  bool is_helpful_;
  bool has_reserved_ = false;
  std::uint64_t reserved_;  // the end of the room
  std::uint64_t started_;   // the end of what is on the disk or on its way
};

}  // namespace aegis::wrap
