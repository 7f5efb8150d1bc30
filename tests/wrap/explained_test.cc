// SPDX-License-Identifier: Apache-2.0 OR MIT
// The command line that --explain prints, and what a watched run is refused for. What it comes to
// is tests/sessions/explain_test.py's.
#include "wrap/explained.h"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "tests/wrap/scratch.h"

namespace aegis::wrap {

TEST_CASE("flags are put before the command, which stays as it is") {
  CHECK(command_with({"aegis",
                      "confine",
                      "--explain",
                      "--workspace",
                      "a b",
                      "--",
                      "x",
                      "--explain",
                      "--",
                      "it's"},
                     {"--allow-read", "/o p"}) ==
        "aegis confine --workspace 'a b' --allow-read '/o p' -- x --explain -- 'it'\\''s'");
  CHECK(command_with({"aegis", "wrap", "--confine", "--", "\x1b[2J\n"}, {}) ==
        "aegis wrap --confine -- $'\\x1b[2J\\x0a'");
}

TEST_CASE("a plan becomes a watched one: the host's files, no network, and the kept ones hidden") {
  const test::Scratch scratch;
  const std::string key = scratch.write("key", "k");
  ConfinePlan plan;
  plan.spec.argv = {"x"};
  plan.spec.program = "/bin/true";
  plan.spec.network = confine::Network::unconfined;
  plan.net = {{"a.example", 1}};
  plan.spec.paths.add({{"/usr", {.may_execute = true}, true, {}}, {}});
  plan.spec.paths.add({{"/srv/w", {.may_write = true}, true, {}}, {}});
  const Kept kept{key, scratch.path("not yet/record"), {}};
  REQUIRE(Explained::instead_of(plan, {}, kept));
  REQUIRE(plan.spec.host_view);
  CHECK(plan.spec.network == confine::Network::granted);
  CHECK(plan.net.empty());
  REQUIRE(plan.spec.paths.paths.size() == 1);
  CHECK(plan.spec.paths.paths.front().path == "/srv/w");
  const auto& hidden = plan.spec.host_view->hidden;
  const auto is_hidden = [&hidden](const std::string& path) {
    return std::find(hidden.begin(), hidden.end(), path) != hidden.end();
  };
  CHECK(is_hidden(key));
  CHECK(is_hidden(scratch.path("not yet/record")));
  CHECK(std::is_sorted(hidden.begin(), hidden.end()));

  ConfineRequest weaker;
  weaker.tier = confine::Tier::landlock;
  CHECK_FALSE(Explained::instead_of(plan, weaker, kept));
}

}  // namespace aegis::wrap
