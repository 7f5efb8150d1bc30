// SPDX-License-Identifier: Apache-2.0 OR MIT
// Paths under a policy, beyond what broker_judge.h tells all: what may be listed.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "mcp/broker_answer.h"
#include "policy/broker_judge.h"

namespace aegis::policy {

/// As judge_path(), and also a folder above an allowed one, so that it is found from the root on.
/// Who lists it leaves out what is Place::outside.
std::variant<std::string, mcp::Refused> judge_listed(std::string_view written,
                                                     const Judging& judging);

}  // namespace aegis::policy
