// SPDX-License-Identifier: Apache-2.0 OR MIT
// Lower-case hex, the only one a record knows. Internal to this folder.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace aegis::audit {

std::array<char, 64> hex_of(const std::array<std::uint8_t, 32>& bytes);
void append_hex(std::span<const std::uint8_t> bytes, std::string& out);
/// False, and `out` is not to be used, unless `text` is exactly two lower-case digits for each byte
/// of it.
[[nodiscard]] bool decode_hex(std::string_view text, std::span<std::uint8_t> out);

}  // namespace aegis::audit
