// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a decision costs as rules grow from ten to ten thousand, for the shapes of policy that could
// make it walk, and what loading one costs.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/builder.h"
#include "policy/policy.h"
#include "policy/rate.h"
#include "policy/recheck.h"

namespace {

using aegis::policy::Action;
using aegis::policy::Call;
using aegis::policy::Policy;
using aegis::policy::PolicyBuilder;
using aegis::policy::Purpose;
using aegis::policy::Rule;

std::string tool_name(std::size_t number) {
  return "server_tool_number_" + std::to_string(number);
}
std::string role_name(std::size_t number) {
  return "role_number_" + std::to_string(number);
}

std::string capability_name(std::size_t number) {
  return "capability_" + std::to_string(number);
}
constexpr std::size_t kRoles = 97;

/// Which axes the rules set, and to what.
enum class Shape : std::uint8_t { tools, one_tool, roles, tools_and_roles, all_axes };

Rule make_rule(Shape shape, std::size_t number) {
  Rule rule;
  rule.id = "rule-" + std::to_string(number);
  rule.action = number % 2 == 0 ? Action::allow : Action::pending_approval;
  switch (shape) {
    case Shape::tools:
      rule.tool = tool_name(number);
      break;
    case Shape::one_tool:
      rule.tool = tool_name(0);
      break;
    case Shape::roles:
      rule.role = role_name(number % kRoles);
      break;
    case Shape::tools_and_roles:
      rule.tool = tool_name(number);
      rule.role = role_name(number % kRoles);
      break;
    case Shape::all_axes:  // every set of axes is in use: eight look-ups a call
      if ((number & 1U) != 0) rule.tool = tool_name(number);
      if ((number & 2U) != 0) rule.role = role_name(number);
      if ((number & 4U) != 0) rule.capability = capability_name(number);
      break;
  }
  return rule;
}

Policy make_policy(Shape shape, std::size_t count) {
  std::vector<Rule> rules;
  rules.reserve(count);
  for (std::size_t number = 0; number < count; ++number)
    rules.push_back(make_rule(shape, number));
  return PolicyBuilder::build(std::move(rules), Action::allow);
}

/// Calls that go through the rules in an order that no cache foresees.
void decide(benchmark::State& state, Shape shape, std::size_t known_in_ten) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const Policy policy = make_policy(shape, count);
  constexpr std::size_t kCalls = 4096;
  std::vector<std::string> tools;
  std::vector<std::string> roles;
  std::vector<std::string> capabilities;
  for (std::size_t number = 0; number < kCalls; ++number) {
    const std::size_t rule = number * 2654435761U % count;
    const bool is_known = number % 10 < known_in_ten;
    tools.push_back(is_known ? tool_name(shape == Shape::one_tool ? 0 : rule)
                             : "unknown_tool_" + std::to_string(number));
    roles.push_back(
        role_name(shape == Shape::roles || shape == Shape::tools_and_roles ? rule % kRoles : rule));
    capabilities.push_back(capability_name(rule));
  }
  std::size_t at = 0;
  for ([[maybe_unused]] auto _ : state) {
    Call call{tools[at], roles[at], {}};
    if (shape == Shape::all_axes) call.capability = capabilities[at];
    benchmark::DoNotOptimize(policy.decide(call));
    at = (at + 1) % kCalls;
  }
}

void policy_decide_tool(benchmark::State& state) {
  decide(state, Shape::tools, 10);
}
void policy_decide_no_rule(benchmark::State& state) {
  decide(state, Shape::tools, 0);
}
void policy_decide_one_tool(benchmark::State& state) {
  decide(state, Shape::one_tool, 10);
}
void policy_decide_roles(benchmark::State& state) {
  decide(state, Shape::roles, 10);
}
void policy_decide_tools_and_roles(benchmark::State& state) {
  decide(state, Shape::tools_and_roles, 5);
}
void policy_decide_all_axes(benchmark::State& state) {
  decide(state, Shape::all_axes, 10);
}
BENCHMARK(policy_decide_tool)->Arg(10)->Arg(10'000);
BENCHMARK(policy_decide_no_rule)->Arg(10)->Arg(10'000);
BENCHMARK(policy_decide_one_tool)->Arg(10)->Arg(10'000);
BENCHMARK(policy_decide_roles)->Arg(10)->Arg(10'000);
BENCHMARK(policy_decide_tools_and_roles)->Arg(10)->Arg(10'000);
BENCHMARK(policy_decide_all_axes)->Arg(10)->Arg(10'000);

void policy_load(benchmark::State& state) {
  std::string text = "version: 1\nrules:\n";
  for (std::int64_t number = 0; number < state.range(0); ++number) {
    const std::string digits = std::to_string(number);
    text.append("  - id: rule-").append(digits).append("\n    action: deny\n    tool: tool_");
    text.append(digits).append("\n    reason: \"not here\"\n");
  }
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(parse_policy(text, Purpose::wrap));
  state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) *
                          static_cast<std::int64_t>(state.iterations()));
}
BENCHMARK(policy_load)->Arg(10)->Arg(10'000)->Unit(benchmark::kMicrosecond);

void policy_rate_admit(benchmark::State& state) {
  aegis::policy::RateWindows windows(4096);
  Rule rule;
  rule.id = "search-budget";
  rule.rate = aegis::policy::Rate{1'000'000'000, 60};
  std::vector<std::string> tools;
  for (std::size_t number = 0; number < 4096; ++number)
    tools.push_back(tool_name(number));
  std::uint64_t now = 0;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(windows.admit(rule, tools[now % tools.size()], now));
    ++now;
  }
}
BENCHMARK(policy_rate_admit);

void policy_recheck(benchmark::State& state) {
  const Policy policy = make_policy(Shape::tools, 100);
  std::string record;
  for (std::size_t number = 0; number < 1000; ++number) {
    const std::string digits = std::to_string(number);
    record.append(R"({"call_id":"c-)").append(digits);
    record +=
        R"(","capability":{"reason":"no","status":"denied"},"decision_axes":{},)"
        R"("execution":{"status":"success"},"line_type":"outcome","policy":{"status":"allowed"},)"
        R"("policy_set_hash":"d19fc5aa391e8220c634b40bef26894b83ae1493f8a8628e8ab667a6fd7e0e67",)"
        R"("request_digest":")";
    record.append(digits).append(R"(","schema_version":2,"seq":)").append(digits);
    record.append(R"(,"tool_id":")").append(tool_name(number % 150)).append("\"}\n");
  }
  for ([[maybe_unused]] auto _ : state) {
    aegis::policy::Rechecker rechecker(policy);
    rechecker.feed(record);
    benchmark::DoNotOptimize(rechecker.finish());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(record.size()) *
                          static_cast<std::int64_t>(state.iterations()));
}
BENCHMARK(policy_recheck)->Unit(benchmark::kMicrosecond);

}  // namespace
