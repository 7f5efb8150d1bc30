// SPDX-License-Identifier: Apache-2.0 OR MIT
// Queue, write, sync; and what each way of failing means for what comes after.
#include "wrap/audit_file.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "wrap/places.h"

namespace aegis::wrap {
namespace {

using confine::errno_error;
using confine::Error;
using confine::Result;

/// Room may come back: somebody deletes a file, a quota is raised.
bool is_no_room(int code) {
  return code == ENOSPC || code == EDQUOT || code == EFBIG;
}

}  // namespace

Result<std::unique_ptr<AuditFile>> AuditFile::open(const RecordPlace& place) {
  OpenedRecord opened = AEGIS_TRY(open_record(place));
  std::optional<TornTail> torn;
  if (!opened.tail.torn.empty()) {
    TornTail::Source source{
        opened.tail.end, std::move(opened.tail.torn), base_name_of(opened.path)};
    torn = AEGIS_TRY(TornTail::make(std::move(source), opened.folder));
  }
  return std::make_unique<AuditFile>(std::move(opened), std::move(torn));
}

AuditFile::AuditFile(OpenedRecord opened, std::optional<TornTail> torn)
    : path_(std::move(opened.path)),
      file_(std::move(opened.file)),
      previous_tail_(opened.tail.last),
      torn_(std::move(torn)),
      end_(opened.tail.end),
      room_(file_, end_) {
  const bool may_be_new = opened.tail.end == 0;
  if (may_be_new || torn_) folder_ = std::move(opened.folder);
  if (opened.tail.lacks_newline) queue_ = "\n";
}

AuditFile::~AuditFile() {
  room_.give_back(file_);
}

std::optional<audit::Recovered> AuditFile::recovered() const {
  if (!torn_) return std::nullopt;
  return torn_->facts();
}

void AuditFile::append(std::string_view line) {
  if (!has_failed_) queue_ += line;
}

bool AuditFile::has_unsynced() const {
  return !has_failed_ && (is_written_unsynced_ || !queue_.empty());
}

AuditFile::Committed AuditFile::commit(Force force) {
  if (has_failed_) return Committed::failed;
  if (Result<void> moved = move_torn(); !moved) return stop(std::move(moved).error());
  if (Result<void> written = write_queued(); !written) return stop(std::move(written).error());
  const Result<void> forced = push(force);
  return forced ? Committed::ok : fail(forced.error());
}

AuditFile::Committed AuditFile::stop(Error error) {
  const bool is_worth_waiting = is_no_room(error.code) && queue_.size() <= kMaxQueuedLines;
  if (!is_worth_waiting) return fail(std::move(error));
  error_ = std::move(error);
  return Committed::retry_later;
}

AuditFile::Committed AuditFile::fail(Error error) {
  error_ = std::move(error);
  has_failed_ = true;
  queue_ = {};
  return Committed::failed;
}

Result<void> AuditFile::move_torn() {
  if (!torn_ || torn_->is_moved()) return {};
  return torn_->move_aside(file_, folder_);
}

Result<void> AuditFile::write_queued() {
  std::size_t written = 0;
  std::optional<Error> error;
  while (written < queue_.size() && !error) {
    const ssize_t count = ::write(file_.get(), queue_.data() + written, queue_.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      error = errno_error("write the record", path_);
    } else {
      written += static_cast<std::size_t>(count);
    }
  }
  if (written > 0) is_written_unsynced_ = true;
  end_ += written;
  queue_.erase(0, written);
  if (error) return *std::move(error);
  return {};
}

Result<void> AuditFile::push(Force force) {
  switch (force) {
    case Force::written:
      return {};
    case Force::started:
      return room_.prepare(file_, path_, end_);
    case Force::synced:
      return sync();
  }
  return {};
}

Result<void> AuditFile::sync() {
  if (!is_written_unsynced_) return {};
  while (::fdatasync(file_.get()) != 0) {
    if (errno != EINTR) return errno_error("sync the record", path_);
  }
  if (folder_.is_open()) {
    while (::fsync(folder_.get()) != 0) {
      if (errno != EINTR) return errno_error("sync the folder of the record", path_);
    }
    folder_.reset();
  }
  is_written_unsynced_ = false;
  room_.synced(end_);
  return {};
}

}  // namespace aegis::wrap
