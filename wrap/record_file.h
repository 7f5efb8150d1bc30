// SPDX-License-Identifier: Apache-2.0 OR MIT
// Finding, opening and locking the record file of one session. Whatever is not plainly a record of
// ours is refused untouched; nothing is written here but a new, empty file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "confine/fd.h"
#include "confine/result.h"
#include "wrap/record_tail.h"

namespace aegis::wrap {

/// Where the record shall go.
struct RecordPlace {
  /// A file; a folder (it is one, or the path ends in '/'), which takes one file a session; or
  /// nothing: the default folder, which is made when missing. No parent of a named one is made.
  std::optional<std::string> path = {};
  std::string program;        // the server's base name, for a session file's name
  std::int64_t unix_seconds;  // time of day, for the same
  /// How long another session of the same file is waited for. Clients start a command twice: the
  /// first of the two ends soon.
  int lock_wait_ms = 5000;
};

struct OpenedRecord {
  std::string path;
  confine::Fd file;    // read-write, O_APPEND, exclusively locked (flock) until closed
  confine::Fd folder;  // the one that the file is in
  RecordTail tail;
};

confine::Result<OpenedRecord> open_record(const RecordPlace& place);

/// "<program>-20261130T090000Z-<pid>.aarl"; from the second try on "-<try>" before the dot. What is
/// not a letter, digit, '.', '_' or '-' becomes '_'.
std::string session_file_name(const RecordPlace& place, int attempt);

}  // namespace aegis::wrap
