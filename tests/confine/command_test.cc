// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a command is taken for, and what it runs.
#include "confine/command.h"

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "tests/wrap/scratch.h"

namespace {

namespace fs = std::filesystem;
using aegis::confine::Command;
using aegis::confine::describe;
using aegis::confine::Executed;
using aegis::confine::find_variable;
using aegis::confine::inspect_command;
using aegis::confine::Invocation;
using aegis::confine::Runtime;
using aegis::confine::runtime_of;
using aegis::test::Scratch;

using Words = std::vector<std::string>;

/// A home with programs that are never run.
struct Home : Scratch {
  Home() { fs::create_directories(path("bin")); }

  std::string program(const std::string& name,
                      std::string_view text =
                          "\x7f"
                          "ELF") const {
    fs::create_directories(fs::path(path(name)).parent_path());
    std::string at = write(name, text);
    REQUIRE(::chmod(at.c_str(), 0755) == 0);
    return at;
  }

  [[nodiscard]] Command inspect(const std::string& found, Words argv) const {
    const Invocation invocation{.argv = std::move(argv),
                                .program = found,
                                .home = folder(),
                                .real_home = folder(),
                                .working_directory = folder(),
                                .environment = {"PATH=/nowhere:relative:" + path("bin")}};
    auto result = inspect_command(invocation);
    REQUIRE_MESSAGE(result.is_ok(), describe(result.error()));
    return std::move(result).value();
  }
  /// Of `bin/<argv[0]>`.
  [[nodiscard]] Command inspect(const Words& argv) const {
    return inspect(program("bin/" + argv.front()), argv);
  }
};

Words run_by(const Command& command) {
  Words paths;
  for (const Executed& each : command.executed)
    paths.push_back(each.resolved.grant.path);
  return paths;
}

std::string script_of(const Command& command) {
  return command.script ? command.script->resolved.grant.path : "none";
}

TEST_CASE("a program's name tells its runtime") {
  struct Row {
    std::string_view name;
    Runtime runtime;
  };
  const Row rows[] = {{"node", Runtime::node},
                      {"nodejs", Runtime::node},
                      {"npx", Runtime::npx},
                      {"npx-cli.js", Runtime::npx},
                      {"python", Runtime::python},
                      {"python3", Runtime::python},
                      {"python3.13t", Runtime::python},
                      {"python3-config", Runtime::other},
                      {"uvx", Runtime::uv},
                      {"nodemon", Runtime::other},
                      {"sh", Runtime::other},
                      {"", Runtime::other}};
  for (const Row& row : rows) {
    CAPTURE(row.name);
    CHECK(runtime_of(row.name) == row.runtime);
  }
}

TEST_CASE("node's script is its first word that is no flag nor a flag's value") {
  const Home home;
  home.write("s.js", "");
  home.write("x", "");
  struct Row {
    Words argv;
    std::string_view script;
  };
  const Row rows[] = {
      {{"node", "s.js"}, "/s.js"},
      {{"node", "./s.js", "x"}, "/s.js"},
      {{"node", "s"}, "/s.js"},
      {{"node", home.path("s.js")}, "/s.js"},
      {{"node", "--inspect", "s.js"}, "/s.js"},
      {{"node", "-r", "x", "--import=x", "--import", "x", "s.js"}, "/s.js"},
      {{"node", "--max-old-space-size=99", "--", "s.js"}, "/s.js"},
      {{"node", "."}, ""},
      {{"node", "-e", "x"}, "none"},
      {{"node", "-p", "x", "s.js"}, "none"},
      {{"node", "-", "s.js"}, "none"},
      {{"node", "--"}, "none"},
      {{"node", "missing.js"}, "none"},
      {{"node", ""}, "none"},
      {{"node"}, "none"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.argv);
    const Command command = home.inspect(row.argv);
    CHECK(command.runtime == Runtime::node);
    CHECK(script_of(command) ==
          (row.script == "none" ? "none" : home.folder() + std::string(row.script)));
  }
}

TEST_CASE("python's script likewise, and its flags may stand together") {
  const Home home;
  home.write("s.py", "");
  struct Row {
    Words argv;
    bool has_script;
  };
  const Row rows[] = {
      {{"python3", "s.py"}, true},
      {{"python3", "-u", "s.py", "-c"}, true},
      {{"python3", "-W", "ignore", "-X", "dev", "s.py"}, true},
      {{"python3", "-Wignore", "-Xdev", "-uB", "s.py"}, true},
      {{"python3", "-uW", "ignore", "s.py"}, true},
      {{"python3", "--check-hash-based-pycs", "never", "s.py"}, true},
      {{"python3", "-m", "s.py"}, false},
      {{"python3", "-um", "s.py"}, false},
      {{"python3", "-c", "s.py"}, false},
      {{"python3", "-", "s.py"}, false},
      {{"python3"}, false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.argv);
    CHECK(home.inspect(row.argv).script.has_value() == row.has_script);
  }
}

TEST_CASE("a #! line names the interpreter, directly or through env and PATH") {
  const Home home;
  const std::string node = home.program("bin/node");
  const std::string env = fs::canonical("/usr/bin/env").string();
  struct Row {
    std::string line;
    Words interpreters;
  };
  const Row rows[] = {
      {"#!" + node + "\n", {node}},
      {"#! " + node + " --flag\r\n", {node}},
      {"#!/usr/bin/env node\n", {env, node}},
      {"#!/usr/bin/env -S A=b node --flag\n", {env, node}},
      {"#!/usr/bin/env " + node, {env, node}},
      {"#!/usr/bin/env unheard-of\n", {env}},
      {"#!/usr/bin/env\n", {env}},
      {"#!relative\n", {}},
      {"#!\n", {}},
      {"#", {}},
      {"", {}},
      {"const x = 1;\n", {}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.line);
    const std::string server = home.program("lib/node_modules/foo/dist/index.js", row.line);
    Words wanted = {server};
    wanted.insert(wanted.end(), row.interpreters.begin(), row.interpreters.end());
    const Command command = home.inspect(server, {"mcp-server-foo"});
    CHECK(run_by(command) == wanted);
    const bool is_node = wanted.back() == node;
    CHECK((command.runtime == Runtime::node) == is_node);
    CHECK(script_of(command) == (is_node ? server : "none"));
  }
}

TEST_CASE("a command that is a link to a package's script is node's") {
  const Home home;
  home.program("bin/node");
  const std::string script =
      home.program("lib/node_modules/foo/dist/index.js", "#!/usr/bin/env node\nx");
  fs::create_symlink("../lib/node_modules/foo/dist/index.js", home.path("bin/mcp-server-foo"));
  const Command command = home.inspect(home.path("bin/mcp-server-foo"), {"mcp-server-foo", "/x"});
  CHECK(command.runtime == Runtime::node);
  CHECK(script_of(command) == script);
  CHECK(command.executed.front().found == home.path("bin/mcp-server-foo"));
  CHECK(command.executed.front().resolved.links.size() == 1);
}

TEST_CASE("npx is npx by its link's name, its script's, and when node is given it") {
  const Home home;
  home.program("bin/node");
  const std::string cli =
      home.program("lib/node_modules/npm/bin/npx-cli.js", "#!/usr/bin/env node\n");
  fs::create_symlink("../lib/node_modules/npm/bin/npx-cli.js", home.path("bin/npx"));
  CHECK(home.inspect(home.path("bin/npx"), {"npx", "-y", "pkg"}).runtime == Runtime::npx);
  CHECK(home.inspect(cli, {"tool"}).runtime == Runtime::npx);
  CHECK(home.inspect(home.path("bin/node"), {"node", cli, "pkg"}).runtime == Runtime::npx);
}

TEST_CASE("a shim is a script of the shell's that stands for python") {
  const Home home;
  const std::string shim =
      home.program("pyenv/shims/python3", "#!/bin/sh\nexec pyenv exec python3 \"$@\"\n");
  home.write("s.py", "");
  const Command command = home.inspect(shim, {"python3", "s.py"});
  CHECK(command.runtime == Runtime::python);
  CHECK(script_of(command) == home.path("s.py"));
}

TEST_CASE("scripts that name each other in a circle end") {
  const Home home;
  home.program("a", "#!" + home.path("b") + "\n");
  home.program("b", "#!" + home.path("a") + "\n");
  CHECK(home.inspect(home.path("a"), {"a"}).executed.size() <= 8);
}

TEST_CASE("a program that is not there is an error") {
  const Scratch scratch;
  const Invocation invocation{.argv = {"x"},
                              .program = scratch.path("x"),
                              .home = {},
                              .real_home = {},
                              .working_directory = "/",
                              .environment = {}};
  const auto command = inspect_command(invocation);
  REQUIRE_FALSE(command.is_ok());
  CHECK(command.error().code == ENOENT);
}

TEST_CASE("of a variable that is there twice the first counts") {
  const Words environment = {"AB=1", "A=2", "A=3", "B=", "C"};
  CHECK(find_variable(environment, "A") == "2");
  CHECK(find_variable(environment, "B") == "");
  CHECK_FALSE(find_variable(environment, "C"));
  CHECK_FALSE(find_variable(environment, ""));
}

}  // namespace
