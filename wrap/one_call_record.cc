// SPDX-License-Identifier: Apache-2.0 OR MIT
// See one_call_record.h.
#include "wrap/one_call_record.h"

#include <sys/prctl.h>

#include <ctime>
#include <utility>
#include <vector>

#include "wrap/clock.h"
#include "wrap/key_file.h"
#include "wrap/log.h"
#include "wrap/randomness.h"

namespace aegis::wrap {
namespace {

using confine::Result;

// In place of a server's command, of which there is none.
constexpr std::string_view kProgram = "aegis-run";

}  // namespace

Result<std::unique_ptr<OneCallRecord>> OneCallRecord::open(const Options& options) {
  // From here on the key is in this process: no other of the same user may look into it (ptrace(2),
  // proc(5)).
  ::prctl(PR_SET_DUMPABLE, 0);
  OpenedKey key = AEGIS_TRY(open_key(options.signing_key));
  if (key.is_new) {
    log(std::string(options.doing) + ": made a signing key: " + key.path + ": public_key " +
        audit::to_hex(key.key.public_key()) + " (`aegis key` prints it later)");
  }
  const RecordPlace place{
      .path = options.audit, .program = std::string(kProgram), .unix_seconds = ::time(nullptr)};
  auto file = AEGIS_TRY(AuditFile::open(place));
  return std::make_unique<OneCallRecord>(std::move(key.key), std::move(file));
}

OneCallRecord::OneCallRecord(audit::SigningKey key, std::unique_ptr<AuditFile> file)
    : file_(std::move(file)), chain_(std::move(key), *file_) {}

Result<void> OneCallRecord::commit() {
  // No room is final here: nobody waits until there is some.
  if (file_->commit(AuditFile::Force::synced) == AuditFile::Committed::ok) return {};
  return file_->error();
}

Result<void> OneCallRecord::begin(const Broker& broker, const Call& call) {
  const std::string session_id = SystemRandomness().hex128();
  const audit::BrokerOn on{broker.policy_hash(), broker.revealed()};
  audit::Open open{.version = AEGIS_VERSION,
                   .prev_session_tail = file_->previous_tail(),
                   .session_id = session_id,
                   .durability = "call",
                   .program = kProgram,
                   .argv_digest = audit::ArgvDigest::of(kProgram),
                   .policy_set_hash = {},
                   .recovered = file_->recovered()};
  open.broker = &on;
  chain_.open(open, wall_clock());
  policy_hash_ = broker.policy_hash();
  tool_id_ = call.tool_id;
  digest_ = audit::FrameDigest::of(call.request);
  intent_seq_ = chain_.intent({tool_id_, digest_, call.request.size()}, wall_clock());
  return commit();
}

Result<void> OneCallRecord::end(const BrokerOutcome& outcome, std::string_view close_reason) {
  audit::Outcome line{.intent_seq = intent_seq_,
                      .tool_id = tool_id_,
                      .request_digest = digest_,
                      .policy_set_hash = policy_hash_,
                      .policy = audit::Allowed{},
                      .capability = audit::GrantedEmpty{},
                      .execution = audit::Success{},
                      .axes = {},
                      .response_digest = {},
                      .response_bytes = {},
                      .wall_ms = {}};
  outcome.put_into(line);
  chain_.outcome(line, wall_clock());
  chain_.close({close_reason, 1, 0}, wall_clock());
  return commit();
}

}  // namespace aegis::wrap
