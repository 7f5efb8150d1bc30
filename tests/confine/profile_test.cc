// SPDX-License-Identifier: Apache-2.0 OR MIT
// The text of profiles, which one is picked, and what it grants to one command.
#include "confine/profile.h"

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

TEST_CASE("lines become grants and variables") {
  const Profile profile = parsed(
      "# a comment\n"
      "read /a b#c  # behind\r\n"
      "\twrite? ~/x\n"
      "exec {program}\n"
      "\n"
      "env PATH\n"
      "env LC_*\n"
      "env A=b = c\n"
      "offline B=\n"
      "env C=d");
  REQUIRE(profile.paths.size() == 3);
  CHECK(profile.paths[0].path == "/a b#c");
  CHECK(profile.paths[0].rights == kRead);
  CHECK_FALSE(profile.paths[0].may_be_absent);
  CHECK(profile.paths[1].path == "~/x");
  CHECK(profile.paths[1].rights == kWrite);
  CHECK(profile.paths[1].may_be_absent);
  CHECK(profile.paths[1].line == 3);
  CHECK(profile.paths[2].path == "{program}");
  CHECK(profile.paths[2].rights == kExec);
  REQUIRE(profile.environment.size() == 5);
  CHECK_FALSE(profile.environment[0].value);
  CHECK(profile.environment[1].name == "LC_*");
  CHECK(profile.environment[2].value == "b = c");
  CHECK(profile.environment[3].value == "");
  CHECK(profile.environment[3].when == Profile::When::offline);
  CHECK(profile.environment[4].value == "d");
}

TEST_CASE("what a line cannot be is said with its number") {
  struct Row {
    std::string_view text;
    std::string_view says;
  };
  const Row rows[] = {
      {"\n\nallow /x\n", "test:3: expected read, write, exec, env or offline"},
      {"Read /x", "test:1: expected read"},
      {"?", "expected read"},
      {"env? A", "expected read"},
      {"read", "a path is expected"},
      {"read # /x", "a path is expected"},
      {"read x", "a path begins with"},
      {"read ~root/x", "a path begins with"},
      {"read {home}", "expected {program}, {script} or {cache}"},
      {"read {cache}/x", "and nothing with it"},
      {"env", "a variable's name"},
      {"env *", "a variable's name"},
      {"env 1A", "a variable's name"},
      {"env A-B=c", "a variable's name"},
      {"env A*=c", "a variable's name"},
      {"env =c", "a variable's name"},
      {"env \xc3\xa4", "a variable's name"},
      {"offline A", "NAME=VALUE"},
      {std::string_view("read /usr\0/x", 12), "control character"},
      {"read /usr\x1b[m", "control character"},
      {"env A=\x7f", "control character"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    CHECK(has(refused(row.text), row.says));
  }
  CHECK(has(refused(std::string(kMaxProfileSize + 1, '#')), "longer than 64 KiB"));
}

TEST_CASE("every profile that is built in can be read") {
  CHECK(builtin_profiles() == std::vector<std::string_view>{"minimal", "node", "python", "system"});
  for (const std::string_view name : builtin_profiles()) {
    CAPTURE(name);
    const auto text = builtin_profile_text(name);
    REQUIRE(text);
    const Profile profile = parsed(*text);
    CHECK_FALSE(profile.paths.empty());
    Words let_through;
    for (const auto& line : profile.environment) {
      if (!line.value) let_through.push_back(line.name);
    }
    for (const char* variable : {"PATH", "HOME", "LANG", "LC_*", "TERM", "TZ", "TMPDIR"}) {
      CAPTURE(variable);
      CHECK(std::count(let_through.begin(), let_through.end(), variable) == 1);
    }
  }
  CHECK_FALSE(builtin_profile_text("nodejs"));
}

TEST_CASE("the runtime picks the profile") {
  CHECK(pick_profile(Runtime::node) == "node");
  CHECK(pick_profile(Runtime::npx) == "node");
  CHECK(pick_profile(Runtime::python) == "python");
  CHECK(pick_profile(Runtime::uv) == "python");
  CHECK(pick_profile(Runtime::other) == "system");
}

TEST_CASE("paths are resolved, and what may be absent may") {
  Home home;
  home.invocation.program = home.program("bin/tool");
  home.invocation.argv = {"tool"};
  home.file("data/x");
  CHECK(home.granted("read ~/data\nread? ~/none\nread? ~/data/x/below\nwrite ~/data/x\n") ==
        Words{"~/data", "~/data/x"});
  CHECK(home.granted("read ~") == Words{"~"});
  const Error missing = home.failed("env A\nread ~/none");
  CHECK(missing.code == ENOENT);
  CHECK(has(missing.doing, "profile test:2: grant: " + home.path("none")));
  CHECK(has(home.failed("read? /proc").doing, "/proc of its own"));
  home.invocation.home.clear();
  CHECK(has(home.failed("read ~/data").doing, "set HOME"));
  CHECK(home.expanded("read? ~/data").paths.paths.empty());
}

TEST_CASE("the environment is what the profile names, sorted, each name once") {
  Home home;
  home.invocation.program = home.program("bin/tool");
  home.invocation.argv = {"tool"};
  home.invocation.environment = {"SECRET=1",
                                 "PATH=/p",
                                 "LC_ALL=C",
                                 "LC_=",
                                 "LC=2",
                                 "A=caller",
                                 "TZ=UTC",
                                 "TZ=twice",
                                 "PATHS=3",
                                 "odd"};
  constexpr std::string_view kText = "env TZ\nenv PATH\nenv LC_*\nenv A=set\noffline O=1\n";
  CHECK(home.expanded(kText).environment ==
        Words{"A=set", "LC_=", "LC_ALL=C", "O=1", "PATH=/p", "TZ=UTC"});
  for (const Network network : {Network::granted, Network::unconfined}) {
    home.invocation.network = network;
    CHECK(home.expanded(kText).environment ==
          Words{"A=set", "LC_=", "LC_ALL=C", "PATH=/p", "TZ=UTC"});
  }
}

TEST_CASE("{program} is the file alone, but the tree of an interpreter") {
  Home home;
  home.invocation.program = home.program("tools/bin/server");
  home.invocation.argv = {"server"};
  home.file("tools/lib/x");
  CHECK(home.granted("exec {program}") == Words{"~/tools/bin/server"});

  home.invocation.program = home.program(".nvm/v20/bin/node");
  home.file(".nvm/v20/lib/node_modules/npm/x");
  home.file(".nvm/v20/share/man/x");
  CHECK(home.granted("exec {program}") == Words{"~/.nvm/v20/bin", "~/.nvm/v20/lib"});
}

TEST_CASE("{program} of a link repeats the link") {
  Home home;
  home.program("opt/server");
  fs::create_directory(home.path("bin"));
  fs::create_symlink("../opt/server", home.path("bin/server"));
  home.invocation.program = home.path("bin/server");
  home.invocation.argv = {"server"};
  const Home::Outcome it = home.expanded("exec {program}");
  REQUIRE(it.paths.links.size() == 1);
  CHECK(it.paths.links[0].path == home.path("bin/server"));
  CHECK(home.granted("exec {program}") == Words{"~/opt/server"});
}

TEST_CASE("{program} of a virtual environment is it and what it was made from") {
  Home home;
  home.program("python/bin/python3.12");
  home.file("python/lib/python3.12/os.py");
  home.file("proj/.venv/pyvenv.cfg", "home=" + home.path("python/bin") + "\nversion = 3.12\n");
  fs::create_directory(home.path("proj/.venv/bin"));
  fs::create_symlink(home.path("python/bin/python3.12"), home.path("proj/.venv/bin/python"));
  home.invocation.program = home.path("proj/.venv/bin/python");
  home.invocation.argv = {"python", "-m", "server"};
  const Words wanted = {"~/proj/.venv", "~/python/bin", "~/python/lib"};
  CHECK(home.granted("exec {program}") == wanted);

  // A console script of it is the same.
  home.invocation.program = home.program("proj/.venv/bin/mcp-server-foo",
                                         "#!" + home.path("proj/.venv/bin/python") + "\n");
  home.invocation.argv = {"mcp-server-foo"};
  CHECK(home.granted("exec {program}\nexec {script}") == wanted);
}

TEST_CASE("{program} of python brings what its version has elsewhere") {
  Home home;
  home.invocation.program = home.program("opt/python3.12");
  home.invocation.argv = {"python3"};
  home.file(".local/lib/python3.12/site-packages/x.py");
  home.file(".local/lib/python3.11/site-packages/x.py");
  CHECK(home.granted("exec {program}") == Words{"~/.local/lib/python3.12", "~/opt/python3.12"});
}

TEST_CASE("{program} of a shim is its manager's folder") {
  Home home;
  home.invocation.program = home.program(".pyenv/shims/python3", "#!/bin/sh\n");
  home.invocation.argv = {"python3"};
  home.file(".pyenv/libexec/pyenv");
  CHECK(home.granted("exec {program}") == Words{"~/.pyenv"});
}

TEST_CASE("{script} is the narrowest tree that holds what the script may load") {
  struct Row {
    std::string_view name;
    std::vector<std::string_view> files;
    std::string_view script;
    Words granted;
  };
  const Row rows[] = {
      {"installed package",
       {"proj/package.json", "proj/secret", "proj/node_modules/foo/node_modules/bar/i.js"},
       "proj/node_modules/foo/node_modules/bar/i.js",
       {"~/proj/node_modules", "~/proj/package.json"}},
      {"globally installed package",
       {".npm-global/lib/node_modules/foo/i.js"},
       ".npm-global/lib/node_modules/foo/i.js",
       {"~/.npm-global/lib/node_modules"}},
      {"project", {"proj/package.json", "proj/src/deep/s.js"}, "proj/src/deep/s.js", {"~/proj"}},
      {"nearest project",
       {"proj/.git/x", "proj/sub/package.json", "proj/sub/s.js"},
       "proj/sub/s.js",
       {"~/proj/sub"}},
      {"packages above the project",
       {"proj/node_modules/x/i.js", "proj/sub/package.json", "proj/sub/s.js", "node_modules/y"},
       "proj/sub/s.js",
       {"~/node_modules", "~/proj/node_modules", "~/proj/sub"}},
      {"no project", {"scripts/s.js", "scripts/other.js"}, "scripts/s.js", {"~/scripts"}},
      {"the home is no project", {"package.json", ".git/x", "a/s.js"}, "a/s.js", {"~/a"}},
      {"in the home itself", {"package.json", "s.js", ".ssh/id"}, "s.js", {"~/s.js"}},
      {"python project", {"proj/pyproject.toml", "proj/src/s.py"}, "proj/src/s.py", {"~/proj"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    Home home;
    home.invocation.program = "/usr/bin/env";  // anywhere but here
    home.invocation.argv = {"node", std::string(row.script)};
    for (const std::string_view each : row.files)
      home.file(std::string(each));
    CHECK(home.granted("exec {script}") == row.granted);
  }
}

TEST_CASE("{script} through a link is the tree of what it points to") {
  Home home;
  home.file("proj/package.json");
  home.file("proj/s.js");
  home.file("elsewhere/package.json");
  fs::create_symlink("../proj/s.js", home.path("elsewhere/s.js"));
  home.invocation.program = "/usr/bin/env";
  home.invocation.argv = {"node", "elsewhere/s.js"};
  const Home::Outcome it = home.expanded("exec {script}");
  CHECK(home.granted("exec {script}") == Words{"~/proj"});
  CHECK(it.paths.links == std::vector<LinkOnTheWay>{{home.path("elsewhere/s.js"), "../proj/s.js"}});
}

TEST_CASE("a folder that all users write to is never granted by guess") {
  Home home;
  const std::string script = home.file("shared/s.js");
  home.file("shared/package.json");
  REQUIRE(::chmod(home.path("shared").c_str(), 01777) == 0);
  home.invocation.program = "/usr/bin/env";
  home.invocation.argv = {"node", "shared/s.js"};
  CHECK(home.granted("exec {script}") == Words{"~/shared/s.js"});
}

TEST_CASE("a home that is reached through a link is not granted by guess either") {
  Home home;
  home.file("real/s.js");
  home.file("real/package.json");
  fs::create_symlink("real", home.path("link"));
  home.invocation.home = home.path("link");
  home.invocation.real_home = home.path("real");
  home.invocation.program = "/usr/bin/env";
  home.invocation.argv = {"node", home.path("link/s.js")};
  CHECK(home.granted("exec {script}") == Words{"~/real/s.js"});
}

TEST_CASE("{cache} is there for npx and uvx alone, and writable and executable") {
  Home home;
  home.file(".npm/_cacache/x");
  home.file("other/x");
  home.file(".cache/uv/x");
  home.file(".local/share/uv/x");
  home.invocation.program = "/usr/bin/env";
  constexpr std::string_view kText =
      "write? {cache}\nexec? {cache}\nenv npm_config_cache\nenv UV_CACHE_DIR\n";
  home.invocation.argv = {"node"};
  CHECK(home.granted(kText).empty());
  home.invocation.argv = {"npx"};
  CHECK(home.granted(kText) == Words{"~/.npm"});
  CHECK(home.expanded(kText).paths.paths.front().rights == kBoth);
  home.invocation.argv = {"uvx"};
  CHECK(home.granted(kText) == Words{"~/.cache/uv", "~/.local/share/uv"});
  home.invocation.environment.push_back("UV_CACHE_DIR=" + home.path("other"));
  CHECK(home.granted(kText) == Words{"~/.local/share/uv", "~/other"});
  home.invocation.argv = {"npx"};
  home.invocation.environment.push_back("npm_config_cache=" + home.path("other"));
  CHECK(home.granted(kText) == Words{"~/other"});
  CHECK(home.granted("write? {cache}") == Words{"~/.npm"});
}

TEST_CASE("the profiles that are built in work here, and grant no more of /etc than named") {
  Home home;
  home.invocation.program = home.program("server");
  home.invocation.argv = {"server"};
  for (const std::string_view name : builtin_profiles()) {
    CAPTURE(name);
    const Home::Outcome it = home.expanded(*builtin_profile_text(name));
    REQUIRE(it.paths.find(home.path("server")) != nullptr);
    CHECK(it.paths.find(home.path("server"))->path == home.path("server"));
    CHECK(it.paths.find("/etc/shadow") == nullptr);
    CHECK(it.paths.find("/etc/passwd") == nullptr);
    CHECK(it.paths.find("/etc/ssl/private/key.pem") == nullptr);
    CHECK(it.paths.find("/var/lib") == nullptr);
    CHECK(it.paths.find("/root/.ssh") == nullptr);
    const bool has_system = it.paths.find("/usr/bin/env") != nullptr;
    CHECK(has_system == (name != "minimal"));
    for (const PathGrant& each : it.paths.paths)
      CHECK_FALSE(each.rights.may_write);
  }
}

// What follows: what an earlier run left where it may write, `ws`, does not widen what this one
// gets.

}  // namespace
