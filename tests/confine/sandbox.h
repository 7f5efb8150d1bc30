// SPDX-License-Identifier: Apache-2.0 OR MIT
// For tests that run something confined: a spec that a shell runs under, a folder that goes away,
// and the program's output, collected.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "confine/child.h"

namespace aegis::confine {

/// Whether this kernel and user can have the tier; says once, on stdout, when not and why.
bool has_tier(Tier tier);

/// A folder of the test's own, gone with it.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] std::string path(std::string_view name) const;
  /// With the folders on the way.
  void write(std::string_view name, std::string_view text) const;
  [[nodiscard]] std::string read(std::string_view name) const;

 private:
  std::string root_;
};

/// Resolved, or the test fails.
ResolvedPath granted(const std::string& path, Rights rights);

/// `/bin/sh -c script` with what system programs need.
Spec shell_spec(Tier tier, std::string script);

struct Ran {
  std::string output;
  std::string errors;
  std::optional<int> status;  // wait status; nothing when it never ran
  SetUp failed = {};
  std::string failure;  // what could not be done; empty when it ran
};
/// Runs it to its end and to the end of its pipes.
Ran run_confined(Spec spec);

/// One that goes on running.
class Running {
 public:
  explicit Running(Spec spec);
  /// Waits for its first byte of output.
  void await_output() const;
  std::optional<Child> child;

 private:
  Fd output_;
};

}  // namespace aegis::confine
