// SPDX-License-Identifier: Apache-2.0 OR MIT
// Bytes of a program, as the UTF-8 that a JSON string must be.
#pragma once

#include <string>
#include <string_view>

namespace aegis::mcp::json {

/// `bytes` itself when it is well-formed UTF-8; else `scratch`, made to hold the same with U+FFFD
/// for each byte that belongs to no well-formed sequence. Valid as long as both are.
std::string_view as_utf8(std::string_view bytes, std::string& scratch);

}  // namespace aegis::mcp::json
