// SPDX-License-Identifier: Apache-2.0 OR MIT
// Moves the torn end of a record to a file of its own beside it, in an order where a crash at any
// point loses no byte: copied, synced, and only then cut off.
#pragma once

#include <cstdint>
#include <string>

#include "audit/line.h"
#include "confine/fd.h"
#include "confine/result.h"

namespace aegis::wrap {

class TornTail {
 public:
  struct Source {
    std::uint64_t at;    // where the torn bytes begin in the record
    std::string bytes;   // all from there to the record's end; not empty
    std::string record;  // the record's base name
  };
  /// Chooses "<record>.torn-<n>", the first that is free in `folder`. Writes nothing.
  static confine::Result<TornTail> make(Source source, const confine::Fd& folder);

  /// Goes on where the last attempt ended; an error with a code for "no room" may be tried again.
  /// Afterwards `record` ends at `at` and everything is on the disk.
  confine::Result<void> move_aside(const confine::Fd& record, const confine::Fd& folder);
  [[nodiscard]] bool is_moved() const { return is_moved_; }

  /// For the `open` Line; the view is owned by this.
  [[nodiscard]] audit::Recovered facts() const;

 private:
  TornTail(Source source, std::string name);
  confine::Result<void> copy_into(const confine::Fd& folder);

  Source source_;
  std::string name_;
  audit::TornDigest digest_;
  std::uint64_t size_;
  confine::Fd copy_;
  std::size_t copied_ = 0;
  bool is_moved_ = false;
};

}  // namespace aegis::wrap
