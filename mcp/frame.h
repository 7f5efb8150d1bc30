// SPDX-License-Identifier: Apache-2.0 OR MIT
// Cuts a byte stream into frames: the bytes up to and including a '\n' (MCP, stdio transport). It
// looks at every byte once, owns none, and never changes one.
#pragma once

#include <cstddef>
#include <string_view>

namespace aegis::mcp {

class FrameCutter {
 public:
  enum class Outcome { frame, incomplete, oversize };
  struct Cut {
    Outcome outcome;
    std::size_t size;  // bytes of the frame, its '\n' included; 0 unless outcome is frame
  };

  /// `max_frame`: bytes that a frame may have, its '\n' not counted.
  explicit FrameCutter(std::size_t max_frame) : max_frame_(max_frame) {}

  /// `pending` is all that came after the last frame cut, each time with its old bytes in front
  /// unchanged. `oversize` is final: the stream has a frame longer than max_frame.
  Cut next(std::string_view pending);

 private:
  std::size_t max_frame_;
  std::size_t scanned_ = 0;  // bytes of `pending` known to hold no '\n'
  bool is_oversize_ = false;
};

/// The frame without its '\n' (a '\r' before it stays: it is content). What digests are taken over.
std::string_view frame_content(std::string_view frame);

}  // namespace aegis::mcp
