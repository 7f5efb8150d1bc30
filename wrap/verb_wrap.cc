// SPDX-License-Identifier: Apache-2.0 OR MIT
// `aegis wrap`: its flags. What they do is interpose.h's.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wrap/confine_flags.h"
#include "wrap/confinement.h"
#include "wrap/exit_codes.h"
#include "wrap/interpose.h"
#include "wrap/session_flags.h"
#include "wrap/verbs.h"

namespace aegis::wrap {
namespace {

constexpr std::size_t kLongestRole = 1024;  // bytes; the record's limit for a name

constexpr VerbText kText{"wrap",
                         "[flags] -- <mcp-server> [args]",
                         "Stand between an MCP client and a stdio server: relay both ways byte for "
                         "byte, refuse the calls that a policy "
                         "denies, and leave a signed record of every call.",
                         "  aegis wrap -- npx -y @modelcontextprotocol/server-filesystem ~/notes\n"
                         "  aegis wrap --policy policy.yaml -- node server.js\n"
                         "  aegis wrap --broker broker.yaml -- node server.js"};

/// What the flags write to.
struct Given {
  InterposeOptions options;
  std::string refuse_as = "error";
  SessionFlags session;
  std::optional<std::string> broker;
  std::vector<std::string> revealed;
  bool is_strict = false;
  bool is_confined = false;
  ConfineFlags confine;
};

void add_flags(Flags& flags, Given& given) {
  given.session.add_to(flags, given.options);
  flags.add_text({"--policy", "FILE", "refuse what this policy denies; SIGHUP reads it again"},
                 given.options.policy);
  flags.add_text({"--role", "NAME", "the role that rules with a role axis are matched against"},
                 given.options.role);
  flags.add_choice({"--refuse-as",
                    "error|result",
                    "answer a refused call with a JSON-RPC error (default) or a tool result"},
                   {"error", "result"},
                   given.refuse_as);
  flags.add_text({"--broker",
                  "FILE",
                  "serve aegis's own bounded tools, as this broker policy allows them, beside the "
                  "server's; it is read once, SIGHUP does not read it again"},
                 given.broker);
  flags.add_texts({"--reveal",
                   "NAME",
                   "for --broker: a name that usually means a secret, such as .env, may be read"},
                  given.revealed);
  flags.add_text({"--stderr-log", "FILE", "append a copy of the server's stderr to this file"},
                 given.options.stderr_log);
  flags.add_switch(
      {"--strict-stdout", "", "lines of the server's stdout that are no JSON go to stderr"},
      given.is_strict);
  flags.add_switch({"--confine",
                    "",
                    "the server reaches what it was granted and nothing else; the flags below "
                    "belong to it"},
                   given.is_confined);
  given.confine.add_to(flags);
}

confine::Result<void> settle_broker(Given& given) {
  if (given.broker) {
    if (auto checked = check_revealed(given.revealed); !checked) return checked;
    given.options.broker = BrokerOptions{*given.broker, given.revealed};
  } else if (!given.revealed.empty()) {
    return confine::Error{"--reveal: it does nothing without --broker"};
  }
  return {};
}

/// Checks what the parser cannot, and puts it where it belongs. The error is a usage error's text.
confine::Result<void> settle(Given& given) {
  InterposeOptions& options = given.options;
  if (auto settled = given.session.settle(options); !settled) return settled;
  if (auto settled = settle_broker(given); !settled) return settled;
  if (options.role && (options.role->empty() || options.role->size() > kLongestRole))
    return confine::Error{"--role: a name of 1 to 1024 bytes is expected"};
  options.refuse_as = given.refuse_as == "result" ? mcp::RefuseAs::result : mcp::RefuseAs::error;
  options.strict_stdout = given.is_strict ? StrictStdout::yes : StrictStdout::no;
  if (given.is_confined) {
    options.confine.emplace(AEGIS_TRY(given.confine.request()));
  } else if (const auto flag = given.confine.first_given()) {
    return confine::Error{std::string(*flag) + ": it does nothing without --confine"};
  }
  return {};
}

}  // namespace

int verb_wrap(const Arguments& arguments) {
  Given given;
  Flags flags(kText, {Operands::command, kAegisFailed});
  add_flags(flags, given);
  if (const auto exit_code = flags.parse(arguments)) return *exit_code;
  if (const auto settled = settle(given); !settled)
    return flags.usage_error(confine::describe(settled.error()));
  InterposeOptions& options = given.options;
  if (options.confine && options.confine->is_profile_shown)
    return show_profile(*options.confine, *arguments.command);
  options.command = *arguments.command;
  return interpose(options);
}

}  // namespace aegis::wrap
