// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a request's params say to the built-in server. Internal to builtin_server.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mcp/json/scan.h"

namespace aegis::mcp {

/// Keys of params._meta. By the first a request says its revision; of 2026-07-28 both are required.
inline constexpr std::string_view kVersionKey = "io.modelcontextprotocol/protocolVersion";
inline constexpr std::string_view kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";

/// Values view the message.
struct Params {
  std::optional<json::Type> type = {};            // nothing when there are none
  std::optional<json::Value> asked_version = {};  // of initialize
  std::optional<json::Value> cursor = {};
  std::optional<json::Value> arguments = {};
  std::optional<json::Value> meta = {};
  std::optional<json::Value> version = {};  // of _meta, as the next
  std::optional<json::Value> capabilities = {};
};

/// `message` is one request in which the strict reader found no defect.
Params read_params(std::string_view message);

std::string decode(const json::Text& text);

}  // namespace aegis::mcp
