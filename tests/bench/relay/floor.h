// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a recorder cannot do without, measured where aegis does it (the other core) and when (after
// the same pause): a helper process signs and syncs when told to and says how long that alone took.
#pragma once

#include <cstddef>

#include "tests/bench/relay/samples.h"
#include "tests/bench/relay/session.h"

namespace aegis::relay_bench {

/// What one sync is of: about an intent, as the record has it.
inline constexpr std::size_t kAppendBytes = 500;

class Floor {
 public:
  /// `program` runs measure_floors (modes.h).
  explicit Floor(const Program& program) : session_(program) {}

  /// Seconds of appending 500 bytes and fdatasync.
  double sync();
  /// Adds the seconds of some signatures of 1,200 bytes, back to back.
  void sign(Samples& samples);
  void end() { session_.end(); }

 private:
  Session session_;
};

}  // namespace aegis::relay_bench
