// SPDX-License-Identifier: Apache-2.0 OR MIT
// Any bytes as a broker policy. Whatever comes: either a policy or an error, all of it printable; a
// policy holds only what can be judged, and written out again it is the same one.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "mcp/broker_request.h"
#include "mcp/json/canonical.h"
#include "policy/broker_judge.h"
#include "policy/broker_policy.h"
#include "policy/glob.h"
#include "policy/path.h"
#include "tests/fuzz/require.h"

namespace {

using aegis::fuzz::require;
using aegis::policy::BrokerPolicy;
using aegis::policy::Diagnostic;
using aegis::policy::LoadedBrokerPolicy;
namespace json = aegis::mcp::json;
using Texts = std::vector<std::string>;

void require_one_answer(const LoadedBrokerPolicy& loaded) {
  bool has_error = false;
  for (const Diagnostic& each : loaded.diagnostics) {
    has_error = has_error || each.severity == Diagnostic::Severity::error;
    require(!each.message.empty() && json::is_encodable(each.message) &&
            json::is_encodable(each.field));
    for (const char byte : aegis::policy::describe(each, "p"))
      require(static_cast<unsigned char>(byte) >= 0x20 && byte != 0x7F);
  }
  require(has_error != loaded.policy.has_value());
}

void require_normal(const Texts& paths) {
  for (const std::string& path : paths) {
    const auto again = aegis::policy::normalise(path.empty() ? "." : std::string_view(path));
    require(std::holds_alternative<std::string>(again) && std::get<std::string>(again) == path);
  }
}

void require_bounds(const BrokerPolicy& policy) {
  require(policy.paths.max_file_read_bytes - 1 < aegis::mcp::kMostReadBytes);
  require(policy.execution.max_timeout_seconds - 1 < aegis::mcp::kMostTimeoutSeconds);
  require(policy.execution.max_output_bytes - 1 < aegis::mcp::kMostOutputBytes);
  require(policy.execution.max_memory_mb - 1 < aegis::mcp::kMostMemoryMb);
  require(!policy.policy_id.empty() && !policy.name.empty() && !policy.workspace_root.empty());
  require_normal(policy.paths.allowed_subpaths);
  require_normal(policy.execution.allowed_paths);
  for (const std::string& pattern : policy.paths.denied_patterns) {
    require(!aegis::policy::find_glob_flaw(pattern));
    static_cast<void>(aegis::policy::does_glob_cover(pattern, "a/b/c"));
  }
  for (const std::string& binary : policy.execution.allowed_binaries)
    require(!binary.empty() && (binary.front() == '/' || binary.find('/') == std::string::npos));
}

std::string quoted(const std::string& text) {
  std::string out;
  json::append_string(text, out);
  return out;
}
std::string list(const Texts& texts) {
  std::string out = "[";
  for (const std::string& text : texts)
    out.append(out.size() > 1 ? "," : "").append(quoted(text.empty() ? "." : text));
  return out + "]";
}
std::string list(const std::array<bool, aegis::mcp::kOperations.size()>& chosen) {
  Texts names;
  for (const aegis::mcp::Operation each : aegis::mcp::kOperations) {
    if (chosen[static_cast<std::size_t>(each)]) names.emplace_back(to_string(each));
  }
  return list(names);
}

/// As JSON.
std::string written(const BrokerPolicy& policy) {
  std::string out = R"({"version":"1.0","name":"other","policy_id":)" + quoted(policy.policy_id);
  out += ",\"workspace_root\":" + quoted(policy.workspace_root);
  out += ",\"allowed_operations\":" + list(policy.allowed);
  out += ",\"require_approval_for\":" + list(policy.needs_approval);
  const auto& paths = policy.paths;
  out += ",\"path_rules\":{\"denied_patterns\":" + list(paths.denied_patterns);
  if (!paths.allowed_subpaths.empty())
    out += ",\"allowed_subpaths\":" + list(paths.allowed_subpaths);
  out += ",\"max_file_read_bytes\":" + std::to_string(paths.max_file_read_bytes);
  const auto& execution = policy.execution;
  out += "},\"execution_rules\":{\"allowed_binaries\":" + list(execution.allowed_binaries);
  if (!execution.allowed_paths.empty())
    out += ",\"allowed_paths\":" + list(execution.allowed_paths);
  out += ",\"max_timeout_seconds\":" + std::to_string(execution.max_timeout_seconds);
  out += ",\"max_output_bytes\":" + std::to_string(execution.max_output_bytes);
  return out + ",\"max_memory_mb\":" + std::to_string(execution.max_memory_mb) + "}}";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const LoadedBrokerPolicy loaded =
      aegis::policy::parse_broker_policy({reinterpret_cast<const char*>(data), size});
  require_one_answer(loaded);
  if (!loaded.policy) return 0;
  require_bounds(*loaded.policy);
  const std::string form = loaded.policy->canonical_form();
  const LoadedBrokerPolicy again = aegis::policy::parse_broker_policy(written(*loaded.policy));
  require(again.policy.has_value() && again.policy->canonical_form() == form);
  if (form.size() > json::kMaxCanonicalSize) return 0;
  json::CanonicalReader reader;
  require(!reader.read(form).has_value());
  return 0;
}
