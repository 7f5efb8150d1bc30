// SPDX-License-Identifier: Apache-2.0 OR MIT
// The record of `aegis run`: a session of one call, by the same chain and file as wrap's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "audit/chain.h"
#include "confine/result.h"
#include "wrap/audit_file.h"
#include "wrap/broker.h"
#include "wrap/broker_outcome.h"

namespace aegis::wrap {

class OneCallRecord {
 public:
  struct Options {
    std::optional<std::string> audit = {};        // as --audit says
    std::optional<std::string> signing_key = {};  // as --signing-key says
    std::string_view doing;                       // for messages
  };
  /// Reads the key, or makes the default one, and opens the file. From here on this process cannot
  /// be looked into by others of its user (PR_SET_DUMPABLE).
  static confine::Result<std::unique_ptr<OneCallRecord>> open(const Options& options);
  OneCallRecord(audit::SigningKey key, std::unique_ptr<AuditFile> file);

  /// The request's bytes are digested and not kept.
  struct Call {
    std::string_view tool_id;
    std::string_view request;
  };
  /// On the disk when this returns without an error. Without that nothing may be run.
  confine::Result<void> begin(const Broker& broker, const Call& call);
  /// Once, after begin(): the outcome and the `close`, on the disk too.
  confine::Result<void> end(const BrokerOutcome& outcome, std::string_view close_reason);

  [[nodiscard]] const std::string& path() const { return file_->path(); }

 private:
  confine::Result<void> commit();

  std::unique_ptr<AuditFile> file_;
  audit::Chain chain_;
  audit::PolicySetHash policy_hash_{};
  std::string tool_id_;
  audit::FrameDigest digest_{};
  std::uint64_t intent_seq_ = 0;
};

}  // namespace aegis::wrap
