// SPDX-License-Identifier: Apache-2.0 OR MIT
// What it costs to judge a broker's request, for each operation at its ordinary size and at the
// sizes that could make it slow.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "policy/broker_judge.h"

namespace {

using aegis::mcp::BrokerRequest;
using aegis::mcp::Operation;
using aegis::policy::BrokerPolicy;
using aegis::policy::Judging;
using aegis::policy::Permit;

/// As a careful user would write it.
constexpr std::string_view kPolicy = R"(
version: "1.0"
policy_id: bench
name: bench
workspace_root: /srv/project
allowed_operations: [read_text, list_dir, run_python, run_command]
path_rules:
  allowed_subpaths: [src, data, docs, tests]
  denied_patterns: ["*.bak", "*.sqlite", "private/**", "**/node_modules", "secret*", "[0-9]*.tmp"]
execution_rules:
  allowed_binaries: [cat, grep, wc, ls, head, tail, sort, uniq]
  allowed_paths: [src, data]
)";

class SomeBinaries : public aegis::policy::Binaries {
 public:
  explicit SomeBinaries(const BrokerPolicy& policy) : names_(policy.execution.allowed_binaries) {}
  [[nodiscard]] std::optional<std::size_t> find(std::string_view word) const override {
    for (std::size_t at = 0; at < names_.size(); ++at) {
      if (names_[at] == word) return at;
    }
    return std::nullopt;
  }

 private:
  const std::vector<std::string>& names_;
};

BrokerPolicy load() {
  aegis::policy::LoadedBrokerPolicy loaded = aegis::policy::parse_broker_policy(kPolicy);
  if (!loaded.policy) std::abort();
  return *std::move(loaded.policy);
}

void judge(benchmark::State& state, const BrokerRequest& request) {
  const BrokerPolicy policy = load();
  const SomeBinaries binaries(policy);
  const Judging judging{policy, binaries};
  if (!std::holds_alternative<Permit>(judge_broker(request, judging))) std::abort();
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(judge_broker(request, judging));
}

constexpr const char* kOrdinary = "src/server/handlers/upload_handler.cc";

void judge_read_text(benchmark::State& state) {
  judge(state, {Operation::read_text, aegis::mcp::ReadText{kOrdinary}});
}
void judge_list_dir(benchmark::State& state) {
  judge(state, {Operation::list_dir, aegis::mcp::ListDir{"src/server", 3}});
}
void judge_run_python(benchmark::State& state) {
  aegis::mcp::RunPython run;
  run.script_path = "src/tools/report.py";
  run.arguments = {"--month", "2026-11", "data/sales.csv"};
  judge(state, {Operation::run_python, run});
}
void judge_run_command(benchmark::State& state) {
  aegis::mcp::RunCommand run;
  run.argv = {
      "grep", "-rn", "--include=*.cc", "-e", "needle", "--", kOrdinary, "src/server", "data"};
  run.writable = {"data/out"};
  judge(state, {Operation::run_command, run});
}
void judge_shell_command(benchmark::State& state) {
  judge(state,
        {Operation::run_command,
         aegis::mcp::ShellCommand{"grep -rn 'needle' src/server | sort -u | head -n 20 >data/todo "
                                  "2>&1 && wc -l data/todo"}});
}

/// As many words as an argv may have.
void judge_1024_words(benchmark::State& state) {
  aegis::mcp::RunCommand run;
  run.argv.assign(1024, kOrdinary);
  run.argv.front() = "cat";
  judge(state, {Operation::run_command, run});
}
/// A path of `range` components, no longer than a path may be.
void judge_deep_path(benchmark::State& state) {
  std::string path = "src";
  for (std::int64_t level = 1; level < state.range(0); ++level)
    path += "/a";
  judge(state, {Operation::read_text, aegis::mcp::ReadText{path}});
}
void judge_long_name(benchmark::State& state) {
  judge(state, {Operation::read_text, aegis::mcp::ReadText{"src/" + std::string(4000, 'x')}});
}

void load_policy(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(aegis::policy::parse_broker_policy(kPolicy));
}

BENCHMARK(judge_read_text);
BENCHMARK(judge_list_dir);
BENCHMARK(judge_run_python);
BENCHMARK(judge_run_command);
BENCHMARK(judge_shell_command);
BENCHMARK(judge_1024_words)->Unit(benchmark::kMicrosecond);
BENCHMARK(judge_deep_path)->Arg(300)->Arg(2000)->Unit(benchmark::kMicrosecond);
BENCHMARK(judge_long_name)->Unit(benchmark::kMicrosecond);
BENCHMARK(load_policy)->Unit(benchmark::kMicrosecond);

}  // namespace
