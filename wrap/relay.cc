// SPDX-License-Identifier: Apache-2.0 OR MIT
// One buffer, read at its end and written from its front; chunks name the parts of it that may go
// out. While chunks point into it the buffer may grow but not shift.
#include "wrap/relay.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "wrap/limits.h"

namespace aegis::wrap {

void Relay::Free::operator()(char* memory) const {
  std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc): realloc's partner
}

Relay::Relay(std::size_t max_frame) : cutter_(max_frame) {}

std::span<char> Relay::room() {
  tidy();
  if (capacity_ - end_ < kReadSize) grow();
  return {buffer_.get() + end_, capacity_ - end_};
}

void Relay::filled(std::size_t count) {
  assert(count <= capacity_ - end_);
  end_ += count;
}

/// Where the bytes begin that are still needed.
std::size_t Relay::live_begin() const {
  for (std::size_t i = first_chunk_; i < chunks_.size(); ++i) {
    if (chunks_[i].own.empty()) return chunks_[i].begin + (i == first_chunk_ ? front_done_ : 0);
  }
  return judged_;
}

/// Makes room at the end by moving what is live to the front, when that is the smaller part; gives
/// a large buffer back when nothing is live. A stream that always has something queued must not
/// make the buffer grow.
void Relay::tidy() {
  if (handed_out_ != 0) return;
  const std::size_t begin = live_begin();
  if (begin == end_ && capacity_ > kKeptBuffer) {
    buffer_.reset();
    capacity_ = 0;
  }
  const bool is_short = capacity_ - std::min(capacity_, end_) < kReadSize;
  if (begin != end_ && !(is_short && begin >= end_ - begin)) return;
  if (begin != end_) std::memmove(buffer_.get(), buffer_.get() + begin, end_ - begin);
  shift(begin);
}

void Relay::shift(std::size_t by) {
  end_ -= by;
  judged_ -= by;
  for (std::size_t i = first_chunk_; i < chunks_.size(); ++i) {
    if (!chunks_[i].own.empty()) continue;
    const std::size_t done = i == first_chunk_ ? front_done_ : 0;
    chunks_[i].begin += done;
    if (done != 0) front_done_ = 0;
    chunks_[i].begin -= by;
    chunks_[i].end -= by;
  }
}

/// Doubles. realloc moves a block of this size by remapping pages, not by copying (mremap(2)).
void Relay::grow() {
  const std::size_t wanted = std::max(capacity_ * 2, 2 * kReadSize);
  char* grown =
      // NOLINTNEXTLINE(cppcoreguidelines-no-malloc): a vector would zero and copy what realloc
      // remaps
      static_cast<char*>(std::realloc(buffer_.get(), wanted));
  if (grown == nullptr) throw std::bad_alloc();
  static_cast<void>(buffer_.release());
  buffer_.reset(grown);
  capacity_ = wanted;
}

std::optional<std::string_view> Relay::next_frame() {
  if (is_oversize_) return std::nullopt;
  const std::string_view pending(buffer_.get() + judged_, end_ - judged_);
  const mcp::FrameCutter::Cut cut = cutter_.next(pending);
  switch (cut.outcome) {
    case mcp::FrameCutter::Outcome::incomplete:
      return std::nullopt;
    case mcp::FrameCutter::Outcome::oversize:
      is_oversize_ = true;
      return std::nullopt;
    case mcp::FrameCutter::Outcome::frame:
      break;
  }
  handed_out_ = cut.size;
  return pending.substr(0, cut.size);
}

std::optional<std::string_view> Relay::last_frame() {
  if (is_oversize_ || judged_ == end_) return std::nullopt;
  handed_out_ = end_ - judged_;
  return std::string_view(buffer_.get() + judged_, handed_out_);
}

void Relay::forward() {
  assert(handed_out_ > 0 && !is_forwarded_);
  queue(handed_out_, Fate::pass);
  is_forwarded_ = true;
}

void Relay::judge(Fate fate) {
  assert(handed_out_ > 0 && (!is_forwarded_ || fate == Fate::pass));
  if (fate != Fate::drop && !is_forwarded_) queue(handed_out_, fate);
  judged_ += handed_out_;
  handed_out_ = 0;
  // All of a forwarded frame may have been written meanwhile.
  if (std::exchange(is_forwarded_, false) && chunks_.empty()) tidy();
}

void Relay::queue(std::size_t size, Fate fate) {
  const bool waits = fate == Fate::pass_when_recorded;
  const std::size_t end = judged_ + size;
  ends_in_newline_ = buffer_.get()[end - 1] == '\n';
  queued_ += size;
  if (first_chunk_ != chunks_.size()) {
    Chunk& last = chunks_.back();
    if (last.own.empty() && last.end == judged_ && last.is_waiting == waits) {
      last.end = end;
      return;
    }
  }
  chunks_.push_back({judged_, end, {}, waits});
}

void Relay::settle(Recorded recorded) {
  const auto first = chunks_.begin() + static_cast<std::ptrdiff_t>(first_chunk_);
  if (recorded == Recorded::no) {
    const auto kept = std::remove_if(first, chunks_.end(), [this](const Chunk& chunk) {
      if (chunk.is_waiting) queued_ -= chunk.end - chunk.begin;
      return chunk.is_waiting;
    });
    chunks_.erase(kept, chunks_.end());
    forget_written_chunks();
    return;
  }
  std::for_each(first, chunks_.end(), [](Chunk& chunk) { chunk.is_waiting = false; });
}

void Relay::insert(std::string text) {
  if (text.empty()) return;
  // Behind a last line that had no '\n' ours would be unreadable.
  if (!ends_in_newline_) text.insert(text.begin(), '\n');
  ends_in_newline_ = true;
  queued_ += text.size();
  queued_own_ += text.size();
  chunks_.push_back({0, 0, std::move(text), false});
}

std::string_view Relay::front() const {
  if (first_chunk_ == chunks_.size()) return {};
  const Chunk& chunk = chunks_[first_chunk_];
  if (chunk.is_waiting) return {};
  const std::string_view all =
      chunk.own.empty() ? std::string_view(buffer_.get() + chunk.begin, chunk.end - chunk.begin)
                        : std::string_view(chunk.own);
  return all.substr(front_done_);
}

void Relay::wrote(std::size_t count) {
  assert(count <= front().size());
  const Chunk& chunk = chunks_[first_chunk_];
  written_total_ += count;
  queued_ -= count;
  if (!chunk.own.empty()) queued_own_ -= count;
  front_done_ += count;
  if (!front().empty()) return;
  pop_front_chunk();
  if (chunks_.empty()) tidy();
}

void Relay::pop_front_chunk() {
  front_done_ = 0;
  ++first_chunk_;
  forget_written_chunks();
}

void Relay::forget_written_chunks() {
  constexpr std::size_t kMany = 64;
  if (first_chunk_ != chunks_.size() && first_chunk_ < kMany) return;
  chunks_.erase(chunks_.begin(), chunks_.begin() + static_cast<std::ptrdiff_t>(first_chunk_));
  first_chunk_ = 0;
}

void Relay::discard() {
  chunks_.clear();
  first_chunk_ = front_done_ = 0;
  queued_ = queued_own_ = 0;
}

}  // namespace aegis::wrap
