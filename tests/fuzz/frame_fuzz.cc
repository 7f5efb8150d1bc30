// SPDX-License-Identifier: Apache-2.0 OR MIT
// A stream cut into reads of any sizes gives the frames that a split at every '\n' gives. The input
// is: the limit, how many sizes follow, the sizes (used in turn), the stream.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/frame.h"

namespace {

using aegis::mcp::FrameCutter;

struct Frames {
  std::vector<std::string> whole;
  std::string rest;
  bool is_oversize = false;

  bool operator==(const Frames&) const = default;
};

Frames split(std::string_view stream, std::size_t max_frame) {
  Frames frames;
  for (;;) {
    const std::size_t newline = stream.find('\n');
    const std::size_t size = std::min(newline, stream.size());
    if (size > max_frame) {
      frames.is_oversize = true;
      return frames;
    }
    if (newline == std::string_view::npos) break;
    frames.whole.emplace_back(stream.substr(0, newline + 1));
    stream.remove_prefix(newline + 1);
  }
  frames.rest = stream;
  return frames;
}

Frames cut(std::string_view stream, std::size_t max_frame, std::string_view sizes) {
  FrameCutter cutter{max_frame};
  Frames frames;
  for (std::size_t turn = 0; !stream.empty(); ++turn) {
    const std::size_t wanted =
        sizes.empty() ? 1U : static_cast<unsigned char>(sizes[turn % sizes.size()]);
    const std::size_t size = std::clamp<std::size_t>(wanted, 1, stream.size());
    frames.rest += stream.substr(0, size);
    stream.remove_prefix(size);
    for (;;) {
      const FrameCutter::Cut next = cutter.next(frames.rest);
      if (next.outcome == FrameCutter::Outcome::incomplete) break;
      if (next.outcome == FrameCutter::Outcome::oversize) {
        frames.rest.clear();
        frames.is_oversize = true;
        return frames;
      }
      frames.whole.push_back(frames.rest.substr(0, next.size));
      frames.rest.erase(0, next.size);
    }
  }
  return frames;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  std::string_view input{reinterpret_cast<const char*>(data), size};
  const std::size_t max_frame = data[0];
  const std::size_t count = std::min<std::size_t>(data[1] % 16, size - 2);
  const std::string_view sizes = input.substr(2, count);
  const std::string_view stream = input.substr(2 + count);
  if (cut(stream, max_frame, sizes) != split(stream, max_frame)) std::abort();
  for (const std::string& frame : split(stream, max_frame).whole) {
    if (aegis::mcp::frame_content(frame) != frame.substr(0, frame.size() - 1)) std::abort();
  }
  return 0;
}
