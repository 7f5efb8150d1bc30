// SPDX-License-Identifier: Apache-2.0 OR MIT
// What aegis says on stderr of a server's frame that it keeps from the client: why, how long it
// was, and how it began. Never the whole of it, which a server could make as long as it likes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace aegis::wrap {

enum class LeftOut : std::uint8_t {
  no,            // it reaches the client, if amended
  no_json,       // --strict-stdout, and there was no room for it on stderr
  unclear,       // it does not read the same for every parser
  unclear_list,  // the broker's tools cannot be put into it
  unasked,       // it answers what was not asked
  progress,      // it tells of a call of the broker's
  batch,         // one of its messages may not pass
};

/// Bytes of a frame that are shown.
inline constexpr std::size_t kShownBytes = 200;

/// One sentence, not escaped (log.h does that). `why` is not `no`.
std::string left_out_sentence(std::string_view frame, LeftOut why);

}  // namespace aegis::wrap
