// SPDX-License-Identifier: Apache-2.0 OR MIT
// A policy: rules over tool, role and capability, parsed once from YAML into an immutable set.
// Version 1 is shared with botzrDev/aegis. Evaluation allocates nothing and takes no lock.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/diagnostic.h"

namespace aegis::policy {

enum class Action : std::uint8_t { allow, deny, rate_limit, pending_approval };

struct Rate {
  std::uint64_t max;          // calls
  std::uint64_t per_seconds;  // window length, seconds
};

/// Ceilings of version 1; recorded, not enforced by `wrap` (said at load). Absent: none.
struct Limits {
  std::optional<std::uint64_t> max_memory_bytes;
  std::optional<std::uint64_t> max_wall_ms;
  std::optional<std::uint64_t> max_output_bytes;
};

/// An axis that is left out or "*" is empty here and matches anything.
struct Rule {
  std::string id;
  Action action = Action::deny;
  std::optional<std::string> tool;
  std::optional<std::string> role;
  std::optional<std::string> capability;
  std::int32_t priority = 0;
  std::string reason;        // empty when none was given
  std::optional<Rate> rate;  // set exactly for rate_limit
  std::optional<Limits> limits;
};

/// What is judged. Views are looked at during the call only.
struct Call {
  std::string_view tool;
  std::optional<std::string_view> role = {};
  std::optional<std::string_view> capability = {};
};

struct Verdict {
  Action action;     // what the winning rule says; rate_limit still has to be counted (RateWindows)
  const Rule* rule;  // owned by the policy; null when the default decided
};

/// Immutable; movable; a moved-to policy keeps its rules' addresses.
class Policy {
 public:
  Policy(Policy&&) noexcept;
  Policy& operator=(Policy&&) noexcept;
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;
  ~Policy();

  /// Any matching deny wins; else most set axes, then priority, then the earlier rule; else the
  /// default.
  [[nodiscard]] Verdict decide(const Call& call) const noexcept;
  [[nodiscard]] std::span<const Rule> rules() const noexcept;
  [[nodiscard]] Action default_action() const noexcept;
  /// RFC 8785 form of the parsed set (policy.md); who needs its digest hashes it.
  [[nodiscard]] std::string canonical_form() const;

 private:
  friend class PolicyBuilder;
  struct Index;
  explicit Policy(std::unique_ptr<Index> index);
  std::unique_ptr<Index> index_;
};

/// Either `policy` is set and all diagnostics are warnings, or it is not and one at least is an
/// error.
struct Loaded {
  std::optional<Policy> policy;
  std::vector<Diagnostic> diagnostics;
};

/// Who will use the policy: `wrap` refuses a capability axis and a '*' inside a longer name, which
/// could never match a tools/call; `recheck` takes both, with a warning that wrap would not, and a
/// '*' in a name as a literal.
enum class Purpose : std::uint8_t { wrap, recheck };

/// `text` is a whole file, of any bytes. Never throws on input.
Loaded parse_policy(std::string_view text, Purpose purpose);

}  // namespace aegis::policy
