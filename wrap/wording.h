// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a refusal says to the client's user and model: which rule, why, and what to do instead.
// Hosts drop an error's data and show its message alone, so the message stands for itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mcp/json/scan.h"
#include "policy/policy.h"

namespace aegis::wrap {

/// `rule` is null when the policy's default decided.
std::string denied_message(std::string_view tool, const policy::Rule* rule);
std::string rate_limited_message(std::string_view tool, const policy::Rule& rule);
std::string pending_message(std::string_view tool,
                            const policy::Rule& rule,
                            std::string_view approval_id);
std::string malformed_call_message();
std::string malformed_frame_message(const mcp::json::Defect& defect);
std::string batch_denied_message();
/// Of a batch that holds a call or a request that the broker has part in.
std::string batch_of_broker_message();
/// Of a server's answer to tools/list that the broker's tools cannot be put into.
std::string unclear_list_message();
std::string unclear_answer_message();
std::string refused_batch_message();
/// For stderr and the record.
std::string hidden_tool_sentence(std::string_view tool);
std::string record_unavailable_message();
std::string too_many_calls_message(std::size_t limit);
/// Of requests of all kinds, beside a broker.
std::string too_many_requests_message(std::size_t limit);
/// Of a request for the server.
std::string id_of_operation_message();
/// Of a call of the broker's.
std::string id_of_request_message();

}  // namespace aegis::wrap
