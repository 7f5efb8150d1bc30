// SPDX-License-Identifier: Apache-2.0 OR MIT
// What one run leaves in a folder that it may write widens nothing that the next one reaches.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/confine/profile_home.h"

namespace {

using namespace aegis::confine;  // NOLINT(google-build-using-namespace): a test of one header

constexpr std::string_view kAll = "exec {program}\nexec {script}\nwrite? {cache}\nexec? /usr\n";

/// A workspace, and beside it a secret that nobody granted.
struct Planted : Home {
  Planted() {
    file("ws/server.js");
    file(".ssh/id");
    file(".ssh/lib/id");
    make_writable("ws");
  }
  void run(Words argv) {
    invocation.program = argv.front().front() == '/' ? argv.front() : "/usr/bin/env";
    invocation.argv = std::move(argv);
    invocation.working_directory = path("ws");
  }
  void link(const std::string& target, const std::string& name) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    fs::create_symlink(target, path(name));
  }
  [[nodiscard]] std::string left_out() const {
    std::string all;
    for (const std::string& each : expanded(kAll).left_out)
      all.append(each).append("\n");
    return all;
  }
  /// The error of a start that is refused, which names the file that was planted.
  void check_refused(const std::string& planted, const std::string& outside) const {
    const Error error = failed(kAll);
    CAPTURE(error.doing);
    CHECK(error.code == 0);
    CHECK(has(error.doing, path(planted) + ", which leads there"));
    CHECK(has(error.doing, "--allow-exec " + path(outside)));
  }
  /// It starts, with its workspace alone, and says what it did not grant.
  void check_left_out(const std::string& planted, const std::string& outside) const {
    CHECK(granted(kAll) == Words{"~/ws"});
    CHECK(has(left_out(), path(outside) + " is not granted: " + path(planted)));
  }
};

TEST_CASE_FIXTURE(Planted, "packages that are a link out of the workspace are left out") {
  run({"node", "server.js"});
  link(path(".ssh"), "ws/node_modules");
  check_left_out("ws/node_modules", ".ssh");
}

TEST_CASE_FIXTURE(Planted,
                  "a guess of what nobody is granted does not keep the next run from starting") {
  run({"node", "server.js"});
  link("/proc", "ws/node_modules");
  CHECK(granted(kAll) == Words{"~/ws"});
}

TEST_CASE_FIXTURE(Planted, "packages that are a link within it are not") {
  run({"node", "server.js"});
  file("ws/deps/x/i.js");
  link("deps", "ws/node_modules");
  CHECK(granted(kAll) == Words{"~/ws"});
  CHECK(left_out().empty());
}

TEST_CASE_FIXTURE(Planted, "packages above a workspace that the user keeps there are granted") {
  run({"node", "server.js"});
  file("packages/x/i.js");
  link("packages", "node_modules");
  CHECK(granted(kAll) == Words{"~/packages", "~/ws"});
}

TEST_CASE_FIXTURE(Planted, "an installed package that is a link out is not run") {
  file("ws/node_modules/.bin/x");
  file("secret/node_modules/pkg/i.js");
  link(path("secret/node_modules/pkg"), "ws/node_modules/pkg");
  run({"node", "node_modules/pkg/i.js"});
  check_refused("ws/node_modules/pkg", "secret/node_modules/pkg/i.js");
}

TEST_CASE_FIXTURE(Planted, "a script that is a link out is refused, whichever component it is") {
  file(".ssh/code/a.js");
  link(path(".ssh/code/a.js"), "ws/a.js");
  run({"node", "a.js"});
  check_refused("ws/a.js", ".ssh/code/a.js");
  link(path(".ssh/code"), "ws/code");
  run({"node", "code/a.js"});
  check_refused("ws/code", ".ssh/code/a.js");
}

TEST_CASE_FIXTURE(Planted, "a link to what is granted anyway starts") {
  link("/usr/share/none.js", "ws/none.js");
  link("/usr/bin/env", "ws/tool");
  run({path("ws/tool")});
  CHECK(granted(kAll) == Words{"~/ws"});
}

TEST_CASE_FIXTURE(Planted,
                  "a program that is a link out is refused, and what is around it stays out") {
  program(".ssh/bin/tool");
  file(".ssh/pyvenv.cfg");
  link(path(".ssh/bin/tool"), "ws/tool");
  run({path("ws/tool")});
  check_refused("ws/tool", ".ssh/bin/tool");
  // By a second link it ends where everything may: what it passes through stays out all the same.
  fs::remove(path(".ssh/bin/tool"));
  link("/usr/bin/env", ".ssh/bin/tool");
  check_left_out("ws/tool", ".ssh");
}

TEST_CASE_FIXTURE(Planted, "a script of the workspace names no interpreter elsewhere") {
  program(".ssh/sh");
  program("bin/tool");
  for (const char* way : {".ssh/sh", "ws/../.ssh/sh"}) {
    run({program("ws/tool", "#!" + path(way) + "\n")});
    check_refused("ws/tool", ".ssh/sh");
  }
  run({program("ws/tool", "#!/usr/bin/env tool\n")});
  check_refused("ws/tool", "bin/tool");
  // Nor by a second one that the first names.
  program("bin/first", "#!" + path(".ssh/sh") + "\n");
  run({program("ws/tool", "#!" + path("bin/first") + "\n")});
  CHECK(has(failed(kAll).doing, path("ws/tool")));
  // What the user named himself may name what it likes.
  run({path("bin/first")});
  CHECK(granted("exec {program}") == Words{"~/.ssh/sh", "~/bin/first", "~/ws"});
}

TEST_CASE_FIXTURE(Planted, "pyvenv.cfg of the workspace names no home elsewhere") {
  link("/usr/bin/env", "ws/.venv/bin/python");
  file(".pyenv/bin/x");
  file(".pyenv/lib/x");
  run({path("ws/.venv/bin/python")});
  file("ws/.venv/pyvenv.cfg", "home = " + path(".pyenv/bin") + "\n");
  check_left_out("ws/.venv/pyvenv.cfg", ".pyenv/bin");
  check_left_out("ws/.venv/pyvenv.cfg", ".pyenv/lib");
  // One that leads out by a link of its own.
  link(path(".ssh"), "ws/fake/lib");
  file("ws/fake/bin/x");
  file("ws/.venv/pyvenv.cfg", "home = " + path("ws/fake/bin") + "\n");
  check_left_out("ws/fake/lib", ".ssh");
  // What it names may be what cannot be granted, or not be there: then it is left out, and no more.
  file("ws/.venv/pyvenv.cfg", "home = /var/bin\n");
  CHECK(expanded(kAll).paths.find("/var/lib") == nullptr);
  file("ws/.venv/pyvenv.cfg", "home = /usr/bin\n");
  CHECK(granted(kAll) == Words{"~/ws"});
  CHECK(left_out().empty());
}

TEST_CASE_FIXTURE(Planted, "a python elsewhere is refused with all that it needs") {
  program(".pyenv/3.12/bin/python3.12");
  file(".pyenv/3.12/lib/x");
  link(path(".pyenv/3.12/bin/python3.12"), "ws/.venv/bin/python");
  file("ws/.venv/pyvenv.cfg", "home = " + path(".pyenv/3.12/bin") + "\n");
  run({path("ws/.venv/bin/python")});
  const std::string home = path(".pyenv/3.12");
  CHECK(has(failed(kAll).doing,
            ": --allow-exec " + home + "/bin/python3.12 --allow-exec " + home +
                "/bin --allow-exec " + home + "/lib"));
  const std::string granted_too = std::string(kAll) + "exec " + home + "\n";
  CHECK(granted(granted_too) == Words{"~/.pyenv/3.12", "~/ws"});
  CHECK(expanded(granted_too).left_out.empty());
}

TEST_CASE_FIXTURE(Planted, "pyvenv.cfg that is a link into the workspace is the workspace's word") {
  link("/usr/bin/env", "venv/bin/python");
  file("ws/cfg", "home = " + path("other/bin") + "\n");
  link(path("ws/cfg"), "venv/pyvenv.cfg");
  file("other/bin/x");
  run({path("venv/bin/python")});
  CHECK(granted(kAll) == Words{"~/venv", "~/ws"});
  CHECK(has(left_out(), path("other/bin") + " is not granted: " + path("ws/cfg")));
}

TEST_CASE_FIXTURE(Planted, "a project whose mark is gone is not the one around it") {
  file("package.json");
  file("code/package.json");
  file("code/other/secret");
  file("code/mine/src/s.js");
  invocation.writable = {};
  writable.clear();
  run({"node", path("code/mine/src/s.js")});
  CHECK(granted("exec {script}") == Words{"~/code"});
  make_writable("code/mine");
  CHECK(granted("exec {script}") == Words{"~/code/mine"});
}

TEST_CASE_FIXTURE(Planted, "a runtime that brings a writable cache is the user's word alone") {
  constexpr std::string_view kCached = "write? {cache}\n";
  file(".npm/x");
  file(".cache/uv/x");
  file("tools/npx-cli.js");
  program("tools/uvx");
  link(path("tools/uvx"), "ws/tool");
  run({path("ws/tool")});
  CHECK(granted(kCached) == Words{"~/ws"});
  run({program("ws/tool2", "#!" + path("tools/uvx") + "\n")});
  CHECK(granted(kCached) == Words{"~/ws"});
  link(path("tools/npx-cli.js"), "ws/a.js");
  run({"node", "a.js"});
  CHECK(granted(kCached) == Words{"~/ws"});
  // And by his it is had.
  run({"node", path("tools/npx-cli.js")});
  CHECK(granted(kCached) == Words{"~/.npm", "~/ws"});
}

TEST_CASE_FIXTURE(Planted, "what npx has downloaded leads nowhere, whichever session wrote it") {
  file(".npm/_npx/1/node_modules/a/i.js");
  file(".npm/_npx/2/node_modules/a/i.js");
  file("secret/i.js");
  link("../../2/node_modules/a", ".npm/_npx/1/node_modules/b");
  link(path("secret"), ".npm/_npx/1/node_modules/c");
  for (const std::string& each : written_paths(Profile{}, invocation)) {
    if (const auto resolved = resolve_grant(each, kWrite)) invocation.writable.add(resolved->grant);
  }
  run({"node", path(".npm/_npx/1/node_modules/b/i.js")});
  CHECK(granted("exec {script}") == Words{"~/.npm/_npx/2/node_modules", "~/ws"});
  run({"node", path(".npm/_npx/1/node_modules/c/i.js")});
  CHECK(has(failed("exec {script}").doing, path(".npm/_npx/1/node_modules/c")));
}

TEST_CASE_FIXTURE(Planted, "a shim's manager is found by where the shim is, not by what it says") {
  file(".pyenv/libexec/pyenv");
  file("ws/.python-version", "../../.ssh\n");
  run({program(".pyenv/shims/python3", "#!/bin/sh\n")});
  CHECK(granted("exec {program}") == Words{"~/.pyenv", "~/ws"});
  link(path(".pyenv/shims/python3"), "ws/python3");
  run({path("ws/python3")});
  check_refused("ws/python3", ".pyenv/shims/python3");
}

TEST_CASE_FIXTURE(Planted, "a profile's own paths go through no link of the workspace") {
  link(path(".ssh"), "ws/data");
  run({"true"});
  CHECK(has(failed("read ~/ws/data").doing, "--allow-read " + path(".ssh")));
  CHECK(granted("read? ~/ws/data") == Words{"~/ws"});
  CHECK(has(failed("write ~/ws/data").doing, "--allow-write " + path(".ssh")));
}

TEST_CASE_FIXTURE(Planted, "a guess in a folder that may be written makes no edge in it") {
  file("ws/sub/package.json");
  file("ws/sub/s.js");
  file("ws/node_modules/x/i.js");
  run({"node", "sub/s.js"});
  const PathGrants paths = expanded("exec {script}\nexec /usr\n").paths;
  REQUIRE(paths.find(path("ws/sub/s.js")) != nullptr);
  CHECK(paths.find(path("ws/sub/s.js"))->path == path("ws"));
  CHECK(paths.find(path("ws/sub/s.js"))->rights == kBoth);
}

}  // namespace
