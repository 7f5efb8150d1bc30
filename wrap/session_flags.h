// SPDX-License-Identifier: Apache-2.0 OR MIT
// The flags that every verb with a recorded session has: where the record and the key are, how
// durable, how much, how long.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "confine/result.h"
#include "wrap/cli.h"
#include "wrap/interpose.h"

namespace aegis::wrap {

class SessionFlags {
 public:
  /// `options` and this must outlive the parsing.
  void add_to(Flags& flags, InterposeOptions& options);
  /// Checks what the parser cannot, and puts it where it belongs. The error is a usage error's
  /// text.
  [[nodiscard]] confine::Result<void> settle(InterposeOptions& options) const;

 private:
  std::string durability_ = "call";
  std::optional<std::string> max_frame_;
  std::uint64_t grace_seconds_ = 5;
};

/// The names that --reveal may give together, in bytes: they go into the record.
inline constexpr std::size_t kMostRevealed = 4096;
/// Nothing, or a usage error's text.
[[nodiscard]] confine::Result<void> check_revealed(const std::vector<std::string>& names);

}  // namespace aegis::wrap
