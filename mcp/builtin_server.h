// SPDX-License-Identifier: Apache-2.0 OR MIT
// An MCP server without a tool of its own, for `aegis mcp`: it negotiates a version, answers pings
// and says of everything else, by the book, that it does not know it. The broker's tools are added
// to its answers as to any server's (amend.h). Pure: a frame in, a frame out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mcp/message.h"

namespace aegis::mcp {

class BuiltinServer {
 public:
  /// `version` is this program's; it must outlive the server.
  explicit BuiltinServer(std::string_view version) : version_(version) {}

  /// What to answer to one client frame (its '\n' included or not): a frame with its '\n', or
  /// nothing. Every revision from 2024-11-05 to 2026-07-28; a batch is answered by an array.
  std::string answer(std::string_view frame);

 private:
  enum class Place : std::uint8_t { alone, in_batch };
  std::string answer_one(std::string_view text, Place place);

  std::string_view version_;
  MessageReader reader_;
};

}  // namespace aegis::mcp
