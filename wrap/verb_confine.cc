// SPDX-License-Identifier: Apache-2.0 OR MIT
// `aegis confine`: any command, confined, its three streams carried as bytes.
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "wrap/confine_flags.h"
#include "wrap/confinement.h"
#include "wrap/exit_codes.h"
#include "wrap/log.h"
#include "wrap/places.h"
#include "wrap/pump.h"
#include "wrap/server.h"
#include "wrap/signals.h"
#include "wrap/verbs.h"

namespace aegis::wrap {
namespace {

constexpr VerbText kText{
    "confine",
    "[flags] -- <command> [args]",
    "Run a command that reaches what it was granted and nothing else: no other file, no network, "
    "no other process. What its profile grants it so that it runs at all, --show-profile prints.",
    "  aegis confine --workspace . -- python3 build.py\n"
    "  aegis confine --show-profile -- node server.js"};

int fail(const std::string& why, int exit_code) {
  log("confine: " + why);
  return exit_code;
}

int fail(const confine::Error& error) {
  return fail(confine::describe(error), kAegisFailed);
}

/// It has been started: carry its streams, and tell what there is to be told at its end.
int carry(Confinement& confinement, Server& server, PumpOptions options) {
  for (const std::string& caveat : confinement.caveats())
    log("confine: tier landlock: " + caveat);
  const Confinement::Note note = [](const std::string& sentence) { log("confine: " + sentence); };
  options.watches = confinement.watches(server.net_reports().get(), note);
  options.on_errors = [&confinement](std::string_view text) { confinement.note_errors(text); };
  const Pumped pumped = run_pump(server, std::move(options));
  confinement.finish(note);
  if (pumped.wait_status) confinement.explain_end(*pumped.wait_status);
  return pumped.exit_code;
}

int run(ConfineRequest request, const std::vector<std::string>& argv) {
  if (const auto program = find_program(argv.front()); !program)
    return fail(confine::describe(program.error()), exit_code_of_failure(program.error()));
  const auto max_output = request.bounds.output;
  Kept kept;
  if (auto key = default_key_path()) kept.key = std::move(key).value();
  auto confinement = Confinement::prepare(std::move(request), argv, kept);
  if (!confinement) return fail(confinement.error());
  auto signals = take_signals();
  if (!signals) return fail(signals.error());
  if (const auto watching = confinement->start_watching(); !watching) return fail(watching.error());
  // A keeper outlives a kill -9 of this process, and takes away what lies on the host's side.
  confine::Prepared& prepared = confinement->prepared();
  const bool is_kept = prepared.spec().tier != confine::Tier::full || prepared.has_cgroups();
  auto server = is_kept ? Server::prepare(argv, &prepared) : Server::prepare_unkept(prepared);
  if (!server) return fail(server.error());
  if (!server->start()) {
    const auto unstarted = confinement->explain_unstarted(server->failed_set_up());
    return fail(unstarted.why, unstarted.exit_code);
  }
  return carry(*confinement, *server, {std::move(signals).value(), max_output, {}, {}});
}

}  // namespace

int verb_confine(const Arguments& arguments) {
  ConfineFlags confine_flags;
  Flags flags(kText, {Operands::maybe_command, kAegisFailed});
  confine_flags.add_to(flags);
  if (const auto exit_code = flags.parse(arguments)) return *exit_code;
  auto request = confine_flags.request();
  if (!request) return flags.usage_error(confine::describe(request.error()));
  if (request->is_profile_shown)
    return show_profile(*request, arguments.command.value_or(std::vector<std::string>()));
  if (!arguments.command || arguments.command->empty())
    return flags.usage_error("no command is given: aegis confine -- COMMAND");
  return run(std::move(request).value(), *arguments.command);
}

}  // namespace aegis::wrap
