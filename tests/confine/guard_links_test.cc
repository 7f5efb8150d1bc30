// SPDX-License-Identifier: Apache-2.0 OR MIT
// What links in a guarded folder lead to: a hook that is a link to a script of the project.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "tests/confine/guard_plan.h"
#include "tests/confine/sandbox.h"

namespace aegis::confine {
namespace {

void link_to(const Scratch& folder, const std::string& name, const std::string& target) {
  std::filesystem::create_directories(std::filesystem::path(folder.path(name)).parent_path());
  std::filesystem::create_symlink(target, folder.path(name));
}

}  // namespace

TEST_CASE("what a link in a guarded folder leads to is guarded with it, at any depth") {
  const Scratch folder;
  make_repository(folder);
  folder.write("scripts/pc.sh", "");
  folder.write("tasks/t.json", "");
  folder.write("deep/x", "");
  folder.write("chain/end", "");
  link_to(folder, ".git/hooks/pre-commit", "../../scripts/pc.sh");
  link_to(folder, ".git/hooks/pre-push", "../../scripts/not-yet.sh");
  link_to(folder, ".vscode/tasks", "../tasks");
  link_to(folder, ".vscode/again", ".");
  link_to(folder, "tasks/more", "../deep/x");
  link_to(folder, ".claude/a/b/hook", folder.path("chain/link"));
  link_to(folder, "chain/link", "end");
  link_to(folder, ".idea/out", "/usr/share");
  const GuardPlan plan = planned(folder);
  const Names held = names_of(plan.read_only);
  for (const char* name : {"scripts/pc.sh", "tasks", "deep/x", "chain/link", "chain/end"}) {
    CAPTURE(name);
    CHECK(has(held, name));
  }
  CHECK(has(plan.absent, "scripts/not-yet.sh"));
  CHECK(has(names_of(plan.self_bound), "scripts"));
  CHECK_FALSE(has(held, ".git/hooks/pre-commit"));  // in what is read-only as a whole
}

TEST_CASE("a confined program cannot write the script that a hook links to, nor around it") {
  if (!has_tier(Tier::full)) return;
  const auto fill = [](const Scratch& folder) {
    make_repository(folder);
    folder.write("scripts/pc.sh", "true\n");
    link_to(folder, ".git/hooks/pre-commit", "../../scripts/pc.sh");
  };
  for (const char* script : {"echo x >> scripts/pc.sh",
                             "echo x > n && mv -f n scripts/pc.sh",
                             "mv scripts s && mkdir scripts"}) {
    CAPTURE(script);
    const Scratch bare;
    fill(bare);
    CHECK(succeeds(run_in(bare, script, nullptr)));
    const Scratch guarded;
    fill(guarded);
    const GuardPlan plan = planned(guarded);
    CHECK_FALSE(succeeds(run_in(guarded, script, &plan)));
    CHECK(guarded.read("scripts/pc.sh") == "true\n");
  }
}

TEST_CASE("a link in a guarded folder that cannot be followed or guarded is refused, and named") {
  const Scratch folder;
  link_to(folder, ".vscode/project", "..");
  CHECK(refused(folder).find(folder.path(".vscode/project") + ": it leads to the folder itself") !=
        std::string::npos);
  std::filesystem::remove(folder.path(".vscode/project"));
  link_to(folder, ".vscode/a", "b");
  link_to(folder, ".vscode/b", "a");
  CHECK(refused(folder).find("Too many levels") != std::string::npos);
}

TEST_CASE("a guarded folder with more in it than can be looked at is refused") {
  const Scratch folder;
  for (int i = 0; i < 9; ++i) {
    const std::string each = ".claude/" + std::to_string(i);
    std::filesystem::create_directories(folder.path(each));
    for (int j = 0; j < 8192; ++j)
      REQUIRE(::mknod(folder.path(each + "/" + std::to_string(j)).c_str(), S_IFREG | 0600, 0) == 0);
  }
  CHECK(refused(folder).find("too much in the guarded folders") != std::string::npos);
  std::filesystem::remove_all(folder.path(".claude/0"));
  std::filesystem::remove_all(folder.path(".claude/1"));
  CHECK(refused(folder).empty());
}

TEST_CASE("another name of a file in a guarded folder is told, and of many no more than some") {
  const Scratch folder;
  folder.write("scripts/pc.sh", "");
  std::filesystem::create_directories(folder.path(".git/hooks"));
  const auto add = [&folder](const std::string& name) {
    const std::string hook = folder.path(".git/hooks/" + name);
    REQUIRE(::link(folder.path("scripts/pc.sh").c_str(), hook.c_str()) == 0);
  };
  add("pre-commit");
  const GuardPlan one = planned(folder);
  REQUIRE(one.notes.size() == 1);
  CHECK(one.notes.front().find(".git/hooks/pre-commit has another name") != std::string::npos);
  for (int i = 0; i < 40; ++i)
    add("x" + std::to_string(i));
  const GuardPlan many = planned(folder);
  CHECK(many.notes.size() == 17);
  CHECK(many.notes.back().find("and more guarded files") == 0);
}

TEST_CASE("core.hooksPath that is .git/hooks, and missing, is made and not watched") {
  const Scratch folder;
  make_repository(folder);
  folder.write(".git/config", "[core]\nhooksPath = .git/hooks\n");
  const GuardPlan plan = planned(folder);
  CHECK(has(names_of(plan.read_only), ".git/hooks"));
  CHECK_FALSE(has(plan.absent, ".git/hooks"));
}

}  // namespace aegis::confine
