// SPDX-License-Identifier: Apache-2.0 OR MIT
// Open addressing, linear probing.
#include "audit/digest_set.h"

#include <cstring>
#include <utility>

namespace aegis::audit {

bool DigestSet::insert(const Sha256& digest) {
  if (size_ * 8 >= slots_.size() * 7) grow();
  Sha256& slot = slot_of(digest);
  if (slot == digest) return false;
  slot = digest;
  ++size_;
  return true;
}

/// Where `digest` is, or would go.
Sha256& DigestSet::slot_of(const Sha256& digest) {
  std::size_t hash = 0;
  std::memcpy(&hash, digest.data(), sizeof hash);
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at] != digest && slots_[at] != Sha256{})
    at = (at + 1) & mask;
  return slots_[at];
}

void DigestSet::grow() {
  std::vector<Sha256> old(slots_.empty() ? 16 : slots_.size() * 2);
  old.swap(slots_);
  for (const Sha256& digest : old) {
    if (digest != Sha256{}) slot_of(digest) = digest;
  }
}

}  // namespace aegis::audit
