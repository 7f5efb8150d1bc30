// SPDX-License-Identifier: Apache-2.0 OR MIT
// The frames that aegis itself sends to a client: refusals of a call, as a JSON-RPC error or as a
// tool result.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mcp/message.h"

namespace aegis::mcp {

/// JSON-RPC error code of every refusal. It never varies.
inline constexpr int kRefusalCode = -32042;

enum class RefusalCode : std::uint8_t {
  policy_denied,
  rate_limited,
  pending_approval,
  malformed_call,
  malformed_frame,
  batch_denied,
  record_unavailable,
};
/// "POLICY_DENIED" and so on.
std::string_view to_string(RefusalCode code);

/// error: JSON-RPC error -32042. result: a tool result with isError, for hosts that retry on -32042
/// or hide protocol errors from the model.
enum class RefuseAs : std::uint8_t { error, result };

struct Refusal {
  Id id;  // not answerable: the answer's id is null
  RefusalCode code;
  std::string_view message;  // valid UTF-8
};

/// One frame with its '\n'. A refusal whose id is not answerable is always an error, whatever `as`
/// says.
std::string encode_refusal(const Refusal& refusal, RefuseAs as);

}  // namespace aegis::mcp
