// SPDX-License-Identifier: Apache-2.0 OR MIT
// The order of construction matters: the keeper is forked before a key is in memory or a record
// open, and the server's program is run when all that may fail before it has not failed.
#include "wrap/interpose.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <string_view>
#include <utility>

#include "audit/chain.h"
#include "wrap/audit_file.h"
#include "wrap/clock.h"
#include "wrap/confinement.h"
#include "wrap/exit_codes.h"
#include "wrap/interpose_broker.h"
#include "wrap/interpose_words.h"
#include "wrap/key_file.h"
#include "wrap/log.h"
#include "wrap/places.h"
#include "wrap/policy_file.h"
#include "wrap/randomness.h"
#include "wrap/serve_builtin.h"
#include "wrap/server.h"
#include "wrap/session.h"
#include "wrap/signals.h"

namespace aegis::wrap {
namespace {

using confine::errno_error;
using confine::Error;
using confine::Fd;
using confine::Result;

void say(const InterposeOptions& options, std::string_view what) {
  log(std::string(options.verb).append(": ").append(what));
}

int fail(const InterposeOptions& options, const Error& error) {
  say(options, confine::describe(error));
  return kAegisFailed;
}

/// Reads a policy and says what is wrong with it; nothing when it cannot be used.
std::optional<policy::Policy> read_policy(const std::string& path) {
  auto loaded = load_policy_file(path, policy::Purpose::wrap);
  if (!loaded) {
    log("wrap: " + confine::describe(loaded.error()));
    return std::nullopt;
  }
  for (const policy::Diagnostic& each : loaded->diagnostics)
    log("policy: " + policy::describe(each, path));
  return std::move(loaded->policy);
}

/// What the record calls the server that is a part of aegis.
constexpr std::string_view kBuiltinName = "aegis-mcp";

std::string name_of(const InterposeOptions& options) {
  return options.command.empty() ? std::string(kBuiltinName)
                                 : base_name_of(options.command.front());
}

audit::ArgvDigest digest_of(const std::vector<std::string>& argv) {
  std::string joined;
  for (const std::string& word : argv) {
    if (&word != &argv.front()) joined += '\0';
    joined += word;
  }
  return audit::ArgvDigest::of(joined);
}

/// The program's file is there, and yet exec failed: what a shell would answer, and why.
int report_unstarted(const Error& error, const std::string& program) {
  const bool is_missing = error.code == ENOENT;
  log("wrap: run " + program + ": " +
      (is_missing ? "the interpreter that its first line names is not there"
                  : std::strerror(error.code)));
  return is_missing ? kNotFound : kCannotExecute;
}

/// What neither a confined server nor the broker's operations may reach.
Kept kept_from(const InterposeOptions& options) {
  Kept kept{options.signing_key, options.audit, options.policy};
  kept.stderr_log = options.stderr_log;
  if (options.broker) kept.broker_policy = options.broker->policy;
  if (auto key = default_key_path(); key && !kept.key) kept.key = std::move(key).value();
  if (auto folder = default_record_folder(); folder && !kept.record)
    kept.record = std::move(folder).value();
  return kept;
}

/// Nothing when none was asked for. `broker` is what will work beside it.
Result<std::optional<Confinement>> prepare_confinement(const InterposeOptions& options,
                                                       const std::optional<Broker>& broker) {
  if (!options.confine) return std::optional<Confinement>();
  Kept kept = kept_from(options);
  if (broker) kept.broker_programs = broker->programs();
  auto prepared = Confinement::prepare(*options.confine, options.command, kept);
  if (!prepared) return std::move(prepared).error();
  if (auto watching = prepared->start_watching(); !watching) return std::move(watching).error();
  return std::optional<Confinement>(std::move(prepared).value());
}

/// A closed one when none was asked for. A confined program, this or an earlier one, may have put a
/// link there to have aegis write elsewhere; whoever starts nothing confined may want his link.
/// O_NONBLOCK: a FIFO that nobody reads must stop neither the start (open(2) says ENXIO) nor later
/// the relay (EAGAIN ends the copy); to a regular file it means nothing.
Result<Fd> open_stderr_log(const InterposeOptions& options) {
  if (!options.stderr_log) return Fd();
  constexpr std::string_view kDoing = "open --stderr-log";
  constexpr mode_t kPrivate = 0600;
  const int no_links = options.confine ? O_NOFOLLOW : 0;
  Fd file(::open(options.stderr_log->c_str(),
                 O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | no_links,
                 kPrivate));
  if (file.is_open()) return file;
  if (errno == ENXIO) {
    return confine::refusal(
        kDoing, *options.stderr_log, "a FIFO that nobody reads, or no device; name a file");
  }
  if (errno != ELOOP || !options.confine) return errno_error(kDoing, *options.stderr_log);
  return confine::refusal(kDoing,
                          *options.stderr_log,
                          "it is a symbolic link, which is not followed for a confined server; "
                          "name the file that it points to");
}

/// The server's stderr must not end up in a file that says what aegis does or did. Links, hard and
/// symbolic, are other names of one file.
Result<void> check_stderr_log(const Fd& log, const Kept& files) {
  struct stat written {};
  if (!log.is_open()) return {};
  if (::fstat(log.get(), &written) != 0) return errno_error("look at", "--stderr-log");
  struct Row {
    const std::optional<std::string>& path;
    std::string_view what;
  };
  const Row rows[] = {{files.record, "the record"},
                      {files.key, "the signing key"},
                      {files.policy, "the policy"},
                      {files.broker_policy, "the broker's policy"}};
  for (const auto& [path, what] : rows) {
    struct stat file {};
    if (!path || ::stat(path->c_str(), &file) != 0) continue;
    if (file.st_dev != written.st_dev || file.st_ino != written.st_ino) continue;
    return confine::refusal(
        "open --stderr-log",
        *files.stderr_log,
        "it is the same file as " + std::string(what) + ", " + *path + "; name another file");
  }
  return {};
}

/// All that lives as long as the session.
struct Wrapped {
  const InterposeOptions& options;
  std::string program;
  std::optional<policy::Policy> policy;
  LoopOptions loop;
  std::optional<Confinement> confinement;
  std::optional<Broker> broker;
  Server server;
};

/// The policy from now on, and again when SIGHUP says so.
void follow_policy(Wrapped& wrapped, Session& session) {
  session.use_policy(*std::move(wrapped.policy));
  wrapped.loop.reload_policy = [&session, path = *wrapped.options.policy] {
    auto policy = read_policy(path);
    if (!policy) {
      log("policy: " + path + ": not used; the policy read before stays in force");
      return;
    }
    session.use_policy(*std::move(policy));
    log("policy: " + path + ": read again and in force");
  };
}

/// What could not be started has a record too: an `open` and a `close`.
int end_unstarted(const Wrapped& wrapped, const Error& error, Session& session, AuditFile& record) {
  session.seal({Ending::not_started, Ending::not_started}, {0, wall_clock()});
  if (record.commit(AuditFile::Force::synced) != AuditFile::Committed::ok)
    say(wrapped.options, "recording: " + confine::describe(record.error()));
  if (!wrapped.confinement) return report_unstarted(error, wrapped.program);
  const auto unstarted = wrapped.confinement->explain_unstarted(wrapped.server.failed_set_up());
  const bool is_program_bad = unstarted.exit_code != kAegisFailed;
  log(is_program_bad
          ? "wrap: " + unstarted.why
          : "wrap: confining the server: " + unstarted.why + "; the server was not started");
  return unstarted.exit_code;
}

/// What is watched goes to stderr, and onto the record of the calls in flight.
int relay_confined(Confinement& confinement, Wrapped& wrapped, LoopParts parts) {
  for (const std::string& caveat : confinement.caveats())
    log("wrap: tier landlock: " + caveat);
  const Confinement::Note note = [&session = parts.session](const std::string& sentence) {
    log("confine: " + sentence);
    session.note_refusal(sentence);
  };
  wrapped.loop.watches = confinement.watches(wrapped.server.net_reports().get(), note);
  wrapped.loop.on_errors = [&confinement](std::string_view text) { confinement.note_errors(text); };
  Loop loop(parts, std::move(wrapped.loop));
  const int exit_code = loop.run();
  confinement.finish(note);
  if (const auto status = loop.wait_status()) confinement.explain_end(*status);
  return exit_code;
}

int run_session(Wrapped wrapped, OpenedKey key, AuditFile& record) {
  const InterposeOptions& options = wrapped.options;
  SystemRandomness randomness;
  audit::Chain chain(std::move(key.key), record);
  const std::string session_id = randomness.hex128();
  const auto started = wrapped.server.start();
  const std::string name = name_of(options);
  const std::string what_is_on =
      describe({options, record.path(), wrapped.policy, wrapped.confinement, wrapped.broker});
  audit::Open open{.version = AEGIS_VERSION,
                   .prev_session_tail = record.previous_tail(),
                   .session_id = session_id,
                   .durability = to_string(options.durability),
                   .program = name,
                   .argv_digest = digest_of(options.command),
                   .policy_set_hash = {},
                   .recovered = record.recovered()};
  if (started && wrapped.confinement && !wrapped.confinement->is_explained())
    open.confinement = &wrapped.confinement->record(started.value());
  if (wrapped.policy)
    open.policy_set_hash = audit::PolicySetHash::of(wrapped.policy->canonical_form());
  std::optional<audit::BrokerOn> broker;
  if (wrapped.broker) {
    broker = {wrapped.broker->policy_hash(), wrapped.broker->revealed()};
    open.broker = &*broker;
  }
  chain.open(open, wall_clock());

  const audit::Grant* grant = open.confinement != nullptr ? &open.confinement->grant : nullptr;
  Session session({options.refuse_as, options.role, grant}, chain, randomness);
  if (!started) return end_unstarted(wrapped, started.error(), session, record);
  if (wrapped.policy) follow_policy(wrapped, session);
  if (wrapped.broker) {
    session.use_broker(offer_of(*wrapped.broker, options));
    wrapped.loop.broker = &*wrapped.broker;
  }
  say(options, what_is_on);
  const LoopParts parts{session, record, wrapped.server};
  if (wrapped.confinement) return relay_confined(*wrapped.confinement, wrapped, parts);
  Loop loop(parts, std::move(wrapped.loop));
  const int exit_code = loop.run();
  // Another server's exit code is the answer; of our own it would say that all went well.
  const bool is_ours = options.command.empty();
  return is_ours && exit_code == 0 && loop.has_client_failed() ? kAegisFailed : exit_code;
}

Result<Server> prepare_server(const InterposeOptions& options,
                              std::optional<Confinement>& confinement) {
  if (options.command.empty()) return Server::prepare(Builtin{serve_builtin, options.max_frame});
  return Server::prepare(options.command, confinement ? &confinement->prepared() : nullptr);
}

/// The keeper is there; nothing runs yet.
int start_session(Wrapped wrapped) {
  const InterposeOptions& options = wrapped.options;
  // From here on the key is in this process: no other of the same user may look into it (ptrace(2),
  // proc(5)).
  ::prctl(PR_SET_DUMPABLE, 0);
  auto key = open_key(options.signing_key);
  if (!key) return fail(options, key.error());
  if (key->is_new) {
    say(options,
        "made a signing key: " + key->path + ": public_key " +
            audit::to_hex(key->key.public_key()) + " (`aegis key` prints it later)");
  }
  auto record = AuditFile::open(
      {.path = options.audit, .program = name_of(options), .unix_seconds = ::time(nullptr)});
  if (!record) return fail(options, record.error());
  Kept files = kept_from(options);
  files.key = key->path;
  files.record = (*record)->path();
  if (auto checked = check_stderr_log(wrapped.loop.stderr_log, files); !checked)
    return fail(options, checked.error());
  return run_session(std::move(wrapped), std::move(key).value(), **record);
}

}  // namespace

int interpose(const InterposeOptions& options) {
  std::string program;
  if (!options.command.empty()) {
    auto found = find_program(options.command.front());
    if (!found) {
      fail(options, found.error());
      return exit_code_of_failure(found.error());
    }
    program = std::move(found).value();
  }
  std::optional<policy::Policy> policy;
  if (options.policy) {
    policy = read_policy(*options.policy);
    if (!policy) return kAegisFailed;
  }
  LoopOptions loop{options.verb,
                   options.durability,
                   options.strict_stdout,
                   options.grace,
                   options.max_frame,
                   {},
                   {}};
  auto signals = take_signals();
  if (!signals) return fail(options, signals.error());
  loop.signals = std::move(signals).value();

  auto broker = make_broker(options, kept_from(options));
  if (!broker) return fail(options, broker.error());
  auto confinement = prepare_confinement(options, *broker);
  if (!confinement) return fail(options, confinement.error());
  if (options.confine) loop.max_output = options.confine->bounds.output;
  // Not before the grants are known to lead nobody to it.
  auto stderr_log = open_stderr_log(options);
  if (!stderr_log) return fail(options, stderr_log.error());
  loop.stderr_log = std::move(stderr_log).value();
  auto server = prepare_server(options, *confinement);
  if (!server) return fail(options, server.error());
  return start_session({options,
                        std::move(program),
                        std::move(policy),
                        std::move(loop),
                        std::move(confinement).value(),
                        std::move(broker).value(),
                        std::move(server).value()});
}

}  // namespace aegis::wrap
