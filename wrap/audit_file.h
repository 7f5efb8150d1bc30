// SPDX-License-Identifier: Apache-2.0 OR MIT
// The record file as a sink: Lines are queued, written whole and in order, and synced when asked.
// Opening it is record_file.h's; what a Line says is audit's; when to commit is the loop's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "audit/line.h"
#include "audit/sink.h"
#include "confine/fd.h"
#include "confine/result.h"
#include "wrap/record_file.h"
#include "wrap/record_room.h"
#include "wrap/torn_tail.h"

namespace aegis::wrap {

/// Lines that may wait for room on a full disk, in bytes.
inline constexpr std::size_t kMaxQueuedLines = std::size_t{1} << 20;

/// Holds the file's lock for as long as it lives. SIGXFSZ must be ignored by its owner, or a limit
/// on the size of files kills the process instead of failing the write.
class AuditFile final : public audit::Sink {
 public:
  /// How far a commit must get.
  enum class Force : std::uint8_t {
    written,  // into the kernel: a killed process loses nothing
    started,  // the same; and a sync will follow, for which all is made ready that need not wait
    synced,   // onto the disk: a power cut loses nothing
  };
  enum class Committed : std::uint8_t {
    ok,           // all that was appended has got as far as asked
    retry_later,  // there is no room (ENOSPC, EDQUOT, EFBIG): the rest stays queued, in order
    failed,       // final: nothing is ever written again
  };

  /// Opens, checks and locks the file (record_file.h) and reads its end. Nothing is written to a
  /// file before the first commit. A unique_ptr because a chain keeps the sink's address.
  static confine::Result<std::unique_ptr<AuditFile>> open(const RecordPlace& place);
  /// `torn`: what is still to be moved out of `opened`.
  AuditFile(OpenedRecord opened, std::optional<TornTail> torn);
  ~AuditFile() override;
  AuditFile(const AuditFile&) = delete;
  AuditFile& operator=(const AuditFile&) = delete;

  /// After a final failure Lines go nowhere.
  void append(std::string_view line) override;

  /// Writes all that is queued, and what came before it: a torn tail is moved aside first. Never
  /// leaves a Line out: what could not be written is tried again by the next commit. More than
  /// kMaxQueuedLines bytes without room for them is a final failure, as is every failed sync:
  /// after one the kernel may have dropped what it could not write, and say "ok" to the next.
  [[nodiscard]] Committed commit(Force force);
  /// Of the last commit, which was not ok.
  [[nodiscard]] const confine::Error& error() const { return *error_; }

  /// Something waits for the next commit.
  [[nodiscard]] bool has_queued() const { return !queue_.empty(); }
  /// Something was appended that is not known to be on the disk. False after a final failure:
  /// there is nothing left to do.
  [[nodiscard]] bool has_unsynced() const;

  [[nodiscard]] const std::string& path() const { return path_; }
  /// For the `open` Line: the hash of the last Line that is there; nothing in a fresh file.
  [[nodiscard]] const std::optional<audit::LineHash>& previous_tail() const {
    return previous_tail_;
  }
  /// For the `open` Line. Its view is owned by this.
  [[nodiscard]] std::optional<audit::Recovered> recovered() const;

 private:
  Committed stop(confine::Error error);
  Committed fail(confine::Error error);
  confine::Result<void> move_torn();
  confine::Result<void> write_queued();
  confine::Result<void> push(Force force);
  confine::Result<void> sync();

  std::string path_;
  confine::Fd file_;
  confine::Fd folder_;  // open until its entry for a new file is on the disk
  std::optional<audit::LineHash> previous_tail_;
  std::optional<TornTail> torn_;
  std::uint64_t end_;  // of what is written
  RecordRoom room_;
  std::string queue_;
  bool is_written_unsynced_ = false;
  bool has_failed_ = false;
  std::optional<confine::Error> error_;
};

}  // namespace aegis::wrap
