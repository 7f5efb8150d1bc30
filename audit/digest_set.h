// SPDX-License-Identifier: Apache-2.0 OR MIT
// A set of SHA-256 digests in one flat table, for what a verifier must remember of a whole file. It
// only grows.
#pragma once

#include <cstddef>
#include <vector>

#include "audit/digest.h"

namespace aegis::audit {

/// 32 bytes a slot, no more per entry than twice that, and nothing else. A digest's own bytes are
/// its hash: a file whose author searches for collisions there (2^n tries for n equal bits) makes
/// it slow, not wrong.
class DigestSet {
 public:
  /// Whether `digest` is new.
  bool insert(const Sha256& digest);
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  [[nodiscard]] Sha256& slot_of(const Sha256& digest);
  void grow();

  // All zeros is a free slot: nobody knows a text with that digest.
  std::vector<Sha256> slots_;
  std::size_t size_ = 0;
};

}  // namespace aegis::audit
