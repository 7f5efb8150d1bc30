// SPDX-License-Identifier: Apache-2.0 OR MIT
// Real sessions of a record, signed with a key that everybody knows, and what a verifier says.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "audit/chain.h"
#include "audit/verify.h"

namespace aegis::test {

inline audit::SigningKey known_key() {
  REQUIRE(audit::init_crypto());
  audit::Seed seed{};
  seed.fill(7);
  return audit::SigningKey(seed);
}

/// `open`, one answered call, `close`: six signed and unsigned Lines or fewer into `sink`.
inline void append_session(audit::Sink& sink,
                           std::optional<audit::LineHash> previous_tail,
                           std::optional<audit::Recovered> recovered = std::nullopt) {
  constexpr audit::UnixMicros kAt{1'796'029'200'000'000};
  audit::Chain chain(known_key(), sink);
  audit::Open open{};
  open.version = "0";
  open.prev_session_tail = previous_tail;
  open.session_id = "000102030405060708090a0b0c0d0e0f";
  open.durability = "call";
  open.program = "server";
  open.recovered = recovered;
  chain.open(open, kAt);
  const audit::FrameDigest request = audit::FrameDigest::of("request");
  const std::uint64_t seq = chain.intent({"echo", request, 7}, kAt);
  audit::Outcome outcome{};
  outcome.intent_seq = seq;
  outcome.tool_id = "echo";
  outcome.request_digest = request;
  outcome.policy_set_hash = audit::PolicySetHash::of(audit::kPassthroughPolicy);
  outcome.policy = audit::Allowed{};
  outcome.capability = audit::GrantedEmpty{};
  outcome.execution = audit::Success{};
  chain.outcome(outcome, kAt);
  chain.close({"the test is over", 1, 0}, kAt);
}

class StringSink final : public audit::Sink {
 public:
  void append(std::string_view line) override { text += line; }
  std::string text;
};

inline audit::LineHash last_line_hash(std::string_view record) {
  while (!record.empty() && record.back() == '\n')
    record.remove_suffix(1);
  return audit::LineHash::of(record.substr(record.rfind('\n') + 1));
}

/// A record of so many sealed sessions.
inline std::string sealed_record(int sessions = 1) {
  StringSink sink;
  for (int i = 0; i < sessions; ++i) {
    std::optional<audit::LineHash> tail;
    if (i > 0) tail = last_line_hash(sink.text);
    append_session(sink, tail);
  }
  return sink.text;
}

inline audit::Report verify(std::string_view record) {
  REQUIRE(audit::init_crypto());
  audit::Verifier verifier(std::nullopt);
  verifier.feed(record);
  return verifier.finish();
}

}  // namespace aegis::test
