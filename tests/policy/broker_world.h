// SPDX-License-Identifier: Apache-2.0 OR MIT
// Broker policies and machines for tests: a policy from the members that matter, and programs that
// are there without a file system.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "policy/broker_judge.h"

namespace aegis::policy {

/// A policy that allows everything, with `members` (YAML, each line whole) besides.
inline BrokerPolicy broker_policy(std::string_view members = "") {
  std::string text =
      "version: \"1.0\"\npolicy_id: p\nname: n\nworkspace_root: /w\n"
      "allowed_operations: [read_text, list_dir, run_python, run_command]\n";
  text += members;
  LoadedBrokerPolicy loaded = parse_broker_policy(text);
  CAPTURE(text);
  for (const Diagnostic& each : loaded.diagnostics)
    CAPTURE(each.message);
  REQUIRE(loaded.policy.has_value());
  return *std::move(loaded.policy);
}

/// Each of the policy's programs by its name, and by /usr/bin/NAME.
class KnownBinaries : public Binaries {
 public:
  explicit KnownBinaries(const BrokerPolicy& policy) : names_(policy.execution.allowed_binaries) {}

  [[nodiscard]] std::optional<std::size_t> find(std::string_view word) const override {
    constexpr std::string_view kFolder = "/usr/bin/";
    if (word.starts_with(kFolder)) word.remove_prefix(kFolder.size());
    const auto found = std::find(names_.begin(), names_.end(), word);
    if (found == names_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - names_.begin());
  }

 private:
  std::vector<std::string> names_;
};

/// A policy with what is judged by it.
struct BrokerWorld {
  explicit BrokerWorld(std::string_view members = "", std::vector<std::string> revealed_names = {})
      : policy(broker_policy(members)), binaries(policy), revealed(std::move(revealed_names)) {}

  [[nodiscard]] Judging judging() const { return {policy, binaries, revealed}; }
  [[nodiscard]] Judgement judge(const mcp::BrokerRequest& request) const {
    return judge_broker(request, judging());
  }

  BrokerPolicy policy;
  KnownBinaries binaries;
  std::vector<std::string> revealed;
};

/// "ok", or the code of the refusal.
inline std::string word_of(const Judgement& judgement) {
  const auto* refused = std::get_if<mcp::Refused>(&judgement);
  return refused == nullptr ? "ok" : std::string(to_string(refused->code));
}

}  // namespace aegis::policy
