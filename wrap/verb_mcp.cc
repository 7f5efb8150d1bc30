// SPDX-License-Identifier: Apache-2.0 OR MIT
// `aegis mcp`: its flags. It is a wrap with a broker around a server without a tool of its own.
#include <optional>
#include <string>
#include <vector>

#include "wrap/exit_codes.h"
#include "wrap/interpose.h"
#include "wrap/session_flags.h"
#include "wrap/verbs.h"

namespace aegis::wrap {
namespace {

constexpr VerbText kText{"mcp",
                         "--policy FILE [flags]",
                         "Be an MCP server on standard input and output, with aegis's own bounded "
                         "tools (read_text, list_dir, run_python, run_command) on one folder, as a "
                         "broker policy allows them, and leave a signed record of every call.",
                         "  aegis mcp --policy broker.yaml\n"
                         "  aegis mcp --policy broker.yaml --audit records/"};

}  // namespace

int verb_mcp(const Arguments& arguments) {
  InterposeOptions options;
  options.verb = "mcp";
  SessionFlags session;
  std::optional<std::string> policy;
  std::vector<std::string> revealed;
  Flags flags(kText, {Operands::none, kAegisFailed});
  flags.add_text({"--policy",
                  "FILE",
                  "the broker's policy, YAML or JSON; it is read once, SIGHUP does not read it "
                  "again"},
                 policy);
  flags.add_texts(
      {"--reveal", "NAME", "a name that usually means a secret, such as .env, may be read"},
      revealed);
  session.add_to(flags, options);
  if (const auto exit_code = flags.parse(arguments)) return *exit_code;
  if (!policy)
    return flags.usage_error("--policy: it is needed; aegis init writes one to start with");
  if (auto settled = session.settle(options); !settled)
    return flags.usage_error(confine::describe(settled.error()));
  if (auto checked = check_revealed(revealed); !checked)
    return flags.usage_error(confine::describe(checked.error()));
  options.broker = BrokerOptions{*policy, revealed};
  return interpose(options);
}

}  // namespace aegis::wrap
