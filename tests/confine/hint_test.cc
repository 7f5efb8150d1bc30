// SPDX-License-Identifier: Apache-2.0 OR MIT
// What is made of the last words of programs, as node 20, python 3.11, npm, uv, curl, git, Go and
// shells say them.
#include "confine/hint.h"

#include <csignal>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "confine/hint_text.h"

namespace {

using aegis::confine::explain_death;
using aegis::confine::host_behind;
using aegis::confine::kMaxHints;
using aegis::confine::kMaxHintText;
using aegis::confine::Network;
using aegis::confine::PathGrants;
using aegis::confine::paths_in;
using aegis::confine::shell_word;
using aegis::confine::Tier;
using aegis::confine::variables_in;

using Lines = std::vector<std::string>;

/// A host, and what of it was granted.
struct World {
  PathGrants grants;
  std::set<std::string> there = {"/",
                                 "/home",
                                 "/home/u",
                                 "/home/u/.config",
                                 "/home/u/.config/foo",
                                 "/home/u/.ssh",
                                 "/home/u/.ssh/id",
                                 "/home/u/data",
                                 "/home/u/data/f",
                                 "/home/u/a b",
                                 "/opt",
                                 "/opt/tool",
                                 "/usr",
                                 "/usr/lib",
                                 "/home/u/ws",
                                 "/home/u/ws/x"};
  Tier tier = Tier::full;
  Network network = Network::none;

  World() {
    grants.add({{"/usr", {.may_write = false, .may_execute = true}, true, {}}, {}});
    grants.add({{"/home/u/data", {}, true, {}}, {}});
    grants.add({{"/home/u/ws", {.may_write = true, .may_execute = false}, true, {}}, {}});
  }
  [[nodiscard]] Lines hints(std::string_view errors, int status = 1 << 8) const {
    return explain_death(
        {.errors = errors,
         .wait_status = status,
         .grants = grants,
         .tier = tier,
         .network = network,
         .home = "/home/u",
         .is_on_host = [this](const std::string& path) { return there.count(path) != 0; }});
  }
  [[nodiscard]] std::string hint(std::string_view errors) const {
    const Lines all = hints(errors);
    CAPTURE(errors);
    CHECK(all.size() <= 1);
    return all.empty() ? "none" : all.front();
  }
};

TEST_CASE("a path that was refused is named with the flag that grants it") {
  struct Row {
    std::string_view errors;
    std::string_view hint;
  };
  const Row rows[] = {
      {"Error: ENOENT: no such file or directory, open '/home/u/.config/foo'\n    at Object.open "
       "(node:fs:573:18)\n",
       "/home/u/.config/foo is not granted: --allow-read /home/u/.config/foo"},
      {"Error: EACCES: permission denied, open '/home/u/.config/foo'",
       "/home/u/.config/foo is not granted: --allow-read /home/u/.config/foo"},
      {"Error: Cannot find module '/home/u/.config/foo'\n    at Module._resolveFilename",
       "/home/u/.config/foo is not granted: --allow-read /home/u/.config/foo"},
      {"Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/opt/tool' imported from /usr/lib/x.js",
       "/opt/tool is not granted: --allow-read /opt/tool"},
      {"Error [ERR_MODULE_NOT_FOUND]: Cannot find module file:///opt/tool",
       "/opt/tool is not granted: --allow-read /opt/tool"},
      {"FileNotFoundError: [Errno 2] No such file or directory: '/opt/tool'",
       "/opt/tool is not granted: --allow-read /opt/tool"},
      {"PermissionError: [Errno 13] Permission denied: '/opt/tool'",
       "/opt/tool is not granted: --allow-read /opt/tool"},
      {"python3: can't open file '/opt/tool': [Errno 2] No such file or directory",
       "/opt/tool is not granted: --allow-read /opt/tool"},
      {"open /opt/tool: no such file or directory",
       "/opt/tool is not granted: --allow-read /opt/tool"},
      {"bash: line 1: /opt/tool: No such file or directory",
       "/opt/tool is not granted: --allow-read /opt/tool"},
      {"java.nio.file.NoSuchFileException: /opt/tool",
       "/opt/tool is not granted: --allow-read /opt/tool"},
      {"Error: spawn /opt/tool ENOENT", "/opt/tool is not granted: --allow-exec /opt/tool"},
      {"Error: ENOENT: no such file or directory, open '/home/u/a b'",
       "'/home/u/a b' is not granted: --allow-read '/home/u/a b'"},
      {"Error: ENOENT: no such file or directory, open '/home/u/.ssh/id'",
       "/home/u/.ssh/id is not granted, and may hold secrets (think twice): --allow-read "
       "/home/u/.ssh/id"},
      // Writing.
      {"Error: EROFS: read-only file system, open '/home/u/data/f'",
       "/home/u/data/f may only be read: --allow-write /home/u/data/f"},
      {"Error: EROFS: read-only file system, open '/home/u/data/new/x'",
       "/home/u/data may only be read: --allow-write /home/u/data"},
      {"OSError: [Errno 30] Read-only file system: '/home/u/data/new'",
       "/home/u/data may only be read: --allow-write /home/u/data"},
      {"PermissionError: [Errno 13] Permission denied: '/home/u/data/new'",
       "/home/u/data may only be read: --allow-write /home/u/data"},
      {"Error: ENOENT: no such file or directory, mkdir '/home/u/.config/foo/x'",
       "/home/u/.config/foo is not granted: --allow-write /home/u/.config/foo"},
      {"Error: EROFS: read-only file system, mkdir '/home/u/.cache/x/y'",
       "/home/u/.cache is not there: mkdir -p /home/u/.cache, then --allow-write /home/u/.cache"},
      {"Error: EACCES: permission denied, mkdir '/var/x'",
       "/var is not there: mkdir -p /var, then --allow-write /var"},
      // Running what may only be read.
      {"Error: spawn /home/u/ws/x EACCES",
       "/home/u/ws/x may not be run: --allow-exec /home/u/ws/x"},
      // No matter of confinement.
      {"Error: ENOENT: no such file or directory, open '/home/u/data/none'", "none"},
      {"Error: ENOENT: no such file or directory, open '/nowhere/none'", "none"},
      {"Error: EACCES: permission denied, open '/home/u/ws/x'", "none"},
      {"Error: ENOENT: no such file or directory, open '/proc/1/maps'", "none"},
      {"Error: ENOENT: no such file or directory, open '/usr/../opt/tool'", "none"},
      {"started from /opt/tool", "none"},
      {"", "none"},
  };
  const World world;
  for (const Row& row : rows) {
    CAPTURE(row.errors);
    CHECK(world.hint(row.errors) == row.hint);
  }
}

TEST_CASE("the network, by the host's name when it is said") {
  struct Row {
    std::string_view errors;
    std::string_view hint;
  };
  const Row rows[] = {
      {"Error: getaddrinfo ENOTFOUND api.example.com",
       "it looked for the network: --allow-net api.example.com:443"},
      {"Error: getaddrinfo EAI_AGAIN api.example.com\n    at GetAddrInfoReqWrap {\n  code: "
       "'EAI_AGAIN'\n}",
       "it looked for the network: --allow-net HOST:PORT"},
      {"curl: (6) Could not resolve host: example.com",
       "it looked for the network: --allow-net example.com:443"},
      {"fatal: unable to access 'https://example.com/x.git/': Could not resolve host: example.com",
       "it looked for the network: --allow-net example.com:443"},
      {"dial tcp: lookup example.com: no such host",
       "it looked for the network: --allow-net example.com:443"},
      {"socket.gaierror: [Errno -3] Temporary failure in name resolution",
       "it looked for the network: --allow-net HOST:PORT"},
      {"Error: connect EAFNOSUPPORT 10.0.0.1:80",
       "it looked for the network: --allow-net HOST:PORT"},
      {"OSError: [Errno 97] Address family not supported by protocol",
       "it looked for the network: --allow-net HOST:PORT"},
      {"npm error code ENOTCACHED\nnpm error request to https://packages.example/foo failed: cache "
       "mode is 'only-if-cached' but no cached response is available.\nnpm error A complete log "
       "of this run can be found in: /home/u/.npm/_logs/x",
       "a package is not in its cache, and no network is granted: run it once without confinement, "
       "or --allow-net packages.example:443"},
      {"  hint: Packages were unavailable because the network was disabled.",
       "a package is not in its cache, and no network is granted: run it once without confinement, "
       "or --allow-net HOST:PORT"},
  };
  World world;
  for (const Row& row : rows) {
    CAPTURE(row.errors);
    const Lines hints = world.hints(row.errors);
    REQUIRE_FALSE(hints.empty());
    CHECK(hints.front() == row.hint);
  }
  world.tier = Tier::landlock;
  CHECK(world.hint("getaddrinfo ENOTFOUND a.example") ==
        "it looked for the network: --tier full and --allow-net a.example:443");
  world.network = Network::unconfined;
  CHECK(world.hint("getaddrinfo ENOTFOUND a.example") == "none");
}

TEST_CASE("variables that did not cross") {
  const World world;
  CHECK(world.hint("Error: GITHUB_TOKEN environment variable is required") ==
        "the variable GITHUB_TOKEN did not cross: --allow-env GITHUB_TOKEN");
  CHECK(world.hint("KeyError: 'API_KEY'") ==
        "the variable API_KEY did not cross: --allow-env API_KEY");
  CHECK(world.hint("Please set BRAVE_API_KEY") ==
        "the variable BRAVE_API_KEY did not cross: --allow-env BRAVE_API_KEY");
  CHECK(world.hint("[ERR_INVALID_ARG_TYPE]: argument is required") == "none");
  CHECK(world.hint("listening with API_KEY from the environment") == "none");
}

TEST_CASE("bounds, libraries, packages and the filter") {
  const World world;
  CHECK(world.hint("FATAL ERROR: Reached heap limit - JavaScript heap out of memory") ==
        "it ran out of memory: --max-memory takes more");
  CHECK(world.hint("RuntimeError: can't start new thread") ==
        "it ran out of processes and threads: --max-pids takes more");
  CHECK(world.hint("Error: EMFILE: too many open files") ==
        "it ran out of descriptors: --max-open-files takes more");
  CHECK(world.hint("x: error while loading shared libraries: libx.so.1: cannot open shared object "
                   "file: No such file or directory") ==
        "a library is not in what is granted: --allow-exec with the folder that holds it");
  CHECK(world.hint("ModuleNotFoundError: No module named 'mcp'") ==
        "a package is not in what is granted: --allow-read with the folder that holds it");
  CHECK(world.hints("", SIGSYS).front().find("(SIGSYS)") != std::string::npos);
  CHECK(world.hints("Bad system call", SIGSYS).size() == 1);
  CHECK(world.hints("", SIGXCPU).front().find("--max-cpu-seconds") != std::string::npos);
  CHECK(world.hints("", SIGSEGV).empty());
  CHECK(world.hints("", 0).empty());
}

TEST_CASE("the last words come first, none twice, three at most") {
  World world;
  std::string errors;
  for (int i = 0; i < 5; ++i) {
    const std::string path = "/opt/" + std::to_string(i);
    world.there.insert(path);
    for (int twice = 0; twice < 2; ++twice)
      errors.append("open ").append(path).append(": permission denied\n");
  }
  const Lines hints = world.hints(errors);
  REQUIRE(hints.size() == kMaxHints);
  CHECK(hints[0].find("/opt/4 ") == 0);
  CHECK(hints[1].find("/opt/3 ") == 0);
  CHECK(hints[2].find("/opt/2 ") == 0);
}

TEST_CASE("a long text is looked at from its end only") {
  const World world;
  const std::string first = "open /opt/tool: permission denied\n";
  CHECK(world.hints(first + std::string(kMaxHintText, '\n')).empty());
  CHECK(world.hints(std::string(kMaxHintText, '\n') + first).size() == 1);
}

TEST_CASE("what the program's words could do to a terminal or a shell is made visible") {
  CHECK(shell_word("/a/b-c_d.e") == "/a/b-c_d.e");
  CHECK(shell_word("/a b") == "'/a b'");
  CHECK(shell_word("/a'b") == "'/a'\\''b'");
  CHECK(shell_word("/a$(x)`y`;z") == "'/a$(x)`y`;z'");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("~/x") == "'~/x'");
  CHECK(shell_word("/\x1b[2J'\\") == "$'/\\x1b[2J\\'\\\\'");
  CHECK(shell_word("/\xff\xc3") == "$'/\\xff\\xc3'");
  CHECK(shell_word("/\xc3\xa4") == "'/\xc3\xa4'");
  CHECK(shell_word("/\xe2\x80\xae") == "$'/\\xe2\\x80\\xae'");  // right-to-left override
  CHECK(shell_word("/\xe2\x80\x8b") == "$'/\\xe2\\x80\\x8b'");  // zero-width space
  CHECK(shell_word("/\xc2\x9b") == "$'/\\xc2\\x9b'");           // C1
  CHECK(shell_word("/\xed\xa0\x80") == "$'/\\xed\\xa0\\x80'");  // a surrogate
  CHECK(shell_word("/\xc0\xaf") == "$'/\\xc0\\xaf'");           // too long for '/'

  World world;
  world.there.insert("/opt/\x1b[31m");
  CHECK(world.hint("open '/opt/\x1b[31m': permission denied") ==
        "$'/opt/\\x1b[31m' is not granted: --allow-read $'/opt/\\x1b[31m'");
}

TEST_CASE("paths, hosts and variables are read out of a line") {
  CHECK(paths_in("a '/x y/z' \"/q\" (/r:1:2) at /s.js:3:4, </t> /u. /v/ e=/w") ==
        Lines{"/x y/z", "/q", "/r", "/s.js", "/t", "/u", "/v", "/w"});
  CHECK(paths_in("https://h/p a/b //c / '/").empty());
  CHECK(paths_in("file:///x/y.js:1") == Lines{"/x/y.js"});
  CHECK(paths_in("/x: no") == Lines{"/x"});
  CHECK(paths_in("/x:y") == Lines{"/x:y"});
  CHECK(host_behind("to https://a-b.c.:9/x", "https://") == "a-b.c");
  CHECK(host_behind("https://-x", "https://").empty());
  CHECK(host_behind("https://", "https://").empty());
  CHECK(host_behind("x", "https://").empty());
  CHECK(host_behind("lookup " + std::string(300, 'a'), "lookup ").empty());
  CHECK(variables_in("A_B aA_B A_Bc 1A_B X_1Y ABC A_") == Lines{"A_B", "X_1Y"});
}

}  // namespace
