// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the workspace and the sandbox say, as answers that whoever asked can act on. No path of the
// host's is in any of them.
#pragma once

#include <cstdint>
#include <string>

#include "confine/sandbox.h"
#include "confine/workspace.h"
#include "mcp/broker_answer.h"

namespace aegis::wrap {

/// What a path was to be.
enum class Wanted : std::uint8_t { text, folder, script, writable };

/// PATH_BOUNDARY_VIOLATION for what leads, or may lead, out of the workspace: symbolic links, files
/// with a second name, devices, FIFOs and sockets. OPERATION_NOT_PERMITTED for the rest.
mcp::Refused refuse_path(confine::PathFault fault, Wanted wanted);
/// For PathFault::not_regular when it is known to be a folder.
mcp::Refused refuse_folder();

/// A cut amid a character is moved before it. What is no UTF-8 is refused.
mcp::BrokerAnswer answer_text(std::string path, confine::ReadFile file);
mcp::BrokerAnswer answer_list(std::string path, confine::FolderList list);
mcp::BrokerAnswer answer_end(confine::SandboxEnd end);
/// SANDBOX_UNAVAILABLE. `why` tells what could not be had and what to do about it.
mcp::Refused refuse_unbuilt(std::string why);

}  // namespace aegis::wrap
