// SPDX-License-Identifier: Apache-2.0 OR MIT
// One judge for each operation. Approval comes last: what is refused anyway need not be asked for.
#include "policy/broker_judge.h"

#include <algorithm>
#include <utility>

#include "policy/broker_paths.h"
#include "policy/broker_words.h"
#include "policy/path.h"
#include "policy/shell.h"
#include "policy/text.h"

namespace aegis::policy {
namespace {

using mcp::BrokerCode;
using mcp::Operation;
using mcp::Refused;

/// One request's parameters under a policy.
class ParameterJudge {
 public:
  explicit ParameterJudge(const Judging& judging)
      : judging_(judging), execution_(judging.policy.execution) {}

  Judgement operator()(const mcp::ReadText& read) const;
  Judgement operator()(const mcp::ListDir& list) const;
  Judgement operator()(const mcp::RunPython& run) const;
  Judgement operator()(const mcp::RunCommand& run) const;
  Judgement operator()(const mcp::ShellCommand& shell) const;

 private:
  [[nodiscard]] std::optional<Refused> judge_timeout(std::optional<std::uint64_t> asked) const;
  [[nodiscard]] std::variant<std::size_t, Refused> judge_program(std::string_view word) const;
  [[nodiscard]] std::variant<std::string, Refused> judge_writable(std::string_view written) const;
  /// The index of its program.
  [[nodiscard]] std::variant<std::size_t, Refused> judge_command(
      const SimpleCommand& command) const;

  const Judging& judging_;
  const BrokerPolicy::Execution& execution_;
};

Judgement ParameterJudge::operator()(const mcp::ReadText& read) const {
  auto path = judge_path(read.path, judging_);
  if (auto* refused = std::get_if<Refused>(&path)) return std::move(*refused);
  Permit permit;
  permit.path = std::get<std::string>(std::move(path));
  // More than the policy's is capped: the answer says when a text was cut, and refusing would only
  // have the same file asked for twice.
  const std::uint64_t most = judging_.policy.paths.max_file_read_bytes;
  permit.max_bytes = std::min(read.max_bytes.value_or(most), most);
  return permit;
}

Judgement ParameterJudge::operator()(const mcp::ListDir& list) const {
  auto path = judge_listed(list.path, judging_);
  if (auto* refused = std::get_if<Refused>(&path)) return std::move(*refused);
  Permit permit;
  permit.path = std::get<std::string>(std::move(path));
  permit.max_depth = std::min(list.max_depth.value_or(0), mcp::kMaxListDepth);
  return permit;
}

/// Arguments are the code's to use, which reaches the same files without them.
Judgement ParameterJudge::operator()(const mcp::RunPython& run) const {
  Permit permit;
  if (run.script_path) {
    auto path = judge_path(*run.script_path, judging_);
    if (auto* refused = std::get_if<Refused>(&path)) return std::move(*refused);
    permit.path = std::get<std::string>(std::move(path));
  }
  if (auto refused = judge_timeout(run.timeout_seconds)) return *std::move(refused);
  permit.timeout_seconds = run.timeout_seconds.value_or(execution_.max_timeout_seconds);
  return permit;
}

Judgement ParameterJudge::operator()(const mcp::RunCommand& run) const {
  auto program = judge_command({run.argv, {}});
  if (auto* refused = std::get_if<Refused>(&program)) return std::move(*refused);
  Permit permit;
  permit.binary = std::get<std::size_t>(program);
  for (const std::string& each : run.writable) {
    auto path = judge_writable(each);
    if (auto* refused = std::get_if<Refused>(&path)) return std::move(*refused);
    permit.writable.push_back(std::get<std::string>(std::move(path)));
  }
  if (auto refused = judge_timeout(run.timeout_seconds)) return *std::move(refused);
  permit.timeout_seconds = run.timeout_seconds.value_or(execution_.max_timeout_seconds);
  return permit;
}

/// What no argv of a request may have, a shell string may not either.
std::optional<Refused> refuse_size(const SimpleCommand& command) {
  const bool is_long =
      std::any_of(command.words.begin(), command.words.end(), [](const std::string& word) {
        return word.size() > mcp::kMaxWord;
      });
  if (!is_long && command.words.size() <= mcp::kMaxWords) return std::nullopt;
  return Refused{BrokerCode::operation_not_permitted,
                 "a command has more than " + std::to_string(mcp::kMaxWords) +
                     " words, or a word of more than " + std::to_string(mcp::kMaxWord) +
                     " bytes, which cannot be run"};
}

Judgement ParameterJudge::operator()(const mcp::ShellCommand& shell) const {
  const ShellReading reading = read_shell(shell.command);
  if (const auto* fault = std::get_if<ShellFault>(&reading)) {
    return Refused{BrokerCode::operation_not_permitted,
                   "the word " + quoted(fault->word) + " at byte " + std::to_string(fault->offset) +
                       " is refused: " + fault->why};
  }
  for (const SimpleCommand& command : std::get<std::vector<SimpleCommand>>(reading)) {
    if (auto refused = refuse_size(command)) return *std::move(refused);
    auto program = judge_command(command);
    if (auto* refused = std::get_if<Refused>(&program)) {
      refused->reason += " (in the command " + quoted(command.words.front()) + ")";
      return std::move(*refused);
    }
  }
  Permit permit;
  permit.timeout_seconds = execution_.max_timeout_seconds;
  return permit;
}

std::optional<Refused> ParameterJudge::judge_timeout(std::optional<std::uint64_t> asked) const {
  if (asked.value_or(0) <= execution_.max_timeout_seconds) return std::nullopt;
  return Refused{BrokerCode::timeout_limit_exceeded,
                 std::to_string(*asked) + " seconds are asked for, and the policy allows " +
                     std::to_string(execution_.max_timeout_seconds) +
                     "; ask for less, or leave timeout_seconds out"};
}

std::variant<std::size_t, Refused> ParameterJudge::judge_program(std::string_view word) const {
  if (const auto found = judging_.binaries.find(word)) return *found;
  const std::vector<std::string>& allowed = execution_.allowed_binaries;
  if (std::find(allowed.begin(), allowed.end(), word) != allowed.end()) {
    return Refused{BrokerCode::operation_not_permitted,
                   "the program " + quoted(word) +
                       " is allowed, and is not there, or another since aegis started; use another "
                       "program, or ask the user to look"};
  }
  return Refused{BrokerCode::operation_not_permitted,
                 "the program " + quoted(word) + " is none that the policy allows; " +
                     (allowed.empty() ? "it allows none" : "it allows " + list_quoted(allowed))};
}

/// What is lent to a program for writing is the user's own file, no copy: it needs to be named.
std::variant<std::string, Refused> ParameterJudge::judge_writable(std::string_view written) const {
  auto path = judge_path(written, judging_);
  const auto* normalised = std::get_if<std::string>(&path);
  if (normalised == nullptr) return path;
  const std::vector<std::string>& allowed = execution_.allowed_paths;
  const std::string refusal = "the path " + quoted(written) + " cannot be writable: ";
  if (allowed.empty()) {
    return Refused{BrokerCode::path_boundary_violation,
                   refusal +
                       "the policy names no place that a command may write "
                       "(execution_rules.allowed_paths)"};
  }
  if (place_of(*normalised, allowed) == Place::inside) return path;
  return Refused{BrokerCode::path_boundary_violation,
                 refusal + "a command may write only in " + list_quoted(allowed)};
}

std::variant<std::size_t, Refused> ParameterJudge::judge_command(
    const SimpleCommand& command) const {
  if (command.words.empty())
    return Refused{BrokerCode::operation_not_permitted, "there is no program to run"};
  auto program = judge_program(command.words.front());
  if (std::holds_alternative<Refused>(program)) return program;
  WordJudge words(judging_);
  for (std::size_t at = 1; at < command.words.size(); ++at) {
    if (auto refused = words.judge(command.words[at])) return *std::move(refused);
  }
  for (const SimpleCommand::Redirection& each : command.redirections) {
    if (auto refused = words.judge(each)) return *std::move(refused);
  }
  return program;
}

std::string names_of_allowed(const BrokerPolicy& policy) {
  std::string names;
  for (const Operation operation : mcp::kOperations) {
    if (policy.allows(operation))
      names.append(names.empty() ? "" : ", ").append(to_string(operation));
  }
  return names.empty() ? "none" : names;
}

}  // namespace

Judgement judge_broker(const mcp::BrokerRequest& request, const Judging& judging) {
  const BrokerPolicy& policy = judging.policy;
  const std::string name(to_string(request.operation));
  if (!policy.allows(request.operation)) {
    return Refused{
        BrokerCode::operation_not_permitted,
        "the policy does not allow " + name + "; it allows: " + names_of_allowed(policy)};
  }
  Judgement judgement = std::visit(ParameterJudge(judging), request.parameters);
  const bool needs_approval = policy.needs_approval[static_cast<std::size_t>(request.operation)];
  if (!needs_approval || std::holds_alternative<Refused>(judgement)) return judgement;
  return Refused{BrokerCode::approval_required,
                 "the policy wants a person to approve " + name +
                     ", and nobody can do that yet; ask the user to change the policy"};
}

}  // namespace aegis::policy
