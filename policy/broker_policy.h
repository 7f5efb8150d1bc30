// SPDX-License-Identifier: Apache-2.0 OR MIT
// The broker's policy, version "1.0": which operations, on which paths, with which bounds and
// binaries. Read from YAML (a JSON file is YAML) as strictly as rules are; looks at no file.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/operation.h"
#include "policy/diagnostic.h"

namespace aegis::policy {

struct BrokerPolicy {
  struct Paths {
    std::vector<std::string> allowed_subpaths = {};  // relative; empty when left out: everything
    std::vector<std::string> denied_patterns = {};   // globs (* ? [..]) of one component or a path
    std::uint64_t max_file_read_bytes = 1ULL << 20U;
  };
  struct Execution {
    std::uint64_t max_timeout_seconds = 15;
    std::uint64_t max_output_bytes = 64ULL << 10U;
    std::uint64_t max_memory_mb = 256;
    std::vector<std::string> allowed_binaries = {};  // a name ("git") or an absolute path
    std::vector<std::string> allowed_paths = {};     // relative; of run_command's arguments
  };
  std::string policy_id;
  std::string name;
  std::string description = {};
  std::string workspace_root;  // as written; a relative one is meant from the policy's folder
  std::array<bool, mcp::kOperations.size()> allowed = {};         // by Operation
  std::array<bool, mcp::kOperations.size()> needs_approval = {};  // by Operation
  Paths paths = {};
  Execution execution = {};

  [[nodiscard]] bool allows(mcp::Operation operation) const {
    return allowed[static_cast<std::size_t>(operation)];
  }
  /// Canonical JSON of all that the judgement can see; who needs its digest hashes it.
  [[nodiscard]] std::string canonical_form() const;
};

/// Either `policy` is set and all diagnostics are warnings, or it is not and one at least is an
/// error.
struct LoadedBrokerPolicy {
  std::optional<BrokerPolicy> policy;
  std::vector<Diagnostic> diagnostics;
};

/// `text` is a whole file, of any bytes. Never throws on input.
LoadedBrokerPolicy parse_broker_policy(std::string_view text);

}  // namespace aegis::policy
