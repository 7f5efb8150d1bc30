// SPDX-License-Identifier: Apache-2.0 OR MIT
// One direction's bytes between being read and being written: cut into frames, held until each
// frame is judged (and its intent recorded), then given out in order. Bytes are never copied on the
// way, only dropped or preceded by texts of our own. It has no file descriptor and knows no JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/frame.h"

namespace aegis::wrap {

/// What becomes of a judged frame.
enum class Fate : std::uint8_t {
  pass,
  pass_when_recorded,  // waits for Relay::settle
  drop,
};
/// Whether what the waiting frames need on the record is there.
enum class Recorded : std::uint8_t { yes, no };

class Relay {
 public:
  explicit Relay(std::size_t max_frame);

  // Reading side.
  /// Where the next read goes: at least kReadSize bytes. Ends every view that next_frame or front
  /// gave.
  std::span<char> room();
  /// So many bytes of the last room were filled.
  void filled(std::size_t count);
  /// The next whole frame, '\n' included, that judge has not been called for; the same until it is.
  std::optional<std::string_view> next_frame();
  /// At the end of input: what stands behind the last '\n', if anything. A frame, too.
  std::optional<std::string_view> last_frame();
  /// Lets the frame that was handed out last go out already. Its view stays until
  /// judge(Fate::pass), which must follow.
  void forward();
  /// Settles the fate of the frame that was handed out last.
  void judge(Fate fate);
  /// All frames that wait for the record pass, or are dropped.
  void settle(Recorded recorded);
  /// A frame of our own, '\n' included, between the frames judged before and after.
  void insert(std::string text);
  /// A frame is longer than max_frame: nothing more can be cut.
  [[nodiscard]] bool is_oversize() const { return is_oversize_; }

  // Writing side.
  /// What may be written now; empty when there is nothing (yet).
  [[nodiscard]] std::string_view front() const;
  void wrote(std::size_t count);
  /// Throws away all that could still be written.
  void discard();
  /// Bytes judged and not yet written.
  [[nodiscard]] std::size_t queued() const { return queued_; }
  /// Those of them that are our own.
  [[nodiscard]] std::size_t queued_own() const { return queued_own_; }
  /// Bytes ever queued (passed or inserted) and ever written: a frame judged when queued_total was
  /// n has been delivered when written_total reaches n plus its size.
  [[nodiscard]] std::uint64_t queued_total() const { return written_total_ + queued_; }
  [[nodiscard]] std::uint64_t written_total() const { return written_total_; }

 private:
  struct Chunk {
    std::size_t begin;  // in buffer_, unless own is set
    std::size_t end;
    std::string own;
    bool is_waiting;
  };
  struct Free {
    void operator()(char* memory) const;
  };

  void grow();
  void pop_front_chunk();
  void forget_written_chunks();
  [[nodiscard]] std::size_t live_begin() const;
  void tidy();
  void shift(std::size_t by);
  void queue(std::size_t size, Fate fate);

  mcp::FrameCutter cutter_;
  std::unique_ptr<char, Free> buffer_;
  std::size_t capacity_ = 0;
  std::size_t judged_ = 0;      // end of the judged frames
  std::size_t end_ = 0;         // end of what was read
  std::size_t handed_out_ = 0;  // size of the frame that waits for judge
  std::vector<Chunk> chunks_;   // from first_chunk_ on
  std::size_t first_chunk_ = 0;
  std::size_t front_done_ = 0;  // bytes of the first chunk already written
  std::size_t queued_ = 0;
  std::size_t queued_own_ = 0;
  std::uint64_t written_total_ = 0;
  bool is_forwarded_ = false;    // the frame handed out last is queued already
  bool ends_in_newline_ = true;  // the last byte queued
  bool is_oversize_ = false;
};

}  // namespace aegis::wrap
