// SPDX-License-Identifier: Apache-2.0 OR MIT
// The flags of confinement, which `aegis wrap --confine` and `aegis confine` share, and what was
// asked for by them. What it comes to for one command is confine_plan.h's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "confine/bounds.h"
#include "confine/egress.h"
#include "confine/result.h"
#include "confine/tier.h"
#include "wrap/cli.h"

namespace aegis::wrap {

/// The fewest that a pid namespace can be held to: kernel/pid.c, RESERVED_PIDS + 1.
inline constexpr std::uint64_t kFewestProcesses = 301;

/// As written; nothing has been looked up.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): there is one, in the order of the flags
struct ConfineRequest {
  struct Variable {
    std::string name;
    std::optional<std::string> value = {};  // nothing: the caller's, if it has one
  };
  /// What to do when the tier cannot be had.
  enum class Shortfall : std::uint8_t { refuse, take_strongest };
  enum class ExecSupport : std::uint8_t { as_profile_says, system };
  enum class ConfigWrite : std::uint8_t { guarded, allowed };

  confine::Tier tier = confine::Tier::full;
  Shortfall shortfall = Shortfall::refuse;
  std::vector<std::string> read = {};
  std::vector<std::string> write = {};
  std::vector<std::string> execute = {};
  std::vector<Variable> variables = {};
  confine::Network network = confine::Network::none;
  std::vector<confine::NetGrant> net = {};  // with Network::granted
  ExecSupport exec_support = ExecSupport::as_profile_says;
  std::optional<std::string> profile = {};  // a built-in one's name, or a path, which has a '/'
  std::optional<std::string> workspace = {};
  ConfigWrite config_write = ConfigWrite::guarded;
  confine::Bounds bounds = {};
  bool is_profile_shown = false;  // --show-profile: print it, run nothing
  bool is_explained = false;      // --explain
};

/// Holds what the flags write to, so it must outlive Flags::parse().
class ConfineFlags {
 public:
  void add_to(Flags& flags);

  /// After parse(). The error is a usage error's text, whole.
  [[nodiscard]] confine::Result<ConfineRequest> request() const;
  /// The first of these flags that was given: without --confine it would do nothing, which must
  /// not pass in silence.
  [[nodiscard]] std::optional<std::string_view> first_given() const;

 private:
  enum Size : std::size_t { memory, file_size, output, size_count };
  enum Count : std::size_t { processes, cpu_seconds, open_files, new_files, count_count };

  void add_grants(Flags& flags);
  void add_bounds(Flags& flags);
  [[nodiscard]] confine::Result<confine::Bounds> bounds(confine::Tier tier) const;
  [[nodiscard]] confine::Result<std::optional<std::uint64_t>> size(Size which) const;
  [[nodiscard]] confine::Result<void> take_net(ConfineRequest& request) const;
  [[nodiscard]] confine::Result<void> take_variables(ConfineRequest& request) const;
  [[nodiscard]] confine::Result<void> take_profile(ConfineRequest& request) const;

  std::string tier_;  // empty: not given
  bool is_best_effort_ = false;
  std::vector<std::string> read_;
  std::vector<std::string> write_;
  std::vector<std::string> execute_;
  std::vector<std::string> net_;
  std::vector<std::string> variables_;
  bool has_exec_support_ = false;
  std::optional<std::string> profile_;
  std::optional<std::string> workspace_;
  bool allows_config_write_ = false;
  bool shows_profile_ = false;
  bool is_explained_ = false;
  std::array<std::optional<std::string>, size_count> sizes_;
  std::array<std::uint64_t, count_count> counts_{};  // 0: not given
};

}  // namespace aegis::wrap
