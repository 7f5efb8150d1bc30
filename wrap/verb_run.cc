// SPDX-License-Identifier: Apache-2.0 OR MIT
// aegis run: one broker request, judged, recorded and done. What cannot be recorded is not run, and
// what was run without its outcome on the record is not told.
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "wrap/broker.h"
#include "wrap/broker_outcome.h"
#include "wrap/exit_codes.h"
#include "wrap/exposure.h"
#include "wrap/log.h"
#include "wrap/one_call_record.h"
#include "wrap/one_shot.h"
#include "wrap/out.h"
#include "wrap/places.h"
#include "wrap/signals.h"
#include "wrap/verbs.h"

namespace aegis::wrap {
namespace {

using confine::Fd;
using confine::Result;

constexpr std::string_view kDoing = "run";
constexpr std::string_view kStopped = "run stopped by a signal";
constexpr Broker::Ticket kTicket = 1;
constexpr VerbText kText = {
    "run",
    "REQUEST.json|- [--policy FILE] [--audit PATH] [--signing-key PATH] [--reveal NAME]... "
    "[--json]",
    "Does one request by the broker's policy: reads, lists, or runs a program in the sandbox, and\n"
    "prints the answer as one JSON object. It goes on the record, or it is not done.\n"
    "Exit: 0 done (whatever the program's own exit code), 2 denied, or ended by a bound of time,\n"
    "output or memory, 3 the sandbox cannot be built here, 1 a usage error, a request or policy\n"
    "that cannot be used, or no record; 128+n when signal n stopped it.",
    "  aegis run requests/valid_read.json --policy broker-policy.yaml"};

struct Options {
  OneShot one_shot;
  std::optional<std::string> audit;
  std::optional<std::string> signing_key;
};

int fail(const confine::Error& error) {
  log(std::string(kDoing) + ": " + confine::describe(error));
  return OneShot::kUsage;
}

/// What no operation may reach.
Kept kept_from(const Options& options) {
  Kept kept{options.signing_key, options.audit, {}};
  kept.broker_policy = options.one_shot.policy;
  if (auto key = default_key_path(); key && !kept.key) kept.key = std::move(key).value();
  if (auto folder = default_record_folder(); folder && !kept.record)
    kept.record = std::move(folder).value();
  if (auto home = home_folder()) kept.quarantine = quarantine_folder(*home);
  return kept;
}

struct Finished {
  Broker::Done done;
  int signal = 0;  // the first that came meanwhile
};

/// Waits for a run, or for a signal. Its number, or 0.
int wait_for(Broker& broker, const Fd& signals) {
  std::vector<pollfd> polled = {{signals.get(), POLLIN, 0}};
  for (const int descriptor : broker.descriptors())
    polled.push_back({descriptor, POLLIN, 0});
  if (::poll(polled.data(), polled.size(), -1) < 0) return 0;  // EINTR
  for (const pollfd& each : polled) {
    if (each.revents != 0 && each.fd != signals.get()) broker.on_ready(each.fd);
  }
  signalfd_siginfo taken{};
  const bool has_come = ::read(signals.get(), &taken, sizeof taken) == sizeof taken;
  return has_come ? static_cast<int>(taken.ssi_signo) : 0;
}

Finished work(Broker& broker, const mcp::BrokerRequest& request, const Fd& signals) {
  Finished finished;
  broker.begin(kTicket, request);
  for (;;) {
    std::vector<Broker::Done> done = broker.take_done();
    if (!done.empty()) {
      finished.done = std::move(done.front());
      return finished;
    }
    const int signal = wait_for(broker, signals);
    if (signal == 0) continue;
    if (finished.signal == 0) finished.signal = signal;
    broker.cancel(kTicket);
  }
}

int exit_code_of(const Finished& finished) {
  if (finished.signal != 0) return kSignalBase + finished.signal;
  const auto* run = std::get_if<mcp::RunEnd>(&finished.done.answer);
  const bool wanted_memory = run != nullptr && run->memory_kills != 0;
  if (!mcp::is_error(finished.done.answer) && !wanted_memory) return OneShot::kDone;
  const auto* refused = std::get_if<mcp::Refused>(&finished.done.answer);
  const bool is_unbuilt =
      refused != nullptr && refused->code == mcp::BrokerCode::sandbox_unavailable;
  return is_unbuilt ? OneShot::kUnbuilt : OneShot::kDenied;
}

/// A request that could not be read is a call that was refused.
Finished refuse(mcp::Refused refused) {
  Finished finished;
  finished.done.ticket = kTicket;
  finished.done.answer = std::move(refused);
  return finished;
}

Result<std::unique_ptr<OneCallRecord>> open_record(const Options& options, const Broker& broker) {
  AEGIS_TRY(check_exposure(broker.reach(), kept_from(options)));
  return OneCallRecord::open({options.audit, options.signing_key, kDoing});
}

int run(const Options& options, const std::string& path) {
  const Result<std::string> text = OneShot::read_request(path);
  if (!text) return fail(text.error());
  Result<Broker> broker =
      Broker::make({*options.one_shot.policy, options.one_shot.revealed}, kDoing);
  if (!broker) return fail(broker.error());
  const Result<Fd> signals = take_signals();
  if (!signals) return fail(signals.error());
  const auto record = open_record(options, *broker);
  if (!record) return fail(record.error());

  const mcp::ParsedRequest parsed = mcp::parse_broker_request(*text);
  const OneShot::Head head = OneShot::head_of(parsed);
  const auto* fault = std::get_if<mcp::RequestFault>(&parsed);
  const std::string_view tool = fault == nullptr ? head.operation : kUnknownOperation;
  if (const auto begun = (*record)->begin(*broker, {tool, *text}); !begun)
    return fail(begun.error());

  Finished finished = fault == nullptr
                          ? work(*broker, std::get<mcp::BrokerRequest>(parsed), *signals)
                          : refuse(OneShot::refuse_unread(*fault, path, kDoing));
  const int exit_code = fault == nullptr ? exit_code_of(finished) : OneShot::kUsage;
  const std::string answer = options.one_shot.encode(head, finished.done.answer);
  const BrokerOutcome outcome(std::move(finished.done), kStopped);
  const auto ended = (*record)->end(outcome, finished.signal == 0 ? "done" : kStopped);
  if (!ended) {
    log("run: it was done, but what became of it is not on the record, so it is not told");
    return fail(ended.error());
  }
  return write_out(answer) ? exit_code : OneShot::kUsage;
}

}  // namespace

int verb_run(const Arguments& arguments) {
  Options options;
  Flags flags(kText, {Operands::words, OneShot::kUsage});
  options.one_shot.add_flags(flags);
  flags.add_text({"--audit",
                  "PATH",
                  "the record: a file, or a folder for one file a run (default: "
                  "~/.local/state/aegis/records)"},
                 options.audit);
  flags.add_text({"--signing-key",
                  "PATH",
                  "the key file (default: ~/.config/aegis/signing.key, made when missing)"},
                 options.signing_key);
  if (const auto exit_code = flags.parse(arguments)) return *exit_code;
  if (const auto exit_code = options.one_shot.settle(flags)) return *exit_code;
  return run(options, flags.operands().front());
}

}  // namespace aegis::wrap
