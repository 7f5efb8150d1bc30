// SPDX-License-Identifier: Apache-2.0 OR MIT
// A session with a broker in it, and no broker: what it would be told to do is in the test's hands.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/wrap/session_bench.h"

namespace aegis::wrap {

inline const auto broker_hash = audit::PolicySetHash::of("a broker's policy");

struct BrokerBench : Bench {
  explicit BrokerBench(Session::Options options = {}) : Bench(std::move(options)) {
    BrokerOffer offer;
    offer.tools = {{mcp::Operation::read_text, R"({"name":"read_text","inputSchema":{}})"},
                   {mcp::Operation::run_python, R"({"name":"run_python","inputSchema":{}})"}};
    offer.policy_set_hash = broker_hash;
    offer.max_timeout_seconds = 15;
    session.use_broker(std::move(offer));
  }

  /// A call of an operation; what the broker is told to do.
  BrokerTask begin(std::string_view id, std::string_view tool, std::string_view params) {
    CHECK_FALSE(client(operation(id, tool, params)));
    auto tasks = session.take_tasks();
    REQUIRE(tasks.size() == 1);
    return std::move(tasks.front());
  }
  static std::string operation(std::string_view id,
                               std::string_view tool,
                               std::string_view params) {
    return R"({"jsonrpc":"2.0","id":)" + std::string(id) +
           R"(,"method":"tools/call","params":{"name":")" + std::string(tool) + "\"" +
           std::string(params) + "}}";
  }
  BrokerTask begin_python(std::string_view id, std::string_view meta = "") {
    return begin(id, "run_python", R"(,"arguments":{"code":"sekrit"})" + std::string(meta));
  }
  nlohmann::json done(std::uint64_t ticket, mcp::BrokerAnswer answer) {
    Broker::Done done;
    done.ticket = ticket;
    done.answer = std::move(answer);
    done.grant = {{"workspace"}, {}, 1024, 15'000, 2048};
    done.path = "workspace/a.txt";
    done.taken = std::chrono::milliseconds(7);
    session.broker_done(std::move(done), 0);
    return reply();
  }
  Session::ServerFrame relay(std::string frame) {
    frame += '\n';
    return session.server_frame({frame, 0}, Session::JudgeJson::no, now);
  }
  nlohmann::json last_outcome() {
    session.seal({Ending::client_closed, Ending::client_closed}, now);
    const auto all = lines("outcome");
    REQUIRE_FALSE(all.empty());
    return all.back();
  }
};

inline mcp::RunEnd ended(mcp::RunEnd::Status status) {
  mcp::RunEnd end;
  end.status = status;
  end.exit_code = 0;
  end.out = "sekrit\n";
  return end;
}

inline std::string request(std::string_view id, std::string_view method) {
  return R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"method":")" + std::string(method) +
         R"("})";
}
inline std::string cancel(std::string_view id) {
  return R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" +
         std::string(id) + "}}";
}
inline std::string list_of(std::string_view id, std::string_view tools) {
  return R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"result":{"tools":[)" +
         std::string(tools) + "]}}";
}

}  // namespace aegis::wrap
