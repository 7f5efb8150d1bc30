// SPDX-License-Identifier: Apache-2.0 OR MIT
// A home folder with programs in it, and what a profile grants to a command that is started there.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "confine/profile.h"
#include "tests/wrap/scratch.h"

namespace aegis::confine {

namespace fs = std::filesystem;
using aegis::test::Scratch;

using Words = std::vector<std::string>;
constexpr Rights kRead{};
constexpr Rights kWrite{.may_write = true, .may_execute = false};
constexpr Rights kExec{.may_write = false, .may_execute = true};
constexpr Rights kBoth{.may_write = true, .may_execute = true};

inline Profile parsed(std::string_view text) {
  auto profile = parse_profile("test", text);
  REQUIRE_MESSAGE(profile.is_ok(), describe(profile.error()));
  return std::move(profile).value();
}

inline std::string refused(std::string_view text) {
  const auto profile = parse_profile("test", text);
  CAPTURE(text);
  REQUIRE_FALSE(profile.is_ok());
  return profile.error().doing;
}

inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// A user's home with things in it, and a command started from there.
struct Home : Scratch {
  Invocation invocation{.argv = {},
                        .program = {},
                        .home = folder(),
                        .real_home = folder(),
                        .working_directory = folder(),
                        .environment = {"PATH=" + path("bin"), "HOME=" + folder()}};

  std::string file(const std::string& name, std::string_view text = "") const {
    fs::create_directories(fs::path(path(name)).parent_path());
    return write(name, text);
  }
  std::string program(const std::string& name, std::string_view text = "") const {
    std::string at = file(name, text);
    REQUIRE(::chmod(at.c_str(), 0755) == 0);
    return at;
  }
  /// What a program may write, or could before.
  void make_writable(const std::string& name) {
    auto resolved = resolve_grant(path(name), kWrite);
    REQUIRE_MESSAGE(resolved.is_ok(), describe(resolved.error()));
    invocation.writable.add(resolved->grant);
    writable.push_back(std::move(resolved).value());
  }
  std::vector<ResolvedPath> writable = {};

  struct Outcome {
    PathGrants paths;
    Words environment;
    Words left_out;
  };
  [[nodiscard]] Result<Outcome> try_out(std::string_view text) const {
    const Command command = AEGIS_TRY(inspect_command(invocation));
    Expanded it = AEGIS_TRY(expand(parsed(text), invocation, command));
    for (const ResolvedPath& each : writable)
      it.candidates.push_back({each, "test", "--allow-write"});
    Admitted admitted = AEGIS_TRY(admit(std::move(it.candidates), invocation.writable));
    return Outcome{
        std::move(admitted.paths), std::move(it.environment), std::move(admitted.left_out)};
  }
  [[nodiscard]] Outcome expanded(std::string_view text) const {
    auto outcome = try_out(text);
    REQUIRE_MESSAGE(outcome.is_ok(), describe(outcome.error()));
    return std::move(outcome).value();
  }

  [[nodiscard]] Error failed(std::string_view text) const {
    auto outcome = try_out(text);
    REQUIRE_FALSE(outcome.is_ok());
    return std::move(outcome).error();
  }
  /// Paths below the home, "~" for itself; what lies outside is left out.
  [[nodiscard]] Words granted(std::string_view text) const {
    Words paths;
    for (const PathGrant& each : expanded(text).paths.paths) {
      if (is_within(each.path, folder())) paths.push_back("~" + each.path.substr(folder().size()));
    }
    return paths;
  }
};

}  // namespace aegis::confine
