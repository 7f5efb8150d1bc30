// SPDX-License-Identifier: Apache-2.0 OR MIT
// A session in a test: its record in memory, its clock at the test's command.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "audit/verify.h"
#include "tests/audit/memory_sink.h"
#include "wrap/session.h"

namespace aegis::wrap {

inline constexpr std::uint64_t kSecond = 1'000'000'000;

class CountingRandomness final : public Randomness {
 public:
  std::string hex128() override {
    std::string digits(32, '0');
    digits.back() = static_cast<char>('0' + count_++);
    return digits;
  }

 private:
  int count_ = 0;
};

/// A session, its record in memory, and a clock that stands still unless moved.
struct Bench {
  explicit Bench(Session::Options options = {})
      : session((open(), std::move(options)), chain, randomness) {}

  void open() {
    chain.open({.version = "0",
                .prev_session_tail = {},
                .session_id = "000102030405060708090a0b0c0d0e0f",
                .durability = "call",
                .program = "server",
                .argv_digest = {},
                .policy_set_hash = {},
                .recovered = {}},
               now.wall);
  }

  void use(std::string_view yaml) {
    auto loaded = aegis::policy::parse_policy(yaml, aegis::policy::Purpose::wrap);
    for (const auto& each : loaded.diagnostics)
      INFO(describe(each, "policy"));
    REQUIRE(loaded.policy);
    session.use_policy(std::move(*loaded.policy));
  }

  /// Whether the frame goes on to the server, its record being written.
  bool client(const std::string& frame) {
    const Fate fate = session.client_frame(frame + "\n", now);
    if (session.needs_record()) session.recorded();
    return fate != Fate::drop;
  }
  void server(std::string frame) {
    frame += '\n';
    session.server_frame({frame, 0}, Session::JudgeJson::no, now);
    session.delivered(0, now);
  }
  nlohmann::json reply() {
    const std::string text = session.take_replies();
    return text.empty() ? nlohmann::json() : nlohmann::json::parse(text);
  }
  /// The record's Lines of a type, after the seal.
  std::vector<nlohmann::json> lines(std::string_view type) const {
    std::vector<nlohmann::json> found;
    for (std::size_t begin = 0; begin < sink.text.size();) {
      const std::size_t end = sink.text.find('\n', begin);
      nlohmann::json line = nlohmann::json::parse(sink.text.substr(begin, end - begin));
      if (line["line_type"] == type) found.push_back(std::move(line));
      begin = end + 1;
    }
    return found;
  }
  nlohmann::json outcome() {
    session.seal({Ending::server_ended, Ending::server_ended}, now);
    const auto all = lines("outcome");
    REQUIRE(all.size() == 1);
    return all.front();
  }
  /// What a verifier makes of the sealed record.
  std::string verdict() {
    session.seal({Ending::client_closed, Ending::client_closed}, now);
    aegis::audit::Verifier verifier(std::nullopt);
    verifier.feed(sink.text);
    const std::string text = aegis::audit::encode_text(verifier.finish());
    return text.substr(0, text.find('\n'));
  }

  Moment now{kSecond, {1'796'000'000'000'000}};
  aegis::audit::MemorySink sink;
  aegis::audit::Chain chain{aegis::audit::SigningKey(aegis::audit::Seed{7}), sink};
  CountingRandomness randomness;
  Session session;
};

inline std::string call(std::string_view id, std::string_view tool) {
  return R"({"nlohmann::jsonrpc":"2.0","id":)" + std::string(id) +
         R"(,"method":"tools/call","params":{"name":")" + std::string(tool) +
         R"(","arguments":{}}})";
}
inline std::string answer(std::string_view id) {
  return R"({"nlohmann::jsonrpc":"2.0","id":)" + std::string(id) + R"(,"result":{}})";
}

}  // namespace aegis::wrap
