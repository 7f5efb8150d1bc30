// SPDX-License-Identifier: Apache-2.0 OR MIT
// Numbers of bytes as flags take them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace aegis::wrap {

struct SizeRange {
  std::uint64_t least = 1;
  std::uint64_t most = 0;
};
/// Decimal digits, alone or with one of the suffixes KiB, MiB, GiB behind them. Nothing when it is
/// neither, or out of range.
std::optional<std::uint64_t> parse_size(std::string_view text, SizeRange range);
/// With the largest suffix that divides it: "64MiB".
std::string format_size(std::uint64_t size);

}  // namespace aegis::wrap
