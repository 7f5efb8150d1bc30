// SPDX-License-Identifier: Apache-2.0 OR MIT
// One memchr over what is new: each byte is looked at once however many reads bring a frame.
#include "mcp/frame.h"

#include <cassert>

namespace aegis::mcp {

FrameCutter::Cut FrameCutter::next(std::string_view pending) {
  if (is_oversize_) return {Outcome::oversize, 0};
  assert(scanned_ <= pending.size());
  const std::size_t newline = pending.find('\n', scanned_);
  const bool is_whole = newline != std::string_view::npos;
  if ((is_whole ? newline : pending.size()) > max_frame_) {
    is_oversize_ = true;
    return {Outcome::oversize, 0};
  }
  scanned_ = is_whole ? 0 : pending.size();
  return is_whole ? Cut{Outcome::frame, newline + 1} : Cut{Outcome::incomplete, 0};
}

std::string_view frame_content(std::string_view frame) {
  if (frame.ends_with('\n')) frame.remove_suffix(1);
  return frame;
}

}  // namespace aegis::mcp
