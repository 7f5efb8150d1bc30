// SPDX-License-Identifier: Apache-2.0 OR MIT
// Two system calls that move work out of the next sync: fallocate(2) and sync_file_range(2).
#include "wrap/record_room.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace aegis::wrap {
namespace {

using confine::errno_error;
using confine::Fd;
using confine::Result;

/// Of nearly every file system. One of another size gets a start too many or too few.
constexpr std::uint64_t kBlock = 4096;
/// More than one commit brings in any but extreme use (64 calls in flight: 90 KiB). Where the
/// record outruns its room the blocks come from elsewhere, and the file is in pieces from then on.
constexpr std::uint64_t kLowRoom = kLeastRoom / 2;

/// ext4 finds blocks only when it writes them out, which a sync waits for (measured on Linux 6.18,
/// without a journal: every third sync took 223 us instead of 129). XFS reserves room behind a
/// growing file by itself (xfs(5), allocsize), btrfs and overlays were not measured, and a file in
/// memory or on a network would only pay.
bool is_on_ext4(const Fd& record) {
  struct statfs status {};
  return ::fstatfs(record.get(), &status) == 0 && status.f_type == EXT4_SUPER_MAGIC;
}

std::uint64_t block_of(std::uint64_t offset) {
  return offset / kBlock;
}

}  // namespace

RecordRoom::RecordRoom(const Fd& record, std::uint64_t end)
    : is_helpful_(is_on_ext4(record)), reserved_(end), started_(end) {}

Result<void> RecordRoom::prepare(const Fd& record, const std::string& path, std::uint64_t end) {
  if (!is_helpful_ || end == 0) return {};
  if (end + kLowRoom > reserved_) reserve(record, end);
  // The last byte tells whether a block was begun: one that is full to the brim begins none.
  const bool is_begun = started_ == 0 || block_of(end - 1) != block_of(started_ - 1);
  if (!is_begun) return {};
  return start(record, path, end);
}

/// The first refusal is the last try: the system call is not there (ENOSYS, EOPNOTSUPP), or there
/// is little room left (ENOSPC, EDQUOT, EFBIG), and that is for who needs it now. The record grows
/// without it.
void RecordRoom::reserve(const Fd& record, std::uint64_t end) {
  const std::uint64_t size = std::clamp(end, kLeastRoom, kMostRoom);
  const bool is_reserved =
      ::fallocate(
          record.get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(end), static_cast<off_t>(size)) ==
      0;
  has_reserved_ = true;  // a part of it may have been had, even so
  reserved_ = is_reserved ? end + size : UINT64_MAX;
}

/// What a sync would do first. The block that the last Line ends in is written again by that sync,
/// when more has come; but then it has its place.
Result<void> RecordRoom::start(const Fd& record, const std::string& path, std::uint64_t end) {
  const std::uint64_t from = started_ / kBlock * kBlock;
  started_ = end;
  const int result = ::sync_file_range(record.get(),
                                       static_cast<off_t>(from),
                                       static_cast<off_t>(end - from),
                                       SYNC_FILE_RANGE_WRITE);
  if (result == 0 || (errno != EIO && errno != ENOSPC && errno != EDQUOT)) return {};
  return errno_error("sync the record", path);
}

void RecordRoom::give_back(const Fd& record) const {
  if (!has_reserved_) return;
  struct stat status {};
  if (::fstat(record.get(), &status) != 0) return;
  // To the size that it has: ext4 then frees what is behind it. Only a writer that ignores the lock
  // could lose by that.
  [[maybe_unused]] const int cut = ::ftruncate(record.get(), status.st_size);
}

}  // namespace aegis::wrap
