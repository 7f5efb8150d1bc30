// SPDX-License-Identifier: Apache-2.0 OR MIT
// Frames out of a stream that arrives in pieces of any size.
#include "mcp/frame.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace {

using aegis::mcp::frame_content;
using aegis::mcp::FrameCutter;
using Outcome = FrameCutter::Outcome;

/// Feeds `stream` in pieces of `step` bytes and returns the frames, "<oversize>" where the stream
/// ended so, and what was left over.
std::vector<std::string> cut(std::string_view stream, std::size_t step, std::size_t max_frame) {
  FrameCutter cutter{max_frame};
  std::vector<std::string> frames;
  std::string pending;
  for (std::size_t fed = 0; fed < stream.size(); fed += step) {
    pending += stream.substr(fed, step);
    for (;;) {
      const FrameCutter::Cut next = cutter.next(pending);
      if (next.outcome == Outcome::oversize) {
        frames.emplace_back("<oversize>");
        return frames;
      }
      if (next.outcome == Outcome::incomplete) break;
      frames.push_back(pending.substr(0, next.size));
      pending.erase(0, next.size);
    }
  }
  frames.push_back(pending);
  return frames;
}

}  // namespace

TEST_CASE("frames keep every byte and do not depend on how the stream is read") {
  using namespace std::string_view_literals;
  constexpr std::string_view kStream = "{\"a\":1}\n\n\r\n{\"b\":\0\xFF}\r\n[]\nno end"sv;
  const std::vector<std::string> expected{
      "{\"a\":1}\n", "\n", "\r\n", std::string{"{\"b\":\0\xFF}\r\n"sv}, "[]\n", "no end"};
  for (std::size_t step = 1; step <= kStream.size(); ++step) {
    CAPTURE(step);
    CHECK(cut(kStream, step, 100) == expected);
  }
}

TEST_CASE("a frame of exactly the limit passes and one byte more ends the stream") {
  const std::string good = std::string(64, 'x') + '\n';
  const std::string bad = std::string(65, 'x') + '\n';
  const std::string stream = good + bad + good;
  for (std::size_t step = 1; step <= 70; ++step) {
    CAPTURE(step);
    CHECK(cut(good + good, step, 64) == std::vector<std::string>{good, good, ""});
    CHECK(cut(stream, step, 64) == std::vector<std::string>{good, "<oversize>"});
  }
}

TEST_CASE("an endless line is oversize as soon as it is longer than the limit") {
  FrameCutter cutter{10};
  std::string pending(10, 'x');
  CHECK(cutter.next(pending).outcome == Outcome::incomplete);
  pending += 'x';
  CHECK(cutter.next(pending).outcome == Outcome::oversize);
  CHECK(cutter.next(pending).size == 0);
  CHECK(cutter.next("{}\n").outcome == Outcome::oversize);  // final
}

TEST_CASE("without a limit nothing is oversize") {
  FrameCutter cutter{SIZE_MAX};
  CHECK(cutter.next(std::string(100'000, 'x')).outcome == Outcome::incomplete);
}

TEST_CASE("content is the frame without its newline alone") {
  CHECK(frame_content("{}\n") == "{}");
  CHECK(frame_content("{}\r\n") == "{}\r");
  CHECK(frame_content("{}\n\n") == "{}\n");
  CHECK(frame_content("{}") == "{}");
  CHECK(frame_content("\n").empty());
  CHECK(frame_content("").empty());
}
