// SPDX-License-Identifier: Apache-2.0 OR MIT
// Writes a sealed record of at least so many bytes to stdout: one session of answered calls, signed
// with a key that is worth nothing. For the test that a record of any size verifies in constant
// memory; prints the public key to stderr.

#include <cstdio>
#include <cstdlib>
#include <string>

#include "audit/chain.h"

namespace {

using namespace aegis;

class StdoutSink final : public audit::Sink {
 public:
  void append(std::string_view line) override {
    if (std::fwrite(line.data(), 1, line.size(), stdout) != line.size()) {
      std::perror("record_generator: stdout");
      std::exit(1);
    }
    written_ += line.size();
  }
  [[nodiscard]] std::uint64_t written() const { return written_; }

 private:
  std::uint64_t written_ = 0;
};

audit::Outcome answered(std::uint64_t intent_seq, const audit::FrameDigest& frame) {
  return audit::Outcome{.intent_seq = intent_seq,
                        .tool_id = "echo",
                        .request_digest = frame,
                        .policy_set_hash = audit::PolicySetHash::of(audit::kPassthroughPolicy),
                        .policy = audit::Allowed{},
                        .capability = audit::GrantedEmpty{},
                        .execution = audit::Success{},
                        .axes = {},
                        .response_digest = frame,
                        .response_bytes = 60,
                        .wall_ms = 1};
}

void write_record(std::uint64_t wanted) {
  StdoutSink sink;
  audit::Seed seed{};
  seed.fill(7);
  audit::Chain chain(audit::SigningKey(seed), sink);
  static_cast<void>(std::fprintf(stderr, "%s\n", audit::to_hex(chain.public_key()).c_str()));
  audit::UnixMicros at{1796029200000000};
  chain.open(audit::Open{.version = "0",
                         .prev_session_tail = {},
                         .session_id = "00112233445566778899aabbccddeeff",
                         .durability = "off",
                         .program = "generated",
                         .argv_digest = audit::ArgvDigest::of("generated"),
                         .policy_set_hash = {},
                         .recovered = {}},
             at);
  std::uint64_t calls = 0;
  for (; sink.written() < wanted; ++calls) {
    at.value += 1000;
    const audit::FrameDigest frame = audit::FrameDigest::of(std::to_string(calls));
    const std::uint64_t seq = chain.intent(
        audit::Intent{.tool_id = "echo", .request_digest = frame, .request_bytes = 80}, at);
    chain.outcome(answered(seq, frame), at);
  }
  chain.close(audit::Close{.reason = "generated", .calls = calls, .unread = 0}, at);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    static_cast<void>(std::fputs("usage: record_generator BYTES >FILE\n", stderr));
    return 1;
  }
  write_record(std::strtoull(argv[1], nullptr, 10));
  return std::fflush(stdout) == 0 ? 0 : 1;
}
