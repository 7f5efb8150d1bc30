// SPDX-License-Identifier: Apache-2.0 OR MIT
// What stands at the end of a record file, and whether it is a record at all. Reads the first and
// the last Line only, so that a start costs the same for a file of any length. Changes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "audit/digest.h"
#include "confine/fd.h"
#include "confine/result.h"

namespace aegis::wrap {

struct RecordTail {
  std::uint64_t end = 0;                     // bytes that stay; what follows is torn
  std::optional<audit::LineHash> last = {};  // of the last Line; nothing when there is none
  bool lacks_newline = false;                // the last Line was written without its '\n'
  std::string torn = {};                     // the bytes from `end` on
};

/// More than this behind the last Line is no torn tail that a lost write explains: refused.
inline constexpr std::size_t kMaxTorn = std::size_t{64} << 20;

/// `path` is for messages. The file is regular, readable and locked.
confine::Result<RecordTail> read_record_tail(const confine::Fd& file, const std::string& path);

}  // namespace aegis::wrap
