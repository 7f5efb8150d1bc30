// SPDX-License-Identifier: Apache-2.0 OR MIT
// What is guarded in a folder, and that a confined program cannot get around it. Every attack is
// also made in a folder without the guard, where it must succeed.
#include "confine/guard.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "confine/beneath.h"
#include "tests/confine/guard_plan.h"
#include "tests/confine/sandbox.h"

namespace aegis::confine {

TEST_CASE("in a folder with nothing in it every name is watched and none is held") {
  const Scratch folder;
  const GuardPlan plan = planned(folder);
  CHECK(plan.read_only.empty());
  CHECK(plan.self_bound.empty());
  for (const char* name : {".git", "HEAD", ".mcp.json", ".vscode", ".bashrc", ".config/fish"}) {
    CAPTURE(name);
    CHECK(has(plan.absent, name));
  }
  CHECK_FALSE(has(plan.absent, ".ssh"));
}

TEST_CASE(
    "a repository's config, hooks and commondir are read-only, the folder stays where it is") {
  const Scratch folder;
  make_repository(folder);
  const GuardPlan plan = planned(folder);
  CHECK(names_of(plan.self_bound) == Names{".git"});
  CHECK(names_of(plan.read_only) == Names{".git/commondir", ".git/config", ".git/hooks"});
  CHECK(has(plan.absent, ".git/config.worktree"));
  CHECK_FALSE(has(plan.absent, ".git"));
  CHECK(folder.read(".git/commondir") == ".\n");
  CHECK(std::filesystem::is_empty(folder.path(".git/hooks")));
  CHECK(plan.read_only_paths().front() == folder.path(".git/commondir"));
  CHECK(plan.common_dirs.size() == 1);
}

TEST_CASE("a confined program cannot get around what is guarded, and works beside it") {
  struct Row {
    const char* what;
    const char* script;
  };
  constexpr Row kAttacks[] = {
      {"write config", "echo x > .git/config"},
      {"append to config", "echo x >> .git/config"},
      {"rename onto config", "echo x > .git/new && mv -f .git/new .git/config"},
      {"remove config", "rm -f .git/config"},
      {"link over config", "ln -sf /tmp/x .git/config"},
      {"rename config away", "mv .git/config .git/c"},
      {"chmod config", "chmod 777 .git/config"},
      {"a hard link of config", "ln .git/config link"},
      {"mv .git", "mv .git away"},
      {"mv .git into a folder", "mkdir d && mv .git d/"},
      {"remove .git", "rm -rf .git"},
      {"exchange .git", "mkdir other && mv -T .git .git2 && mv -T other .git"},
      {"make a hook", "echo x > .git/hooks/pre-commit"},
      {"rename hooks", "mv .git/hooks .git/h && mkdir .git/hooks"},
      {"remove hooks", "rmdir .git/hooks"},
      {"write commondir", "echo ../evil > .git/commondir"},
      {"rename onto commondir", "echo ../evil > .git/n && mv -f .git/n .git/commondir"},
      {"remove commondir", "rm -f .git/commondir"},
      {"write .mcp.json", "echo x > .mcp.json"},
      {"rename onto .mcp.json", "echo x > n && mv -f n .mcp.json"},
      {"remove .mcp.json", "rm -f .mcp.json"},
      {"make a task", "echo x > .vscode/tasks.json"},
      {"rename .vscode", "mv .vscode v"},
      {"remove the link .claude", "rm -f .claude"},
      {"another link .claude", "ln -sfnT elsewhere .claude"},
      {"rename the link .claude", "mv .claude c"},
      {"write what .claude leads to", "echo x > conf/claude/settings.json"},
      {"write through .claude", "echo x > .claude/settings.json"},
      {"rename above what .claude leads to", "mv conf c"},
      {"write what core.hooksPath leads to", "echo x > tools/hooks/pre-commit"},
      {"rename above core.hooksPath", "mv tools t"},
      {"write what the config includes", "echo x > shared.gitconfig"},
      {"write a nested fish config", "echo x > .config/fish/config.fish"},
      {"rename .config", "mv .config c"},
      {"a worktree's commondir", "echo x > .git/worktrees/w/commondir"},
      {"rename a worktree", "mv .git/worktrees/w .git/worktrees/v"},
      {"rename worktrees", "mv .git/worktrees .git/v"},
      {"a worktree's own config", "echo x > .git/worktrees/w/config.worktree"},
      {"the main worktree's own config", "echo x > .git/config.worktree"},
  };
  constexpr Row kWork[] = {
      {"files", "echo x > file && mv file g && rm g"},
      {"the index", "echo x > .git/index.lock && mv .git/index.lock .git/index"},
      {"objects", "mkdir .git/objects/aa && echo x > .git/objects/aa/bb"},
      {"HEAD", "echo x > .git/HEAD.lock && mv .git/HEAD.lock .git/HEAD"},
      {"reading what is guarded", "cat .git/config .mcp.json .claude/settings.json"},
      {"beside a nested one", "echo x > .config/other && rm .config/other"},
  };
  const auto fill = [](const Scratch& folder) {
    make_repository(folder);
    folder.write(".git/config",
                 "[core]\n\thooksPath = tools/hooks\n[include]\n\tpath = ../shared.gitconfig\n"
                 "[extensions]\n\tworktreeConfig = true\n");
    folder.write("shared.gitconfig", "");
    folder.write("tools/hooks/keep", "");
    folder.write(".git/worktrees/w/commondir", "../..\n");
    folder.write(".mcp.json", "{}");
    folder.write(".vscode/settings.json", "{}");
    folder.write("conf/claude/settings.json", "{}");
    std::filesystem::create_directory_symlink("conf/claude", folder.path(".claude"));
    folder.write(".config/fish/config.fish", "");
  };
  if (!has_tier(Tier::full)) return;
  for (const Row& row : kAttacks) {
    CAPTURE(row.what);
    const Scratch bare;
    fill(bare);
    std::filesystem::create_directory(bare.path(".git/hooks"));
    bare.write(".git/commondir", ".\n");
    CHECK(succeeds(run_in(bare, row.script, nullptr)));
    const Scratch guarded;
    fill(guarded);
    const GuardPlan plan = planned(guarded);
    CHECK_FALSE(succeeds(run_in(guarded, row.script, &plan)));
    CHECK(guarded.read(".git/commondir") == ".\n");
    CHECK(guarded.read(".mcp.json") == "{}");
    CHECK(guarded.read(".claude/settings.json") == "{}");
  }
  for (const Row& row : kWork) {
    CAPTURE(row.what);
    const Scratch guarded;
    fill(guarded);
    const GuardPlan plan = planned(guarded);
    CHECK(succeeds(run_in(guarded, row.script, &plan)));
  }
}

TEST_CASE("a link is held itself, and what it leads to when that lies in the folder") {
  const Scratch folder;
  folder.write("conf/a/settings.json", "{}");
  std::filesystem::create_directory_symlink("conf/a", folder.path(".claude"));
  std::filesystem::create_directory_symlink("/usr/share", folder.path(".vscode"));
  std::filesystem::create_symlink("nowhere/mcp.json", folder.path(".mcp.json"));
  std::filesystem::create_directory_symlink("b", folder.path(".idea"));
  std::filesystem::create_directory_symlink(folder.path("conf"), folder.path("b"));
  const GuardPlan plan = planned(folder);
  CHECK(names_of(plan.read_only) == Names{".claude", ".idea", ".mcp.json", ".vscode", "b", "conf"});
  CHECK(names_of(plan.self_bound).empty());  // conf/a lies in conf
  CHECK(has(plan.absent, "nowhere/mcp.json"));
}

TEST_CASE("a link in a circle, or to a place that cannot be judged, is refused") {
  const Scratch folder;
  std::filesystem::create_symlink(".mcp.json", folder.path(".mcp.json"));
  CHECK(refused(folder).find(folder.path(".mcp.json") + ": Too many levels") != std::string::npos);
  std::filesystem::remove(folder.path(".mcp.json"));
  std::filesystem::create_symlink("a/../b", folder.path(".mcp.json"));
  CHECK(refused(folder).find("cannot be judged") != std::string::npos);
}

TEST_CASE("a .git file is held, and the git folder that it names is guarded where it lies inside") {
  const Scratch folder;
  make_repository(folder, "real/git");
  folder.write("real/git/worktrees/one/HEAD", "");
  folder.write(".git", "gitdir: real/git\n");
  const GuardPlan plan = planned(folder);
  CHECK(has(names_of(plan.read_only), ".git"));
  CHECK(has(names_of(plan.read_only), "real/git/config"));
  CHECK(has(names_of(plan.self_bound), "real"));
  CHECK(has(names_of(plan.self_bound), "real/git"));
  CHECK(has(plan.absent, "real/git/worktrees/one/commondir"));

  const Scratch outside;
  outside.write(".git", "gitdir: /somewhere/else\n");
  CHECK(names_of(planned(outside).read_only) == Names{".git"});
}

TEST_CASE(
    "a git folder that is the root is guarded as one, and one that is not cannot become one") {
  const Scratch bare;
  make_repository(bare, ".");
  const GuardPlan plan = planned(bare);
  CHECK(names_of(plan.read_only) == Names{"commondir", "config", "hooks"});
  CHECK_FALSE(has(plan.absent, "HEAD"));
  CHECK(has(plan.absent, ".git"));

  const Scratch other;
  other.write("HEAD", "ref: refs/heads/main\n");
  CHECK(names_of(planned(other).read_only) == Names{"HEAD"});
}

TEST_CASE("a commondir that leads elsewhere has that place guarded too") {
  const Scratch folder;
  make_repository(folder);
  make_repository(folder, "common");
  folder.write(".git/commondir", "../common\n");
  const GuardPlan plan = planned(folder);
  CHECK(has(names_of(plan.read_only), "common/config"));
  CHECK(has(names_of(plan.self_bound), "common"));
  CHECK(folder.read("common/commondir") == ".\n");
}

TEST_CASE("core.hooksPath that is the folder itself is refused, for it cannot be guarded") {
  const Scratch folder;
  make_repository(folder);
  folder.write(".git/config", "[core]\nhooksPath = .\n");
  CHECK(refused(folder).find("core.hooksPath is this folder itself") != std::string::npos);
}

TEST_CASE("the user's own configuration counts, and the home folder has names of its own") {
  const Scratch folder;
  make_repository(folder);
  const Scratch home;
  home.write(".gitconfig", "[core]\n\thooksPath = .githooks\n");
  CHECK(has(planned(folder, home.path("")).absent, ".githooks"));
  home.write(".ssh/config", "");
  const GuardPlan plan = planned(home, home.path(""));
  CHECK(has(names_of(plan.read_only), ".ssh"));
  CHECK(has(names_of(plan.read_only), ".gitconfig"));
  CHECK(has(plan.absent, ".config/systemd"));

  const Scratch above;
  above.write("user/.ssh/config", "");
  CHECK(has(names_of(planned(above, above.path("user")).read_only), "user/.ssh"));
  CHECK(has(planned(above, above.path("user")).absent, "user/.bashrc"));
}

TEST_CASE("another name of a guarded file is told") {
  const Scratch folder;
  folder.write(".mcp.json", "{}");
  REQUIRE(::link(folder.path(".mcp.json").c_str(), folder.path("other").c_str()) == 0);
  const GuardPlan plan = planned(folder);
  REQUIRE(plan.notes.size() == 1);
  CHECK(plan.notes.front().find("hard link") != std::string::npos);
}

TEST_CASE("a name of a kind that nobody expects is held without being opened") {
  const Scratch folder;
  REQUIRE(::mkfifo(folder.path(".mcp.json").c_str(), 0600) == 0);
  std::filesystem::create_directories(folder.path(".git"));
  REQUIRE(::mkfifo(folder.path(".git/config").c_str(), 0600) == 0);
  REQUIRE(::mkfifo(folder.path(".git/commondir").c_str(), 0600) == 0);
  const GuardPlan plan = planned(folder);
  CHECK(has(names_of(plan.read_only), ".mcp.json"));
  CHECK(has(names_of(plan.read_only), ".git/config"));
  CHECK(plan.common_dirs.empty());
}

TEST_CASE("git goes on working beside the guard, but for its configuration") {
  if (std::system("command -v git > /dev/null") != 0) {  // NOLINT(cert-env33-c): a fixed text
    std::printf("skipped: guard: git is not installed\n");
    return;
  }
  if (!has_tier(Tier::full)) return;
  const Scratch folder;
  const std::string git =
      "export HOME=/nonexistent GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a "
      "GIT_COMMITTER_EMAIL=a@b; set -e; ";
  // Made inside too: what it makes is what a repository is.
  REQUIRE(
      succeeds(run_in(folder, git + "git init -q . && git commit -q --allow-empty -m 1", nullptr)));
  const GuardPlan plan = planned(folder);
  const Ran work =
      run_in(folder,
             git +
                 "echo x > f; git add f; git commit -q -m 2; git checkout -q -b other; "
                 "git worktree add -q tree -b third; git -C tree status -s; "
                 "git stash list; git gc -q; git tag v1; git status -s; git fsck",
             &plan);
  CHECK(work.errors == "");
  CHECK(succeeds(work));
  CHECK_FALSE(succeeds(run_in(folder, git + "git remote add o /x", &plan)));
  // The commondir that stays until the end changes nothing for the host either.
  const std::string status = "git -C '" + folder.path("") + "' log -1 --format=%s third -- > '" +
                             folder.path("out") + "' 2>&1";
  CHECK(std::system(status.c_str()) == 0);  // NOLINT(cert-env33-c): a fixed text
  CHECK(folder.read("out") == "2\n");
}

TEST_CASE("a path of a configuration is taken apart without asking the file system") {
  struct Row {
    const char* folder;
    const char* written;
    const char* expected;  // null: outside
  };
  constexpr Row kRows[] = {
      {"", "a/b", "a/b"},
      {".git", "../x", "x"},
      {"a/b", "../../x//y/", "x/y"},
      {".git", "./x", ".git/x"},
      {".git", "..", ""},
      {".git", "../..", nullptr},
      {".git", "../../../etc", nullptr},
      {"", "/root/x", "x"},
      {"", "/root", ""},
      {"", "/rooted", nullptr},
      {".git", "../../root/x", "x"},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.written);
    const std::optional<Place> place = place_within("/root", row.folder, row.written);
    REQUIRE(place);
    CHECK(place->name.has_value() == (row.expected != nullptr));
    if (row.expected != nullptr) CHECK(place->name.value_or("?") == row.expected);
  }
  CHECK_FALSE(place_within("/root", "", "a/../b"));
  CHECK_FALSE(place_within("/root", "", "/root/../b"));
}

TEST_CASE("a way on the host is gone until it comes into the folder, through links and ..") {
  const Scratch world;
  world.write("in/a/b", "");
  world.write("out/file", "");
  std::filesystem::create_directory_symlink("../in", world.path("out/back"));
  std::filesystem::create_directory_symlink("loop", world.path("out/loop"));
  struct Row {
    const char* path;
    const char* expected;  // null: it never comes there
  };
  constexpr Row kRows[] = {
      {"in", ""},
      {"in/x/../y", "x/../y"},
      {"out/back/a/b", "a/b"},
      {"out/back/../in/c", "c"},
      {"./out/.././in/./a", "./a"},
      {"in/../out/file", nullptr},
      {"out/missing/../../in", nullptr},
      {"out/file/../../in", nullptr},
      {"out/loop/x", nullptr},
      {"inner", nullptr},
      {"../../../../../../..", nullptr},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.path);
    const std::optional<std::string> rest = way_into(world.path("in"), world.path(row.path));
    REQUIRE(rest.has_value() == (row.expected != nullptr));
    if (row.expected != nullptr) CHECK(rest.value_or("?") == row.expected);
  }
}

TEST_CASE("a path to a guarded name, in it, or on the way to it is known by its words") {
  for (const char* path : {".git",
                           ".git/hooks",
                           "sub/.VSCode/tasks.json",
                           ".mcp.json",
                           ".config",
                           ".config/fish/config.fish",
                           "a/b/.bashrc"}) {
    CAPTURE(path);
    CHECK(leads_to_guarded(path));
  }
  for (const char* path :
       {"", "notes", "git", ".github", ".config/app", "HEAD", "hooks", ".gitx/a"}) {
    CAPTURE(path);
    CHECK_FALSE(leads_to_guarded(path));
  }
}

}  // namespace aegis::confine
