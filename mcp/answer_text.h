// SPDX-License-Identifier: Apache-2.0 OR MIT
// What an operation came to, in words for the model that reads it. Internal to broker_answer.cc.
#pragma once

#include <optional>
#include <string>

#include "mcp/broker_answer.h"

namespace aegis::mcp {

struct AnswerText {
  std::string text;  // any bytes
  /// About a text that must stand alone, byte for byte: a file's. Empty when there is nothing to
  /// say.
  std::string note = {};
};
AnswerText describe_answer(const BrokerAnswer& answer);

/// The code that goes with the answer, if one does: a refusal's, or that of the bound that ended a
/// run.
std::optional<BrokerCode> code_of(const BrokerAnswer& answer);

}  // namespace aegis::mcp
