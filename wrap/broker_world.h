// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a broker's requests are judged and done with: the policy, the workspace and the programs.
// Loaded once; does nothing by itself.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/digest.h"
#include "confine/grants.h"
#include "confine/result.h"
#include "confine/workspace.h"
#include "mcp/catalogue.h"
#include "policy/broker_judge.h"
#include "policy/broker_policy.h"
#include "wrap/broker.h"
#include "wrap/broker_answers.h"
#include "wrap/broker_binaries.h"

namespace aegis::wrap {

/// What run_python runs: the system's, not what PATH has first.
inline constexpr const char* kPython = "/usr/bin/python3";

class BrokerWorld {
 public:
  /// Says on stderr, each line beginning with `doing`, what is wrong with the policy or worth
  /// knowing about it. An error says what to do.
  /// A unique_ptr because what is begun keeps its address.
  static confine::Result<std::unique_ptr<BrokerWorld>> load(const BrokerOptions& options,
                                                            std::string_view doing);

  /// What load() has read and opened.
  BrokerWorld(policy::BrokerPolicy policy,
              confine::Workspace workspace,
              const BrokerOptions& options);

  [[nodiscard]] const policy::BrokerPolicy& policy() const { return policy_; }
  [[nodiscard]] const confine::Workspace& workspace() const { return workspace_; }
  [[nodiscard]] const FoundBinaries& binaries() const { return binaries_; }
  /// Nothing when it is not there, or not allowed.
  [[nodiscard]] const std::optional<confine::ResolvedPath>& python() const { return python_; }
  [[nodiscard]] const std::vector<std::string>& revealed() const { return revealed_; }
  [[nodiscard]] const audit::PolicySetHash& policy_hash() const { return hash_; }
  [[nodiscard]] const mcp::CatalogueBounds& bounds() const { return bounds_; }
  [[nodiscard]] std::string describe() const;

  /// By its words.
  [[nodiscard]] policy::Judgement judge(const mcp::BrokerRequest& request) const {
    return policy::judge_broker(request, judging());
  }
  /// Of a path in the workspace: not to be listed, copied or lent to a program.
  [[nodiscard]] bool is_hidden(std::string_view path) const;
  /// The same for what commands see, which is what they may be told of: no word of an argv says
  /// whether it is a path.
  [[nodiscard]] bool is_hidden_from_commands(std::string_view path) const;
  /// The user's home folder without links, or empty.
  [[nodiscard]] const std::string& home() const { return home_; }
  /// The paths that a run reads, as the record names them.
  [[nodiscard]] const std::vector<std::string>& readable(mcp::Operation operation) const;
  /// The most that an operation can read and write.
  [[nodiscard]] const confine::PathGrants& reach() const { return reach_; }
  /// Every file that its runs execute, and the links by which they were found.
  [[nodiscard]] std::vector<std::string> programs() const;
  /// For a path that was not to be had; a folder where a file is expected is told as that.
  [[nodiscard]] mcp::Refused refuse(const std::string& path,
                                    confine::PathFault fault,
                                    Wanted wanted) const;
  /// Looks at what lies under `paths` now. Nothing when all may be lent to a program for writing.
  [[nodiscard]] std::optional<mcp::Refused> refuse_lending(
      const std::vector<std::string>& paths) const;

 private:
  [[nodiscard]] policy::Judging judging() const { return {policy_, binaries_, revealed_}; }
  [[nodiscard]] std::optional<mcp::Refused> refuse_lending(const std::string& path) const;
  /// What can be written must not be executed.
  [[nodiscard]] confine::Result<void> check_programs() const;
  void say_what_is_missing(std::string_view doing) const;

  policy::BrokerPolicy policy_;
  confine::Workspace workspace_;
  FoundBinaries binaries_;
  std::vector<std::string> revealed_;
  confine::PathGrants reach_;
  std::vector<std::string> readable_;
  std::vector<std::string> commands_read_;
  std::string home_;
  audit::PolicySetHash hash_;
  mcp::CatalogueBounds bounds_;
  std::optional<confine::ResolvedPath> python_;
};

/// "workspace", or "workspace/<path>": how a path of the workspace is told to the record.
std::string in_workspace(std::string_view path);

}  // namespace aegis::wrap
