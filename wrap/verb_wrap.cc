// SPDX-License-Identifier: Apache-2.0 OR MIT
// `aegis wrap`: its flags. What they do is interpose.h's.
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "wrap/confine_flags.h"
#include "wrap/confinement.h"
#include "wrap/exit_codes.h"
#include "wrap/interpose.h"
#include "wrap/size.h"
#include "wrap/verbs.h"

namespace aegis::wrap {
namespace {

constexpr std::uint64_t kLongestGraceSeconds = 86'400;  // a day
constexpr std::size_t kLongestRole = 1024;              // bytes; the record's limit for a name

constexpr VerbText kText{"wrap",
                         "[flags] -- <mcp-server> [args]",
                         "Stand between an MCP client and a stdio server: relay both ways byte for "
                         "byte, refuse the calls that a policy "
                         "denies, and leave a signed record of every call.",
                         "  aegis wrap -- npx -y @modelcontextprotocol/server-filesystem ~/notes\n"
                         "  aegis wrap --policy policy.yaml -- node server.js"};

/// What the flags write to.
struct Given {
  InterposeOptions options;
  std::string refuse_as = "error";
  std::string durability = "call";
  std::optional<std::string> max_frame;
  std::uint64_t grace_seconds = 5;
  bool is_strict = false;
  bool is_confined = false;
  ConfineFlags confine;
};

void add_flags(Flags& flags, Given& given) {
  flags.add_text({"--audit",
                  "PATH",
                  "the record: a file, or a folder for one file a session (default: "
                  "~/.local/state/aegis/records)"},
                 given.options.audit);
  flags.add_text({"--signing-key",
                  "PATH",
                  "the key file (default: ~/.config/aegis/signing.key, made when missing)"},
                 given.options.signing_key);
  flags.add_text({"--policy", "FILE", "refuse what this policy denies; SIGHUP reads it again"},
                 given.options.policy);
  flags.add_text({"--role", "NAME", "the role that rules with a role axis are matched against"},
                 given.options.role);
  flags.add_choice({"--refuse-as",
                    "error|result",
                    "answer a refused call with a JSON-RPC error (default) or a tool result"},
                   {"error", "result"},
                   given.refuse_as);
  flags.add_choice({"--durability",
                    "call|session|off",
                    "an intent is on the disk before its call goes on (call, default), within 50 "
                    "ms (session), or when the "
                    "kernel sees fit (off)"},
                   {"call", "session", "off"},
                   given.durability);
  flags.add_text({"--max-frame",
                  "BYTES",
                  "the longest frame that is relayed, with KiB, MiB or GiB (default: 64MiB)"},
                 given.max_frame);
  flags.add_number({"--grace",
                    "SECONDS",
                    "how long a server may be silent after its client has closed (default: 5)"},
                   {0, kLongestGraceSeconds},
                   given.grace_seconds);
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

Durability durability_of(std::string_view word) {
  if (word == "session") return Durability::session;
  return word == "off" ? Durability::off : Durability::call;
}

/// Checks what the parser cannot, and puts it where it belongs. The error is a usage error's text.
confine::Result<void> settle(Given& given) {
  InterposeOptions& options = given.options;
  if (given.max_frame) {
    const auto size = parse_size(*given.max_frame, {1, kLargestMaxFrame});
    if (!size) {
      return confine::Error{
          "--max-frame: '" + *given.max_frame +
          "': a number of bytes from 1 to 4GiB is expected, such as 1048576 or 64MiB"};
    }
    options.max_frame = *size;
  }
  if (options.role && (options.role->empty() || options.role->size() > kLongestRole))
    return confine::Error{"--role: a name of 1 to 1024 bytes is expected"};
  options.refuse_as = given.refuse_as == "result" ? mcp::RefuseAs::result : mcp::RefuseAs::error;
  options.durability = durability_of(given.durability);
  options.grace = std::chrono::seconds(given.grace_seconds);
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
