// SPDX-License-Identifier: Apache-2.0 OR MIT
// See broker_advice.h.
#include "policy/broker_advice.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "policy/broker_judge.h"
#include "policy/sensitive.h"
#include "policy/text.h"

namespace aegis::policy {
namespace {

/// Programs whose arguments start other programs or are programs themselves: their manuals' -c, -e,
/// -exec, core.pager, --to-command and system(). Not all there are.
constexpr std::string_view kLaunchers[] = {
    "ash",    "awk",    "bash",    "busybox", "dash",   "env",     "ex",   "find",   "fish",
    "flock",  "gawk",   "gdb",     "git",     "ionice", "ksh",     "less", "lua",    "make",
    "mawk",   "mksh",   "nice",    "node",    "nohup",  "nodejs",  "npm",  "npx",    "perl",
    "php",    "python", "python3", "rsync",   "ruby",   "script",  "sed",  "setsid", "sh",
    "stdbuf", "strace", "sudo",    "tar",     "time",   "timeout", "vi",   "view",   "vim",
    "watch",  "xargs",  "zip",     "zsh"};

bool is_launcher(std::string_view binary) {
  const std::string_view name = binary.substr(binary.rfind('/') + 1);
  return std::find(std::begin(kLaunchers), std::end(kLaunchers), name) != std::end(kLaunchers);
}

void advise_operations(const BrokerPolicy& policy,
                       const BrokerPlaces& places,
                       FieldReader& fields) {
  if (places.operations.empty())
    fields.warn(*places.allowed_operations, "no operation is allowed, so all will be refused");
  for (const Document::Node item : places.approvals) {
    const bool is_allowed =
        std::any_of(places.operations.begin(), places.operations.end(), [item](const auto& each) {
          return each.text() == item.text();
        });
    fields.warn(item,
                is_allowed ? "nobody can approve an operation yet: it is refused"
                           : "the operation is not allowed anyway");
  }
  if (policy.allows(mcp::Operation::run_command) && places.binaries.empty()) {
    fields.warn(*places.allowed_operations,
                "run_command is allowed, and execution_rules.allowed_binaries lists no program: "
                "nothing can be run");
  }
}

void advise_secrets(const std::vector<std::string>& paths,
                    const std::vector<Document::Node>& places,
                    FieldReader& fields) {
  for (std::size_t at = 0; at < paths.size(); ++at) {
    if (is_sensitive(paths[at])) {
      fields.warn(
          places[at],
          "secrets usually lie under such a name: it stays refused unless it is revealed on "
          "the command line");
    }
  }
}

void advise_execution(const BrokerPolicy& policy, const BrokerPlaces& places, FieldReader& fields) {
  const BrokerPolicy::Execution& execution = policy.execution;
  for (std::size_t at = 0; at < execution.allowed_paths.size(); ++at) {
    if (place_of(execution.allowed_paths[at], policy.paths.allowed_subpaths) == Place::outside)
      fields.warn(places.paths[at], "it lies outside of allowed_subpaths, so it is never allowed");
  }
  for (std::size_t at = 0; at < execution.allowed_binaries.size(); ++at) {
    if (!is_launcher(execution.allowed_binaries[at])) continue;
    fields.warn(places.binaries[at],
                "what it is told can start other listed programs, with words that nobody judges; "
                "only the sandbox holds them then");
  }
}

}  // namespace

void advise(const BrokerPolicy& policy, const BrokerPlaces& places, FieldReader& fields) {
  advise_operations(policy, places, fields);
  advise_secrets(policy.paths.allowed_subpaths, places.subpaths, fields);
  advise_secrets(policy.execution.allowed_paths, places.paths, fields);
  for (const Document::Node item : places.patterns) {
    if (item.text() == "*" || item.text() == "**")
      fields.warn(item, "it denies every name, so all paths will be refused");
  }
  advise_execution(policy, places, fields);
}

}  // namespace aegis::policy
