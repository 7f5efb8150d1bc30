// SPDX-License-Identifier: Apache-2.0 OR MIT
// The writer of one session of a record: numbers, links, signs and appends its Lines. It keeps no
// Line and no call: the pairing of intents and outcomes is its caller's promise (asserted where it
// is cheap).
#pragma once

#include <cstdint>
#include <string>

#include "audit/key.h"
#include "audit/line.h"
#include "audit/sink.h"

namespace aegis::audit {

class Chain {
 public:
  /// `sink` must outlive the chain.
  Chain(SigningKey key, Sink& sink);

  /// The first Line, once.
  void open(const Open& line, UnixMicros at);
  /// Returns the intent's seq. Its call_id is call_id(seq).
  std::uint64_t intent(const Intent& line, UnixMicros at);
  void outcome(const Outcome& line, UnixMicros at);
  /// Nothing may follow.
  void close(const Close& line, UnixMicros at);

  /// "<first 16 digits of session_id>-<seq>".
  [[nodiscard]] std::string call_id(std::uint64_t intent_seq) const;
  [[nodiscard]] const PublicKey& public_key() const { return key_.public_key(); }

 private:
  void set_names(std::uint64_t intent_seq);
  void sign(std::size_t signature_at);
  void append();

  SigningKey key_;
  Sink& sink_;
  std::string key_id_;
  std::string session_id_;
  std::uint64_t next_seq_ = 0;
  bool is_closed_ = false;
  LineHash previous_{};
  std::string line_;      // the Line being written
  std::string call_id_;   // of the Line being written
  std::string grant_id_;  // of the Line being written
};

}  // namespace aegis::audit
