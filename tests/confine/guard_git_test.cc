// SPDX-License-Identifier: Apache-2.0 OR MIT
// Configuration outside of the folder that has git take hooks, or more configuration, from it.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "confine/beneath.h"
#include "tests/confine/guard_plan.h"
#include "tests/confine/sandbox.h"

namespace aegis::confine {
namespace {

GuardPlan planned_in(const Scratch& world, const std::string& folder) {
  Result<GuardPlan> plan = plan_guard({world.path(folder), world.path("home")});
  if (!plan) FAIL(describe(plan.error()));
  return std::move(plan).value();
}

void link_to(const Scratch& world, const std::string& name, const std::string& target) {
  std::filesystem::create_directories(std::filesystem::path(world.path(name)).parent_path());
  std::filesystem::create_symlink(target, world.path(name));
}

bool holds(const GuardPlan& plan, const char* name) {
  return has(names_of(plan.read_only), name);
}

}  // namespace

TEST_CASE("the repository of a linked worktree or submodule, outside, decides on its hooks") {
  const Scratch world;
  make_repository(world, "main/.git");
  world.write("main/.git/config", "[core]\nhooksPath = .githooks\n[include]\npath = ../more\n");
  world.write("main/more", "[core]\nhooksPath = tools/hooks\n");
  world.write("main/.git/worktrees/wt/commondir", "../..\n");
  world.write("main/.git/worktrees/wt/config.worktree", "[core]\nhooksPath = own\n");
  world.write("wt/.git", "gitdir: " + world.path("main/.git/worktrees/wt") + "\n");
  world.write("wt/.githooks/pre-commit", "");
  world.write("wt/tools/hooks/pre-commit", "");
  world.write("wt/scripts/push.sh", "");
  link_to(world, "main/.git/hooks/pre-push", world.path("wt/scripts/push.sh"));
  const GuardPlan plan = planned_in(world, "wt");
  for (const char* name : {".git", ".githooks", "tools/hooks", "scripts/push.sh"}) {
    CAPTURE(name);
    CHECK(holds(plan, name));
  }
  CHECK(has(plan.absent, "own"));
  CHECK(world.read("main/.git/config").find("hooksPath") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(world.path("main/.git/config.worktree")));
}

TEST_CASE("a repository above takes its hooks from the folder") {
  const Scratch world;
  make_repository(world, "main/.git");
  world.write("main/.git/config", "[core]\nhooksPath = sub/hooks\n");
  world.write("main/sub/hooks/pre-commit", "");
  world.write("main/sub/deep/x", "");
  CHECK(holds(planned_in(world, "main/sub"), "hooks"));
  const Result<GuardPlan> itself = plan_guard({world.path("main/sub/hooks")});
  REQUIRE_FALSE(itself);
  CHECK(describe(itself.error()).find("core.hooksPath is this folder itself") != std::string::npos);
}

TEST_CASE("a configuration that is a link to outside, or includes what is outside, is read") {
  const Scratch world;
  make_repository(world, "ws/.git");
  std::filesystem::remove(world.path("ws/.git/config"));
  world.write("conf/config", "[core]\nhooksPath = one\n");
  link_to(world, "ws/.git/config", world.path("conf/config"));
  CHECK(has(planned_in(world, "ws").absent, "one"));
  std::filesystem::remove(world.path("ws/.git/config"));
  world.write("ws/.git/config", "[include]\npath = ../../conf/config\n");
  CHECK(has(planned_in(world, "ws").absent, "one"));
  std::filesystem::remove_all(world.path("ws/.git"));
  make_repository(world, "git");
  world.write("git/config", "[core]\nhooksPath = two\n");
  link_to(world, "ws/.git", world.path("git"));
  CHECK(has(planned_in(world, "ws").absent, "two"));
}

TEST_CASE("core.worktree moves the place where a relative core.hooksPath begins") {
  const Scratch world;
  make_repository(world, "ws/.git");
  world.write("ws/.git/config", "[core]\nworktree = ../tree\nhooksPath = hooks\n");
  world.write("ws/tree/hooks/pre-commit", "");
  CHECK(holds(planned_in(world, "ws"), "tree/hooks"));
}

TEST_CASE("the user's configuration is followed through links and what it includes") {
  const Scratch world;
  make_repository(world, "ws/.git");
  world.write("dotfiles/gitconfig", "[include]\npath = ~/more.inc\npath = beside.inc\n");
  link_to(world, "home/.gitconfig", "../dotfiles/gitconfig");
  world.write("home/more.inc", "[core]\nhooksPath = one\n");
  world.write("home/beside.inc",
              "[includeIf \"gitdir:x\"]\npath = " + world.path("ws/abs.inc") + "\n");
  world.write("ws/abs.inc", "[core]\nhooksPath = two\n");
  const GuardPlan plan = planned_in(world, "ws");
  CHECK(has(plan.absent, "one"));
  CHECK(holds(plan, "abs.inc"));
  CHECK(has(plan.absent, "two"));
}

TEST_CASE("what leads out of the folder may come back into it") {
  const Scratch world;
  make_repository(world, "ws/.git");
  world.write("ws/scripts/a.sh", "");
  world.write("ws/hooks/x", "");
  link_to(world, "alias", "ws");
  link_to(world, "far/hop", "../ws/./scripts");
  link_to(world, "ws/.git/hooks/pre-commit", world.path("far/hop/a.sh"));
  world.write("ws/.git/config", "[core]\nhooksPath = " + world.path("far/../alias/hooks") + "\n");
  const GuardPlan plan = planned_in(world, "ws");
  CHECK(holds(plan, "scripts/a.sh"));
  CHECK(holds(plan, "hooks"));
}

TEST_CASE("configuration outside that is too large is refused; what cannot be read is not there") {
  const Scratch world;
  make_repository(world, "ws/.git");
  std::filesystem::create_directories(world.path("home/.gitconfig"));
  CHECK(holds(planned_in(world, "ws"), ".git/config"));
  world.write("home/.config/git/config", std::string((1 << 20) + 1, '#'));
  const Result<GuardPlan> plan = plan_guard({world.path("ws"), world.path("home")});
  REQUIRE_FALSE(plan);
  CHECK(describe(plan.error())
            .find(world.path("home/.config/git/config") + ": it is larger than 1 MiB") !=
        std::string::npos);
}

TEST_CASE("a commit in a linked worktree runs no hook that the program wrote") {
  if (std::system("command -v git > /dev/null") != 0) {  // NOLINT(cert-env33-c): a fixed text
    std::printf("skipped: guard: git is not installed\n");
    return;
  }
  if (!has_tier(Tier::full)) return;
  for (const bool is_guarded : {false, true}) {
    const Scratch world;
    const std::string git = "cd '" + world.path("") +
                            "' && export HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a "
                            "GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; ";
    const std::string make =
        git +
        "git init -q m && cd m && mkdir .githooks && echo '#!/bin/sh' > .githooks/pre-commit && "
        "chmod +x .githooks/pre-commit && git add . && git commit -q -m 1 && "
        "git config core.hooksPath .githooks && git worktree add -q ../wt";
    REQUIRE(std::system(make.c_str()) == 0);  // NOLINT(cert-env33-c): a fixed text
    const GuardPlan plan = planned_in(world, "wt");
    Spec spec = shell_spec(Tier::full, "echo 'echo x > ran' >> .githooks/pre-commit");
    spec.paths.add(granted(world.path("wt"), {.may_write = true}));
    spec.working_directory = world.path("wt");
    if (is_guarded) {
      spec.self_bound = plan.self_bound_paths();
      spec.read_only = plan.read_only_paths();
    }
    CHECK(succeeds(run_confined(std::move(spec))) == !is_guarded);
    const std::string commit = git + "cd wt && git commit -q --allow-empty -m 2";
    CHECK(std::system(commit.c_str()) == 0);  // NOLINT(cert-env33-c): a fixed text
    CHECK(std::filesystem::exists(world.path("wt/ran")) == !is_guarded);
  }
}

}  // namespace aegis::confine
