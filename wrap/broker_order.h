// SPDX-License-Identifier: Apache-2.0 OR MIT
// From a request that may be done to what the sandbox is told to run.
#pragma once

#include <variant>

#include "confine/sandbox.h"
#include "mcp/broker_answer.h"
#include "mcp/broker_request.h"
#include "policy/broker_judge.h"
#include "wrap/broker_world.h"

namespace aegis::wrap {

using Ordered = std::variant<confine::SandboxOrder, mcp::Refused>;

/// Looks at the paths that the request names. `world` must outlive the order.
Ordered order_python(const BrokerWorld& world,
                     const mcp::RunPython& run,
                     const policy::Permit& permit);
Ordered order_command(const BrokerWorld& world,
                      const mcp::RunCommand& run,
                      const policy::Permit& permit);

}  // namespace aegis::wrap
