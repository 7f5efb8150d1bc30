// SPDX-License-Identifier: Apache-2.0 OR MIT
// Prints the worked example of docs/record-format.md: one session with a call that ran and one that
// was refused, under a published test key, at a fixed time. The same bytes each time, so that the
// page can be held to them.

#include <cstdio>
#include <string>
#include <string_view>

#include "audit/chain.h"
#include "audit/sink.h"

namespace {

using namespace aegis;

/// RFC 8032, section 7.1, TEST 1. Everybody knows it: it signs examples, nothing else.
constexpr std::string_view kSeed =
    "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60\n";
constexpr std::string_view kAdd =
    R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add_note","arguments":{"text":"water the plants"}}})";
constexpr std::string_view kAdded =
    R"({"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"Noted. There are 1 notes."}]}})";
constexpr std::string_view kDelete =
    R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"delete_notes","arguments":{}}})";
constexpr std::string_view kPolicy =
    R"({"default":"allow","rules":[{"action":"deny","id":"keep-the-notes","tool":"delete_notes"}],"version":"1"})";

class Printer final : public audit::Sink {
 public:
  void append(std::string_view line) override {
    is_whole_ = std::fwrite(line.data(), 1, line.size(), stdout) == line.size() && is_whole_;
  }
  [[nodiscard]] bool is_whole() const { return is_whole_; }

 private:
  bool is_whole_ = true;
};

/// 2026-11-30T09:00:00.000000Z and so many milliseconds.
audit::UnixMicros at(std::int64_t millis) {
  return {1'796'029'200'000'000 + millis * 1000};
}

void write_session(audit::Chain& chain) {
  const auto policy = audit::PolicySetHash::of(kPolicy);
  chain.open({.version = "0.1.0",
              .prev_session_tail = {},
              .session_id = "00112233445566778899aabbccddeeff",
              .durability = "call",
              .program = "notes_server",
              .argv_digest = audit::ArgvDigest::of("notes_server"),
              .policy_set_hash = policy,
              .recovered = {}},
             at(0));
  const audit::Intent add{"add_note", audit::FrameDigest::of(kAdd), kAdd.size()};
  const std::uint64_t add_seq = chain.intent(add, at(10));
  chain.outcome({.intent_seq = add_seq,
                 .tool_id = add.tool_id,
                 .request_digest = add.request_digest,
                 .policy_set_hash = policy,
                 .policy = audit::Allowed{},
                 .capability = audit::GrantedEmpty{},
                 .execution = audit::Success{},
                 .axes = {},
                 .response_digest = audit::FrameDigest::of(kAdded),
                 .response_bytes = kAdded.size(),
                 .wall_ms = 3},
                at(13));
  const audit::Intent remove{"delete_notes", audit::FrameDigest::of(kDelete), kDelete.size()};
  const std::uint64_t remove_seq = chain.intent(remove, at(20));
  chain.outcome({.intent_seq = remove_seq,
                 .tool_id = remove.tool_id,
                 .request_digest = remove.request_digest,
                 .policy_set_hash = policy,
                 .policy = audit::Denied{"rule keep-the-notes"},
                 .capability = audit::CapabilityDenied{"policy blocked before capability"},
                 .execution = audit::HostDenied{"not executed"},
                 .axes = {.role = {}, .matched_rule = "keep-the-notes", .approval_ref = {}},
                 .response_digest = {},
                 .response_bytes = {},
                 .wall_ms = {}},
                at(20));
  chain.close({.reason = "client closed stdin", .calls = 2, .unread = 0}, at(30));
}

}  // namespace

int main() {
  const auto seed = audit::parse_seed(kSeed);
  if (!seed) return 1;
  Printer printer;
  audit::Chain chain(audit::SigningKey(*seed), printer);
  write_session(chain);
  return printer.is_whole() && std::fflush(stdout) == 0 ? 0 : 1;
}
