// SPDX-License-Identifier: Apache-2.0 OR MIT
// Texts of a policy in messages about it.
#pragma once

#include <string>
#include <string_view>

namespace aegis::policy {

/// For messages: printable (mcp/json/printable.h), in double quotes, and cut after some forty code
/// points.
std::string quoted(std::string_view text);

}  // namespace aegis::policy
