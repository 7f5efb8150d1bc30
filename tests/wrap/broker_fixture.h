// SPDX-License-Identifier: Apache-2.0 OR MIT
// A broker on a workspace of a test's own.
#pragma once

#include <poll.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/wrap/scratch.h"
#include "wrap/broker.h"

namespace aegis::test {

using wrap::Broker;

inline mcp::BrokerRequest read_request(std::string path,
                                       std::optional<std::uint64_t> max_bytes = {}) {
  return {mcp::Operation::read_text, mcp::ReadText{std::move(path), max_bytes}};
}
inline mcp::BrokerRequest list_request(std::string path, std::uint64_t depth = 0) {
  return {mcp::Operation::list_dir, mcp::ListDir{std::move(path), depth}};
}
inline mcp::BrokerRequest python_request(std::string code, std::vector<std::string> words = {}) {
  mcp::RunPython run;
  run.code = std::move(code);
  run.arguments = std::move(words);
  return {mcp::Operation::run_python, std::move(run)};
}
inline mcp::BrokerRequest command_request(std::vector<std::string> argv,
                                          std::vector<std::string> writable = {}) {
  mcp::RunCommand run{std::move(argv)};
  run.writable = std::move(writable);
  return {mcp::Operation::run_command, std::move(run)};
}

class BrokerHome {
 public:
  /// `rules` are whole lines of the policy's, besides what every one has.
  explicit BrokerHome(std::string_view rules = "") {
    std::filesystem::create_directories(path("data/deep"));
    write("data/a.txt", "alpha\n");
    // A policy that allows commands and lists none is warned of.
    const bool has_commands = rules.find("allowed_binaries") != std::string_view::npos;
    std::string text =
        "version: \"1.0\"\npolicy_id: t\nname: Test\nworkspace_root: ws\n"
        "allowed_operations: [read_text, list_dir, run_python";
    text.append(has_commands ? ", run_command]\n" : "]\n").append(rules);
    policy_ = scratch_.write("broker.yaml", text);
  }

  /// Below the workspace.
  [[nodiscard]] std::string path(std::string_view name) const {
    return scratch_.path("ws/" + std::string(name));
  }
  std::string write(std::string_view name, std::string_view bytes) const {
    return scratch_.write("ws/" + std::string(name), bytes);
  }
  [[nodiscard]] const Scratch& scratch() const { return scratch_; }
  [[nodiscard]] const std::string& policy() const { return policy_; }

  [[nodiscard]] Broker broker(std::vector<std::string> revealed = {}) const {
    auto made = Broker::make({policy_, std::move(revealed)}, "test");
    REQUIRE_MESSAGE(made, confine::describe(made.error()));
    return std::move(made).value();
  }

 private:
  Scratch scratch_;
  std::string policy_;
};

/// Waits until something is done, for half a minute at most.
inline std::vector<Broker::Done> wait_done(Broker& broker) {
  constexpr int kPatienceMs = 30'000;
  for (;;) {
    std::vector<Broker::Done> done = broker.take_done();
    if (!done.empty()) return done;
    REQUIRE(broker.under_way() > 0);
    std::vector<pollfd> polled;
    for (const int descriptor : broker.descriptors())
      polled.push_back({descriptor, POLLIN, 0});
    REQUIRE(::poll(polled.data(), polled.size(), kPatienceMs) > 0);
    for (const pollfd& each : polled) {
      if (each.revents != 0) broker.on_ready(each.fd);
    }
  }
}

inline Broker::Done do_one(Broker& broker, const mcp::BrokerRequest& request) {
  broker.begin(1, request);
  std::vector<Broker::Done> done = wait_done(broker);
  REQUIRE(done.size() == 1);
  CHECK(done.front().ticket == 1);
  return std::move(done.front());
}

/// The code of a refusal, or "".
inline std::string code_of(const Broker::Done& done) {
  const auto* refused = std::get_if<mcp::Refused>(&done.answer);
  return refused == nullptr ? "" : std::string(to_string(refused->code));
}

}  // namespace aegis::test
