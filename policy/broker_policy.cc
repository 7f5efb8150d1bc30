// SPDX-License-Identifier: Apache-2.0 OR MIT
// The canonical form. Reading a text is broker_policy_read.cc's.
#include "policy/broker_policy.h"

#include <algorithm>

#include "mcp/json/canonical.h"

namespace aegis::policy {
namespace {

using mcp::json::CanonicalWriter;

/// Sorted: a list of the policy means the same in any order.
void write_list(std::string_view name, std::vector<std::string> items, CanonicalWriter& writer) {
  std::sort(items.begin(), items.end());
  writer.name(name);
  writer.begin_array();
  for (const std::string& item : items)
    writer.string(item);
  writer.end_array();
}

std::vector<std::string> names_of(const std::array<bool, mcp::kOperations.size()>& chosen) {
  std::vector<std::string> names;
  for (const mcp::Operation operation : mcp::kOperations) {
    if (chosen[static_cast<std::size_t>(operation)]) names.emplace_back(to_string(operation));
  }
  return names;
}

void write_execution(const BrokerPolicy::Execution& execution, CanonicalWriter& writer) {
  writer.name("execution_rules");
  writer.begin_object();
  writer.name("allow_network");
  writer.truth(CanonicalWriter::Truth::no);
  write_list("allowed_binaries", execution.allowed_binaries, writer);
  write_list("allowed_paths", execution.allowed_paths, writer);
  writer.member("max_memory_mb", execution.max_memory_mb);
  writer.member("max_output_bytes", execution.max_output_bytes);
  writer.member("max_timeout_seconds", execution.max_timeout_seconds);
  writer.end_object();
}

void write_paths(const BrokerPolicy::Paths& paths, CanonicalWriter& writer) {
  writer.name("path_rules");
  writer.begin_object();
  write_list("allowed_subpaths", paths.allowed_subpaths, writer);
  write_list("denied_patterns", paths.denied_patterns, writer);
  writer.member("max_file_read_bytes", paths.max_file_read_bytes);
  writer.end_object();
}

}  // namespace

std::string BrokerPolicy::canonical_form() const {
  std::string out;
  CanonicalWriter writer(out);
  writer.begin_object();
  write_list("allowed_operations", names_of(allowed), writer);
  write_execution(execution, writer);
  write_paths(paths, writer);
  writer.member("policy_id", policy_id);
  write_list("require_approval_for", names_of(needs_approval), writer);
  writer.member("version", "1.0");
  writer.member("workspace_root", workspace_root);
  writer.end_object();
  return out;
}

}  // namespace aegis::policy
