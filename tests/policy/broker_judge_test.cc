// SPDX-License-Identifier: Apache-2.0 OR MIT
// Each operation under a policy: bounds, programs, words, approval. Paths by themselves are
// broker_path_test.cc's.
#include "policy/broker_judge.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/policy/broker_world.h"

namespace aegis::policy {
namespace {

using mcp::BrokerRequest;
using mcp::Operation;
using Words = std::vector<std::string>;

constexpr std::string_view kBoundary = "PATH_BOUNDARY_VIOLATION";
constexpr std::string_view kSensitive = "SENSITIVE_TARGET_DENIED";
constexpr std::string_view kNotPermitted = "OPERATION_NOT_PERMITTED";

BrokerRequest read_text(std::string path, std::optional<std::uint64_t> max_bytes = {}) {
  return {Operation::read_text, mcp::ReadText{std::move(path), max_bytes}};
}
BrokerRequest list_dir(std::string path, std::optional<std::uint64_t> depth = {}) {
  return {Operation::list_dir, mcp::ListDir{std::move(path), depth}};
}
BrokerRequest run_command(Words argv,
                          Words writable = {},
                          std::optional<std::uint64_t> timeout = {}) {
  return {Operation::run_command, mcp::RunCommand{std::move(argv), timeout, std::move(writable)}};
}
BrokerRequest run_shell(std::string text) {
  return {Operation::run_command, mcp::ShellCommand{std::move(text)}};
}

Permit permit_of(const BrokerWorld& world, const BrokerRequest& request) {
  Judgement judgement = world.judge(request);
  REQUIRE(word_of(judgement) == "ok");
  return std::get<Permit>(std::move(judgement));
}
std::string reason_of(const BrokerWorld& world, const BrokerRequest& request) {
  Judgement judgement = world.judge(request);
  REQUIRE(std::holds_alternative<mcp::Refused>(judgement));
  return std::get<mcp::Refused>(judgement).reason;
}

constexpr std::string_view kPrograms =
    "execution_rules:\n  allowed_binaries: [cat, grep, /usr/bin/wc]\n";

}  // namespace

TEST_CASE("a text is read up to what the policy allows, whatever was asked for") {
  const BrokerWorld world("path_rules: {max_file_read_bytes: 1000}\n");
  CHECK(permit_of(world, read_text("a")).max_bytes == 1000);
  CHECK(permit_of(world, read_text("a", 10)).max_bytes == 10);
  CHECK(permit_of(world, read_text("a", 1001)).max_bytes == 1000);
  CHECK(permit_of(world, read_text("./a//b")).path == "a/b");
  CHECK(word_of(world.judge(read_text("../a"))) == kBoundary);
  CHECK(word_of(world.judge(read_text(".env"))) == kSensitive);
}

TEST_CASE("a folder is listed as deep as was asked for, by itself otherwise") {
  const BrokerWorld world;
  CHECK(permit_of(world, list_dir(".")).path.empty());
  CHECK(permit_of(world, list_dir("a")).max_depth == 0);
  CHECK(permit_of(world, list_dir("a", 20)).max_depth == 20);
  CHECK(word_of(world.judge(list_dir("/"))) == kBoundary);
  CHECK(word_of(world.judge(list_dir(".ssh"))) == kSensitive);
}

TEST_CASE("folders above an allowed one are listed, and not read") {
  const BrokerWorld world("path_rules: {allowed_subpaths: [a/b]}\n");
  CHECK(permit_of(world, list_dir(".")).path.empty());
  CHECK(permit_of(world, list_dir("a")).path == "a");
  CHECK(permit_of(world, list_dir("a/b/c")).path == "a/b/c");
  CHECK(word_of(world.judge(list_dir("a/c"))) == kBoundary);
  CHECK(word_of(world.judge(read_text("a"))) == kBoundary);
}

TEST_CASE("python gets the time that it asks for, or is refused") {
  const BrokerWorld world("execution_rules: {max_timeout_seconds: 20}\n");
  mcp::RunPython run;
  run.code = "print(1)";
  CHECK(permit_of(world, {Operation::run_python, run}).timeout_seconds == 20);
  run.timeout_seconds = 20;
  CHECK(permit_of(world, {Operation::run_python, run}).timeout_seconds == 20);
  run.timeout_seconds = 1;
  CHECK(permit_of(world, {Operation::run_python, run}).timeout_seconds == 1);
  run.timeout_seconds = 21;
  CHECK(word_of(world.judge({Operation::run_python, run})) == "TIMEOUT_LIMIT_EXCEEDED");
  run = {};
  run.script_path = "tools//x.py";
  run.arguments = {"../anything", "/etc/passwd"};
  CHECK(permit_of(world, {Operation::run_python, run}).path == "tools/x.py");
  run.script_path = "../x.py";
  CHECK(word_of(world.judge({Operation::run_python, run})) == kBoundary);
}

TEST_CASE("what the policy does not allow is refused before anything else is looked at") {
  BrokerWorld world;
  world.policy.allowed = {true, false, false, true};
  CHECK(word_of(world.judge(list_dir("../.ssh"))) == kNotPermitted);
  CHECK(reason_of(world, list_dir(".")).find("it allows: read_text, run_command") !=
        std::string::npos);
  CHECK(word_of(world.judge(read_text("a"))) == "ok");
  world.policy.allowed = {};
  CHECK(reason_of(world, list_dir(".")).find("it allows: none") != std::string::npos);
}

TEST_CASE("approval is missing only of what would be allowed") {
  BrokerWorld world;
  world.policy.needs_approval = {true, false, false, true};
  CHECK(word_of(world.judge(read_text("a"))) == "APPROVAL_REQUIRED");
  CHECK(word_of(world.judge(read_text(".env"))) == kSensitive);
  CHECK(word_of(world.judge(list_dir("a"))) == "ok");
  CHECK(word_of(world.judge(run_shell("ls"))) == kNotPermitted);
}

TEST_CASE("a program is one that the policy lists") {
  const BrokerWorld world(kPrograms);
  CHECK(permit_of(world, run_command({"grep", "-n", "README", "src/a.cc"})).binary == 1);
  CHECK(permit_of(world, run_command({"/usr/bin/cat", "a"})).binary == 0);
  for (const std::string_view program :
       {"sh", "/bin/sh", "./cat", "bin/cat", "", "CAT", "cat ", "../cat", "/usr/bin/env"}) {
    CAPTURE(program);
    CHECK(word_of(world.judge(run_command({std::string(program)}))) == kNotPermitted);
  }
  CHECK(word_of(world.judge(run_command({}))) == kNotPermitted);
  CHECK(reason_of(world, run_command({"sh"})).find(R"("cat", "grep" and "/usr/bin/wc")") !=
        std::string::npos);
  CHECK(reason_of(BrokerWorld(), run_command({"sh"})).find("it allows none") != std::string::npos);
}

TEST_CASE("these words go through") {
  const BrokerWorld world(kPrograms);
  for (const std::string_view word : {"a",
                                      "-la",
                                      "-",
                                      "--",
                                      "--color=always",
                                      "-n5",
                                      "README",
                                      "src/main.cc",
                                      "./a/./b",
                                      "-Isrc/include",
                                      "-Idata/deep/x",
                                      "s/a/b/",
                                      "a:b",
                                      "user@host",
                                      "1.5",
                                      "...",
                                      "a..b",
                                      "--range=1..5",
                                      "/workspace",
                                      "/workspace/a",
                                      "//workspace//a",
                                      "--out=/tmp/x",
                                      "-o/tmp/x",
                                      "/tmp",
                                      "/dev/null",
                                      "/dev/stdin",
                                      "file:///workspace/a",
                                      "@args.txt",
                                      "",
                                      "=",
                                      "two\nlines"}) {
    CAPTURE(word);
    CHECK(word_of(world.judge(run_command({"cat", std::string(word)}))) == "ok");
  }
}

TEST_CASE("these words lead out of the workspace") {
  const BrokerWorld world(kPrograms);
  for (const std::string_view word : {"..",
                                      "../a",
                                      "a/../../b",
                                      "/",
                                      "/etc/passwd",
                                      "//etc/passwd",
                                      "/workspace/../etc/passwd",
                                      "/workspaces/a",
                                      "/tmp/../etc/passwd",
                                      "/tmpx",
                                      "/dev/sda",
                                      "/dev/null/../sda",
                                      "/dev",
                                      "/dev/fd/3",
                                      "--file=/etc/passwd",
                                      "--file=../a",
                                      "if=/etc/passwd",
                                      "a=b=/etc/passwd",
                                      "-f/etc/passwd",
                                      "-f../a",
                                      "-xf/etc/passwd",
                                      "-xf../a",
                                      "-xf..",
                                      "a:/etc",
                                      "/etc:a",
                                      "a:../b:c",
                                      "--path=a:/etc",
                                      "-Ia:/etc",
                                      "@/etc/passwd",
                                      "--data=@/etc/passwd",
                                      "--data=@../a",
                                      "file:///etc/passwd",
                                      "--url=file:///etc/passwd",
                                      "a,/etc/passwd",
                                      "host:/etc/passwd"}) {
    CAPTURE(word);
    CHECK(word_of(world.judge(run_command({"cat", std::string(word)}))) == kBoundary);
  }
  CHECK(word_of(world.judge(run_command({"cat", std::string("a\0b", 3)}))) == kBoundary);
}

TEST_CASE("these words name secrets") {
  const BrokerWorld world(std::string(kPrograms) + "path_rules: {denied_patterns: [private]}\n");
  for (const std::string_view word :
       {".env",           "a/.ENV",          ".ssh/id_rsa",
        "--file=.env",    "-f.env",          "-xf.env",
        "-vvv.env.local", "-fid_rsa",        "-xfid_rsa",
        "-f.env:x",       "HEAD:.env",       "HEAD:a/server.pem",
        ".env:x",         "@credentials",    "a,.netrc",
        "/tmp/id_rsa",    "/workspace/.env", "file:///workspace/.aws/x",
        "private",        "-xfprivate/x",    "x/Private/y"}) {
    CAPTURE(word);
    CHECK(word_of(world.judge(run_command({"cat", std::string(word)}))) == kSensitive);
  }
}

TEST_CASE("behind \"--\" no word is an option") {
  const BrokerWorld world(std::string(kPrograms) + "  allowed_paths: [data]\n");
  CHECK(word_of(world.judge(run_command({"cat", "-x.txt"}))) == kBoundary);
  CHECK(word_of(world.judge(run_command({"cat", "--x.txt"}))) == "ok");
  CHECK(word_of(world.judge(run_command({"cat", "--", "--x.txt"}))) == kBoundary);
  CHECK(word_of(world.judge(run_command({"cat", "--", "--", "-"}))) == "ok");
}

TEST_CASE("words that look like paths lie in the allowed ones") {
  const BrokerWorld world(std::string(kPrograms) + "  allowed_paths: [data, out/x]\n" +
                          "path_rules: {allowed_subpaths: [data, out, src]}\n");
  for (const std::string_view word : {"data",
                                      "data/a.txt",
                                      "./data",
                                      "/workspace/data",
                                      "README",
                                      "out",
                                      "-Idata/x",
                                      "--f=out/x/y",
                                      "/tmp/a.txt",
                                      "1.5",
                                      "foo.*"}) {
    CAPTURE(word);
    CHECK(word_of(world.judge(run_command({"grep", std::string(word)}))) == "ok");
  }
  for (const std::string_view word : {".",
                                      "./README",
                                      "src/a",
                                      "out/y",
                                      "notes.txt",
                                      ".config",
                                      "data2/a",
                                      "--f=src/a",
                                      "-Isrc/a",
                                      "@args.txt",
                                      "/workspace",
                                      "/workspace/README",
                                      "s/a/b/"}) {
    CAPTURE(word);
    CHECK(word_of(world.judge(run_command({"grep", std::string(word)}))) == kBoundary);
  }
}

TEST_CASE("a program writes only where the policy names it") {
  const BrokerWorld none(kPrograms);
  CHECK(word_of(none.judge(run_command({"cat"}, {"out"}))) == kBoundary);
  const BrokerWorld world(std::string(kPrograms) + "  allowed_paths: [out]\n");
  CHECK(permit_of(world, run_command({"cat"}, {"out", "./out//a"})).writable ==
        Words{"out", "out/a"});
  for (const std::string_view path :
       {".", "data", "output", "..", "/workspace/out", "out/../data"}) {
    CAPTURE(path);
    CHECK(word_of(world.judge(run_command({"cat"}, {std::string(path)}))) == kBoundary);
  }
  CHECK(word_of(world.judge(run_command({"cat"}, {"out", "out/.env"}))) == kSensitive);
  const BrokerWorld all(std::string(kPrograms) + "  allowed_paths: [\".\"]\n");
  CHECK(permit_of(all, run_command({"cat"}, {"."})).writable == Words{""});
}

TEST_CASE("a command's time is judged behind its words") {
  const BrokerWorld world(kPrograms);
  CHECK(permit_of(world, run_command({"cat"})).timeout_seconds == 15);
  CHECK(permit_of(world, run_command({"cat"}, {}, 3)).timeout_seconds == 3);
  CHECK(word_of(world.judge(run_command({"cat"}, {}, 16))) == "TIMEOUT_LIMIT_EXCEEDED");
  CHECK(word_of(world.judge(run_command({"cat", "../a"}, {}, 16))) == kBoundary);
}

TEST_CASE("each command of a shell string is judged") {
  const BrokerWorld world(std::string(kPrograms) + "  allowed_paths: [data]\n");
  struct Row {
    std::string_view text;
    std::string_view word;
  };
  const Row rows[] = {
      {"cat data/a | grep -v x && cat", "ok"},
      {"cat 'data/a b' >data/out 2>&1", "ok"},
      {"cat <data/a >/dev/null", "ok"},
      {"cat >/tmp/x; cat /tmp/x", "ok"},
      {"cat data/a | sh", kNotPermitted},
      {"cat data/a; cat ../x", kBoundary},
      {"cat data/a && cat data/.env", kSensitive},
      {"cat > notes", kBoundary},
      {"cat > /etc/passwd", kBoundary},
      {"cat >>data/../x", kBoundary},
      {"cat < /workspace/src", kBoundary},
      {"cat < README", kBoundary},
      {"cat <> data/.ENV", kSensitive},
      {"cat $HOME", kNotPermitted},
      {"cat data/*", kNotPermitted},
      {"$(echo cat) data/a", kNotPermitted},
      {"X=1 cat", kNotPermitted},
      {"cd data && cat a", kNotPermitted},
      {"", kNotPermitted},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    CHECK(word_of(world.judge(run_shell(std::string(row.text)))) == row.word);
  }
  const BrokerWorld none(kPrograms);
  // More than an argv may hold.
  std::string many = "cat";
  for (std::size_t word = 0; word < mcp::kMaxWords; ++word)
    many += " data/a";
  CHECK(word_of(world.judge(run_shell(many))) == kNotPermitted);
  CHECK(word_of(world.judge(run_shell("cat data/" + std::string(mcp::kMaxWord, 'x')))) ==
        kNotPermitted);
  CHECK(word_of(none.judge(run_shell("cat >data/x"))) == kBoundary);
  CHECK(word_of(none.judge(run_shell("cat <data/x"))) == "ok");
  CHECK(
      reason_of(world, run_shell("cat a\"$x\"b | grep")).find(R"(the word "a"$x"b" at byte 4 )") ==
      0);
  CHECK(reason_of(world, run_shell("cat data/a | grep -f ../x")).find("\"grep\"") !=
        std::string::npos);
}

TEST_CASE("words without end take no time to speak of, or are refused") {
  std::string members(kPrograms);
  members += "path_rules: {denied_patterns: [";
  for (int pattern = 0; pattern < 32; ++pattern)
    members += "\"*x" + std::to_string(pattern) + "*y\", ";
  const BrokerWorld world(members + "z]}\n");
  const auto start = std::chrono::steady_clock::now();
  CHECK(word_of(world.judge(run_command({"cat", std::string(1UL << 20U, '=')}))) == kNotPermitted);
  CHECK(word_of(world.judge(run_command({"cat", "-" + std::string(1UL << 20U, 'a')}))) == "ok");
  CHECK(word_of(world.judge(run_command({"cat", std::string(1UL << 20U, '/') + "etc"}))) == "ok");
  Words many(1024, "a/b/c=d:e");
  many.front() = "cat";
  CHECK(word_of(world.judge(run_command(many))) == "ok");
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
}

}  // namespace aegis::policy
