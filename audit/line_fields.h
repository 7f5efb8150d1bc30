// SPDX-License-Identifier: Apache-2.0 OR MIT
// Which members each type of Line must have and may have, and of what type they are: the format's
// tables, and the check against them. Members that no table names are nobody's business but the
// hash's.
#pragma once

#include <string>

#include "audit/line_reader.h"
#include "mcp/json/canonical.h"

namespace aegis::audit {

/// The path of the first member that is missing or ill-typed ("policy.status"); empty when there is
/// none.
std::string find_bad_field(LineType type, const mcp::json::CanonicalNode& line);

}  // namespace aegis::audit
