// SPDX-License-Identifier: Apache-2.0 OR MIT
// A session with a broker in it, fed with frames of both sides. Whatever comes: what a JSON library
// takes for a call of the broker's tool never passes to the server; the server answers nothing that
// it was not asked, in whatever spelling of the id; our own frames are JSON; the record verifies.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>

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
using aegis::wrap::Broker;
using aegis::wrap::Fate;
using aegis::wrap::Moment;
using aegis::wrap::Relayed;
using aegis::wrap::Session;
using nlohmann::json;

/// Each message of a frame: a batch's elements, or the one that there is.
template <typename Once>
void for_each_message(std::string_view frame, Once once) {
  const json parsed = json::parse(frame, nullptr, false);
  if (!parsed.is_array()) {
    once(parsed);
    return;
  }
  for (const json& each : parsed)
    once(each);
}

/// One text for what clients may take for one id: 1, 1.0 and "1".
std::string spelled_alike(const json& id) {
  if (id.is_string()) return id.get<std::string>();
  if (id.is_number_float() && id.get<double>() == static_cast<double>(id.get<std::int64_t>()))
    return std::to_string(id.get<std::int64_t>());
  return id.dump();
}

class World {
 public:
  World() : chain_(aegis::audit::SigningKey(aegis::audit::Seed{1}), sink_) {
    chain_.open({.version = "0",
                 .prev_session_tail = {},
                 .session_id = "000102030405060708090a0b0c0d0e0f",
                 .durability = "call",
                 .program = "p",
                 .argv_digest = {},
                 .policy_set_hash = {},
                 .recovered = {}},
                now_.wall);
    aegis::wrap::BrokerOffer offer;
    offer.tools = {{aegis::mcp::Operation::read_text, R"({"name":"read_text","inputSchema":{}})"}};
    offer.policy_set_hash = aegis::audit::PolicySetHash::of("p");
    session_.use_broker(std::move(offer));
  }

  void step() { now_.mono_ns += 1'000'000'000; }

  void from_client(std::string_view frame) {
    const Fate fate = session_.client_frame(frame, now_);
    if (session_.needs_record()) session_.recorded();
    for (aegis::wrap::BrokerTask& each : session_.take_tasks())
      tasks_.push_back(each.ticket);
    if (fate == Fate::drop) return;
    for_each_message(frame, [this](const json& message) {
      require(!is_call_of("read_text", message));
      if (message.is_object() && message.contains("method") && message.contains("id"))
        ++forwarded_[spelled_alike(message["id"])];
    });
  }

  void from_server(std::string_view frame) {
    const Session::ServerFrame seen =
        session_.server_frame({frame, written_ + frame.size()}, Session::JudgeJson::yes, now_);
    if (seen.relayed.how == Relayed::How::to_errors) return;
    const bool is_replaced = seen.relayed.how == Relayed::How::replaced;
    const std::string_view relayed = is_replaced ? std::string_view(seen.relayed.frame) : frame;
    written_ += relayed.size();
    for_each_message(relayed, [this](const json& message) {
      if (!message.is_object() || message.contains("method") || !message.contains("id")) return;
      auto asked = forwarded_.find(spelled_alike(message["id"]));
      require(asked != forwarded_.end() && asked->second > 0);
      --asked->second;
    });
  }

  /// The oldest operation is done.
  void done() {
    if (tasks_.empty()) return;
    Broker::Done done;
    done.ticket = tasks_.front();
    done.answer = aegis::mcp::FileText{"a", "text", false};
    tasks_.pop_front();
    session_.broker_done(std::move(done), written_);
  }

  void take_ours() {
    for (const std::uint64_t each : session_.take_cancelled())
      require(std::find(tasks_.begin(), tasks_.end(), each) != tasks_.end());
    session_.report_progress(now_);
    std::string ours = session_.take_replies();
    written_ += ours.size();
    for (std::size_t end = ours.find('\n'); end != std::string::npos; end = ours.find('\n')) {
      require(json::accept(ours.substr(0, end)));
      ours.erase(0, end + 1);
    }
    require(ours.empty());
    session_.delivered(written_, now_);
  }

  void end() {
    while (!tasks_.empty())
      done();
    take_ours();
    session_.seal({aegis::wrap::Ending::client_closed, aegis::wrap::Ending::client_closed}, now_);
    aegis::audit::Verifier verifier(std::nullopt);
    verifier.feed(sink_.text);
    require(verifier.finish().standing == aegis::audit::Standing::verified);
  }

 private:
  aegis::audit::MemorySink sink_;
  aegis::audit::Chain chain_;
  NoRandomness randomness_;
  Moment now_{1, {1'796'000'000'000'000}};
  Session session_{{}, chain_, randomness_};
  std::deque<std::uint64_t> tasks_;
  std::map<std::string, int> forwarded_;  // requests that the server has, by id, unanswered
  std::uint64_t written_ = 0;             // to the client
};

}  // namespace

/// Each line is a frame: '<' before it, from the server; '+', the oldest operation is done; else
/// from the client.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  World world;
  while (!input.empty()) {
    const std::size_t end = std::min(input.find('\n'), input.size() - 1) + 1;
    std::string_view frame = input.substr(0, end);
    input.remove_prefix(end);
    const char side = frame.front();
    if (side == '<' || side == '+') frame.remove_prefix(1);
    world.step();
    if (side == '+') world.done();
    if (side == '<' && !frame.empty()) world.from_server(frame);
    if (side != '<' && side != '+') world.from_client(frame);
    world.take_ours();
  }
  world.end();
  return 0;
}
