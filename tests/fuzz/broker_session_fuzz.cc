// SPDX-License-Identifier: Apache-2.0 OR MIT
// A session with a broker in it, fed with frames of both sides. Whatever comes: what a JSON library
// takes for a call of the broker's tool never passes to the server; the server answers nothing that
// it was not asked, in whatever spelling of the id, and is asked nothing under the id of a call of
// the broker's, nor tells of the progress of one; our own frames are JSON; the record verifies.
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

/// What stands under `name` in an object, else null.
json member(const json& object, const char* name) {
  return object.is_object() ? object.value(name, json()) : json();
}

/// A string or a number, else null.
json token_in(const json& holder) {
  json token = member(holder, "progressToken");
  return token.is_string() || token.is_number() ? token : json();
}

bool is_progress(const json& message) {
  return member(message, "method") == "notifications/progress";
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
    for (aegis::wrap::BrokerTask& each : session_.take_tasks()) {
      tasks_.push_back(each.ticket);
      const json call = json::parse(frame, nullptr, false);
      operations_[each.ticket] = {member(call, "id"),
                                  token_in(member(member(call, "params"), "_meta"))};
    }
    if (fate == Fate::drop) return;
    for_each_message(frame, [this](const json& message) {
      require(!is_call_of("read_text", message));
      if (!message.is_object() || !message.contains("method") || !message.contains("id")) return;
      require(!is_id_of_operation(message["id"]));
      ++forwarded_[spelled_alike(message["id"])];
    });
  }

  void from_server(std::string_view frame) {
    const Session::ServerFrame seen =
        session_.server_frame({frame, written_ + frame.size()}, Session::JudgeJson::yes, now_);
    if (seen.relayed.how == Relayed::How::nothing) return;
    const bool is_replaced = seen.relayed.how == Relayed::How::replaced;
    const std::string_view relayed = is_replaced ? std::string_view(seen.relayed.frame) : frame;
    written_ += relayed.size();
    for_each_message(relayed, [this](const json& message) {
      if (is_progress(message)) require(!tells_of_operation(token_in(member(message, "params"))));
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
    operations_.erase(done.ticket);
    done.answer = aegis::mcp::FileText{"a", "text", false};
    tasks_.pop_front();
    session_.broker_done(std::move(done), written_);
  }

  void take_ours() {
    for (const std::uint64_t each : session_.take_cancelled()) {
      require(std::find(tasks_.begin(), tasks_.end(), each) != tasks_.end());
      operations_.erase(each);
    }
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
  struct Operation {  // NOLINT(bugprone-exception-escape): moving json is noexcept, but for asserts
    json id;
    json token;  // null: it has none
  };

  [[nodiscard]] bool tells_of_operation(const json& token) const {
    return !token.is_null() && is_any([&](const Operation& each) {
      return !each.token.is_null() && spelled_alike(each.token) == spelled_alike(token);
    });
  }
  /// Large numbers, which the library rounds, are left aside.
  [[nodiscard]] bool is_id_of_operation(const json& id) const {
    return !id.is_number_float() && is_any([&](const Operation& each) {
      return !each.id.is_number_float() && spelled_alike(each.id) == spelled_alike(id);
    });
  }
  template <typename Predicate>
  [[nodiscard]] bool is_any(Predicate predicate) const {
    return std::any_of(operations_.begin(), operations_.end(), [&](const auto& entry) {
      return predicate(entry.second);
    });
  }

  aegis::audit::MemorySink sink_;
  aegis::audit::Chain chain_;
  NoRandomness randomness_;
  Moment now_{1, {1'796'000'000'000'000}};
  Session session_{{}, chain_, randomness_};
  std::deque<std::uint64_t> tasks_;
  std::map<std::uint64_t, Operation> operations_;  // under way and not cancelled
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
