// SPDX-License-Identifier: Apache-2.0 OR MIT
// Names of files without their case: by Unicode simple case folding (mcp/json/case_fold.h), though
// a name on a disk may be any bytes. No normalisation: the kernel does none either.
#pragma once

#include <string>
#include <string_view>

namespace aegis::policy {

/// `name` with each code point folded; bytes that are no UTF-8 stand for themselves.
std::string folded(std::string_view name);

}  // namespace aegis::policy
