// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a session knows of the broker that stands in it, and what it asks of it: values, and no way
// to the broker itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "audit/digest.h"
#include "mcp/broker_request.h"
#include "mcp/operation.h"

namespace aegis::wrap {

struct BrokerOffer {
  struct Tool {
    mcp::Operation operation;
    std::string text;  // mcp::encode_tool's; empty: not listed, and refused when it is called
  };
  std::vector<Tool> tools;  // the operations whose calls are the broker's
  audit::PolicySetHash policy_set_hash;
  std::uint64_t max_timeout_seconds = 0;  // of a run that names none
};

/// One operation whose intent is on the record. `ticket` is the intent's seq.
struct BrokerTask {
  std::uint64_t ticket = 0;
  mcp::BrokerRequest request;
};

}  // namespace aegis::wrap
