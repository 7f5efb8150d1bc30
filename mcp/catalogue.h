// SPDX-License-Identifier: Apache-2.0 OR MIT
// The operations as MCP tools: names, descriptions that a model can act on, schemas (JSON Schema
// 2020-12) of what goes in and what comes out, annotations. What a policy leaves of them is its
// caller's to say.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mcp/operation.h"

namespace aegis::mcp {

/// The bounds that descriptions and schemas name.
struct CatalogueBounds {
  std::uint64_t max_read_bytes = 0;
  std::uint64_t max_timeout_seconds = 0;
  std::uint64_t max_output_bytes = 0;  // stdout and stderr together
  std::uint64_t max_memory_mb = 0;
  std::vector<std::string> binaries = {};  // as the policy lists them
};

/// One tool as it stands in a tools/list result: one JSON object, without a newline.
std::string encode_tool(Operation operation, const CatalogueBounds& bounds);
/// Several, parted by commas.
std::string encode_tools(std::span<const Operation> operations, const CatalogueBounds& bounds);

}  // namespace aegis::mcp
