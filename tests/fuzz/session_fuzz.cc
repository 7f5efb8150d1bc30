// SPDX-License-Identifier: Apache-2.0 OR MIT
// A whole session fed with frames of both sides, under a policy that denies `evil`. Whatever comes:
// a frame that a JSON library takes for a call of `evil` never passes, every answer of ours is
// JSON, and the record verifies.
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "audit/verify.h"
#include "tests/audit/memory_sink.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/session_parts.h"
#include "wrap/session.h"

namespace {

using aegis::fuzz::is_call_of;
using aegis::fuzz::NoRandomness;
using aegis::fuzz::require;
using aegis::wrap::Fate;
using aegis::wrap::Moment;
using aegis::wrap::Session;
using nlohmann::json;

bool holds_evil_call(std::string_view frame) {
  const json parsed = json::parse(frame, nullptr, false);
  if (!parsed.is_array()) return is_call_of("evil", parsed);
  for (const json& element : parsed) {
    if (is_call_of("evil", element)) return true;
  }
  return false;
}

constexpr std::string_view kPolicy =
    "version: 1\nrules:\n- {id: e, action: deny, tool: evil}\n- {id: r, action: rate_limit, tool: "
    "few, rate: {max: 1, per_seconds: 9}}\n";

aegis::policy::Policy policy() {
  return *std::move(aegis::policy::parse_policy(kPolicy, aegis::policy::Purpose::wrap).policy);
}

aegis::audit::Open open_line() {
  return {.version = "0",
          .prev_session_tail = {},
          .session_id = "000102030405060708090a0b0c0d0e0f",
          .durability = "call",
          .program = "p",
          .argv_digest = {},
          .policy_set_hash = {},
          .recovered = {}};
}

void client_frame(Session& session, std::string_view frame, Moment now, bool is_recorded) {
  const Fate fate = session.client_frame(frame, now);
  const bool is_waiting = session.needs_record();
  require(is_waiting == (fate == Fate::pass_when_recorded));
  if (is_waiting) is_recorded ? session.recorded() : session.unrecorded(now);
  if (fate != Fate::drop) require(!holds_evil_call(frame));
}

}  // namespace

/// Each line is a frame. '<' before it: from the server; '!' from the client with a failing record;
/// else from the client.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  aegis::audit::MemorySink sink;
  aegis::audit::Chain chain(aegis::audit::SigningKey(aegis::audit::Seed{1}), sink);
  NoRandomness randomness;
  Moment now{1, {1'796'000'000'000'000}};
  chain.open(open_line(), now.wall);
  Session session({}, chain, randomness);
  session.use_policy(policy());
  std::uint64_t delivered = 0;
  while (!input.empty()) {
    const std::size_t end = std::min(input.find('\n'), input.size() - 1) + 1;
    std::string_view frame = input.substr(0, end);
    input.remove_prefix(end);
    now.mono_ns += 1'000'000'000;
    if (frame.front() == '<') {
      frame.remove_prefix(1);
      if (frame.empty()) continue;
      delivered += frame.size();
      session.server_frame({frame, delivered}, Session::JudgeJson::yes, now);
    } else {
      const bool is_failing = frame.front() == '!';
      if (is_failing) frame.remove_prefix(1);
      if (frame.empty()) continue;
      client_frame(session, frame, now, !is_failing);
    }
    session.delivered(delivered / 2, now);
    std::string replies = session.take_replies();
    for (std::size_t line_end = replies.find('\n'); line_end != std::string::npos;
         line_end = replies.find('\n')) {
      require(json::accept(replies.substr(0, line_end)));
      replies.erase(0, line_end + 1);
    }
    require(replies.empty());
  }
  session.seal({aegis::wrap::Ending::client_closed, aegis::wrap::Ending::client_closed}, now);
  aegis::audit::Verifier verifier(std::nullopt);
  verifier.feed(sink.text);
  require(verifier.finish().standing == aegis::audit::Standing::verified);
  return 0;
}
