// SPDX-License-Identifier: Apache-2.0 OR MIT
// Bytes of a program or a file, as the UTF-8 that a JSON string must be.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace aegis::mcp::json {

enum class Fidelity : std::uint8_t { exact, lossy };

/// Appends `bytes` as a JSON string, quotes and escapes included, with U+FFFD for each byte that
/// belongs to no well-formed sequence (RFC 3629). lossy: there was such a byte.
Fidelity append_any_string(std::string_view bytes, std::string& out);

}  // namespace aegis::mcp::json
