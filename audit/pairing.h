// SPDX-License-Identifier: Apache-2.0 OR MIT
// The calls of one session that have an intent and no outcome yet. It remembers nothing of a call
// that is over, and has a limit, so that a file of nothing but intents cannot fill the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "audit/digest.h"

namespace aegis::audit {

/// Bytes that the table may take; some 20,000 calls of ordinary names, all without an answer.
inline constexpr std::size_t kMaxPairing = std::size_t{8} << 20U;

class Pairing {
 public:
  struct Call {
    std::uint64_t seq = 0;
    std::string call_id;
    std::string tool_id;
    FrameDigest request_digest;
  };

  enum class Added : std::uint8_t { added, repeated, full };
  Added add(Call call);

  enum class Match : std::uint8_t { paired, no_intent, other_tool, other_request };
  /// Takes the call out when it is `paired`, and only then.
  Match close(std::string_view call_id,
              std::string_view tool_id,
              const FrameDigest& request_digest);

  [[nodiscard]] std::size_t size() const { return calls_.size(); }
  /// Some intent did not fit: from here on an outcome without one proves nothing.
  [[nodiscard]] bool is_overfull() const { return is_overfull_; }
  /// All that is left, in order of seq; then it is as new.
  std::vector<Call> take_all();

 private:
  struct Open {
    std::uint64_t seq;
    std::string tool_id;
    FrameDigest request_digest;
  };
  std::map<std::string, Open, std::less<>> calls_;
  std::size_t bytes_ = 0;
  bool is_overfull_ = false;
};

}  // namespace aegis::audit
