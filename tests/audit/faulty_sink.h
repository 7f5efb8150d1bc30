// SPDX-License-Identifier: Apache-2.0 OR MIT
// A sink with a disk behind it that may lose power: what was not synced may be gone, from any byte
// on (a lost write is seen as a cut, as in a file that was only appended to). For tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "audit/sink.h"

namespace aegis::audit {

class FaultySink : public Sink {
 public:
  void append(std::string_view line) override { text_ += line; }

  /// All so far survives a power cut from now on.
  void sync() { synced_ = text_.size(); }
  /// The disk after a power cut that let `lucky` bytes survive of those not synced.
  [[nodiscard]] std::string after_power_cut(std::size_t lucky) const {
    return text_.substr(0, synced_ + std::min(lucky, unsynced()));
  }
  [[nodiscard]] std::size_t unsynced() const { return text_.size() - synced_; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::size_t synced_ = 0;
};

}  // namespace aegis::audit
