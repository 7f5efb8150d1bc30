// SPDX-License-Identifier: Apache-2.0 OR MIT
// `aegis wrap` and `aegis mcp` from their options to their exit code: puts the parts together in
// the order that fails closed. Parsing the command lines is verb_wrap's and verb_mcp's.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/refusal.h"
#include "wrap/broker.h"
#include "wrap/confine_flags.h"
#include "wrap/limits.h"
#include "wrap/loop.h"

namespace aegis::wrap {

struct InterposeOptions {
  std::string_view verb = "wrap";         // for messages; a literal
  std::optional<std::string> audit = {};  // a file, or a folder that takes one file a session
  std::optional<std::string> signing_key =
      {};  // must be there; else the default one, made when missing
  std::optional<std::string> policy = {};
  std::optional<std::string> role = {};
  mcp::RefuseAs refuse_as = mcp::RefuseAs::error;
  Durability durability = Durability::call;
  std::size_t max_frame = kDefaultMaxFrame;
  std::chrono::milliseconds grace = kDefaultGrace;
  std::optional<std::string> stderr_log = {};
  StrictStdout strict_stdout = StrictStdout::no;
  std::optional<ConfineRequest> confine = {};  // nothing: the server is not confined
  std::optional<BrokerOptions> broker = {};
  std::vector<std::string> command = {};  // empty: the built-in server, which needs a broker
};

/// Returns the exit code: the server's own, 128 + n for its signal or ours, 125 when aegis failed,
/// 126 when the command cannot be run, 127 when it is not found. Says on stderr what is on and what
/// went wrong.
int interpose(const InterposeOptions& options);

}  // namespace aegis::wrap
