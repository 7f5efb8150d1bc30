// SPDX-License-Identifier: Apache-2.0 OR MIT
// The benchmark's client: one session and the round trips over it, each timed and each answer
// checked (a relay that answers wrongly must not be fast).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/bench/relay/session.h"
#include "tests/bench/relay/wire.h"

namespace aegis::relay_bench {

class Client {
 public:
  explicit Client(const Program& program);

  // Each returns the seconds from before the first byte is sent until after the last one of the
  // answer is read.
  double ping();
  double call();
  double call_for(std::size_t answer_bytes);
  /// Seconds of `count` calls of which up to `window` are unanswered at a time.
  double calls_in_flight(std::size_t count, std::size_t window);

  /// Calls made so far: what a record must hold.
  [[nodiscard]] std::uint64_t calls() const { return calls_; }
  [[nodiscard]] Session& session() { return session_; }

 private:
  double round_trip(RequestText& request, std::size_t answer_bytes);
  void expect_answer(std::size_t answer_bytes);

  Session session_;
  RequestText ping_;
  RequestText call_;
  std::uint64_t next_id_ = kFirstId;
  std::uint64_t calls_ = 0;
};

}  // namespace aegis::relay_bench
