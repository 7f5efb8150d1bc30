// SPDX-License-Identifier: Apache-2.0 OR MIT
// A verb's answer on stdout. Not for `wrap`, whose stdout is the client's.
#pragma once

#include <string_view>

namespace aegis::wrap {

/// Writes all of it. False when that failed, which has been said on stderr: an answer that did not
/// arrive is no success.
[[nodiscard]] bool write_out(std::string_view text);

}  // namespace aegis::wrap
