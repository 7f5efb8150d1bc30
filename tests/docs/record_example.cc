// SPDX-License-Identifier: Apache-2.0 OR MIT
// Prints a worked example of docs/record-format.md, under a published test key, at a fixed time: a
// session with a call that ran and one that was refused, or, with the word "confined", one of a
// confined server that was ended for its output. The same bytes each time, so that the page can be
// held to them.

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

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

void write_confined_session(audit::Chain& chain) {
  const auto policy = audit::PolicySetHash::of(kPolicy);
  const std::vector<std::string> namespaces = {
      "cgroup", "ipc", "mount", "net", "pid", "user", "uts"};
  const std::vector<std::string> read = {"/home/me/notes", "/usr"};
  const std::vector<std::string> written = {"/home/me/notes"};
  const std::vector<audit::Grant::Host> hosts = {{"api.example.org", 443}};
  const audit::Confinement confinement{.tier = "full",
                                       .landlock_abi = 7,
                                       .is_seccomp_network_denied = false,
                                       .namespaces = namespaces,
                                       .profile = "./notes.profile",
                                       .profile_hash = audit::ProfileHash::of("exec /usr\n"),
                                       .process_bound = "pid_namespace",
                                       .memory_bound = "per_process",
                                       .is_best_effort = false,
                                       .is_network_unconfined = false,
                                       .grant = {.read_paths = read,
                                                 .write_paths = written,
                                                 .hosts = hosts,
                                                 .max_memory_bytes = 4294967296,
                                                 .max_output_bytes = 1048576}};
  chain.open({.version = "0.1.0",
              .prev_session_tail = {},
              .session_id = "ffeeddccbbaa99887766554433221100",
              .durability = "call",
              .program = "notes_server",
              .argv_digest = audit::ArgvDigest::of("notes_server"),
              .policy_set_hash = policy,
              .recovered = {},
              .confinement = &confinement},
             at(0));
  const audit::Intent add{"add_note", audit::FrameDigest::of(kAdd), kAdd.size()};
  const std::uint64_t add_seq = chain.intent(add, at(10));
  const std::vector<std::string> refusals = {"connect to 192.0.2.1:80 refused: not granted"};
  chain.outcome({.intent_seq = add_seq,
                 .tool_id = add.tool_id,
                 .request_digest = add.request_digest,
                 .policy_set_hash = policy,
                 .policy = audit::Allowed{},
                 .capability = audit::Granted{&confinement.grant},
                 .execution = audit::ResourceExceeded{"output"},
                 .axes = {},
                 .response_digest = {},
                 .response_bytes = {},
                 .wall_ms = {},
                 .refusals = refusals},
                at(900));
  chain.close({.reason = "child wrote more than --max-output", .calls = 1, .unread = 0}, at(901));
}

}  // namespace

int main(int argc, char** argv) {
  const auto seed = audit::parse_seed(kSeed);
  if (!seed) return 1;
  Printer printer;
  audit::Chain chain(audit::SigningKey(*seed), printer);
  if (argc > 1 && std::string_view(argv[1]) == "confined") {
    write_confined_session(chain);
  } else {
    write_session(chain);
  }
  return printer.is_whole() && std::fflush(stdout) == 0 ? 0 : 1;
}
