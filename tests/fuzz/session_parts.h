// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the fuzz targets of a whole session share.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "wrap/session.h"

namespace aegis::fuzz {

class NoRandomness final : public wrap::Randomness {
 public:
  std::string hex128() override { return std::string(32, 'a'); }
};

/// What a JSON library takes for a call of `tool`.
inline bool is_call_of(std::string_view tool, const nlohmann::json& message) {
  if (!message.is_object() || !message.contains("method") || message["method"] != "tools/call")
    return false;
  return message.contains("params") && message["params"].is_object() &&
         message["params"].contains("name") && message["params"]["name"] == tool;
}

}  // namespace aegis::fuzz
