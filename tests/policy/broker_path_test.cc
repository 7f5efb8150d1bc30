// SPDX-License-Identifier: Apache-2.0 OR MIT
// Paths as written, under a policy: each spelling that leads out, each name of a secret, and the
// places that are left.
#include <chrono>
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "policy/broker_judge.h"
#include "policy/path.h"
#include "tests/policy/broker_world.h"

namespace aegis::policy {
namespace {

/// The normalised path with "/" before it, or the code of the refusal.
std::string judged(std::string_view written, const BrokerWorld& world) {
  const auto path = judge_path(written, world.judging());
  if (const auto* refused = std::get_if<mcp::Refused>(&path)) {
    CHECK_FALSE(refused->reason.empty());
    return std::string(to_string(refused->code));
  }
  return "/" + std::get<std::string>(path);
}

struct Row {
  std::string_view what;
  std::string written;
};

std::string repeated(std::string_view text, int count) {
  std::string out;
  for (int time = 0; time < count; ++time)
    out += text;
  return out;
}

}  // namespace

TEST_CASE("a path has one normal form") {
  const BrokerWorld world;
  CHECK(judged(".", world) == "/");
  CHECK(judged("./", world) == "/");
  CHECK(judged("./.", world) == "/");
  CHECK(judged("a", world) == "/a");
  CHECK(judged("a/", world) == "/a");
  CHECK(judged("./a//b/./c/.", world) == "/a/b/c");
  CHECK(judged("...", world) == "/...");
  CHECK(judged("..a/b..", world) == "/..a/b..");
  CHECK(judged("a b/\xC3\xA4", world) == "/a b/\xC3\xA4");
  CHECK(judged("-rf", world) == "/-rf");
}

TEST_CASE("no spelling leads out of the workspace") {
  const BrokerWorld world;
  const Row rows[] = {
      {"the parent", ".."},
      {"the parent, with a slash", "../"},
      {"above", "../../etc/passwd"},
      {"hidden in the middle", "a/../../etc/passwd"},
      {"back to where it was", "a/../a"},
      {"at the end", "a/.."},
      {"behind \".\"", "./.."},
      {"behind doubled slashes", "a//..//..//etc"},
      {"absolute", "/etc/passwd"},
      {"absolute root", "/"},
      {"absolute, doubled", "//etc/passwd"},
      {"absolute and inside", "/w/a"},
      {"empty", ""},
      {"a NUL", std::string("a\0b", 3)},
      {"a NUL that ends it", std::string("a\0", 2)},
      {"a newline", "a\nb"},
      {"a carriage return", "a\rb"},
      {"an escape", "a\x1B[2Jb"},
      {"a DEL", "a\x7F"},
      {"over 4096 bytes", std::string(4097, 'a')},
      {"over 4096 bytes of dots", repeated("./", 2049)},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    CHECK(judged(row.written, world) == "PATH_BOUNDARY_VIOLATION");
  }
}

TEST_CASE("what only looks like a way out is a name like others") {
  const BrokerWorld world;
  for (const std::string_view name : {"%2e%2e%2fetc",
                                      "..%2f..",
                                      "..\\..\\etc",
                                      "~",
                                      "~root/x",
                                      "$HOME",
                                      "\xE2\x80\xA6/etc",
                                      "\xEF\xBC\x8E\xEF\xBC\x8E/etc",
                                      "file:",
                                      "C:\\x"}) {
    CAPTURE(name);
    CHECK(judged(name, world) == "/" + std::string(name));
  }
}

TEST_CASE("a secret is refused wherever its name stands, whatever the policy") {
  const BrokerWorld world("path_rules: {allowed_subpaths: [.ssh, a]}\n");
  for (const std::string_view path : {".ssh/config",
                                      "a/.ENV",
                                      "a/.env.local/x",
                                      "a/id_rsa",
                                      "a/./server.PEM",
                                      "a/.\xC5\xBFsh",
                                      "elsewhere/credentials"}) {
    CAPTURE(path);
    CHECK(judged(path, world) == "SENSITIVE_TARGET_DENIED");
  }
  CHECK(judged("../.ssh/id_rsa", world) == "PATH_BOUNDARY_VIOLATION");
  CHECK(judged("/root/.ssh", world) == "PATH_BOUNDARY_VIOLATION");
}

TEST_CASE("what is revealed is one name, whatever its case, and no other") {
  const BrokerWorld world("path_rules: {denied_patterns: [\"*.pem\"]}\n",
                          {".env", "Server.KEY", "*.pfx", "a.pem"});
  CHECK(judged("a/.env", world) == "/a/.env");
  CHECK(judged(".ENV", world) == "/.ENV");
  CHECK(judged("server.key", world) == "/server.key");
  CHECK(judged(".env.local", world) == "SENSITIVE_TARGET_DENIED");
  CHECK(judged("other.key", world) == "SENSITIVE_TARGET_DENIED");
  CHECK(judged("a.pfx", world) == "SENSITIVE_TARGET_DENIED");
  CHECK(judged(".env/.ssh", world) == "SENSITIVE_TARGET_DENIED");
  // A pattern of the policy's own is not taken away.
  CHECK(judged("a.pem", world) == "SENSITIVE_TARGET_DENIED");
}

TEST_CASE("denied patterns add to the secrets") {
  const BrokerWorld world(
      "path_rules: {denied_patterns: [\"*.bak\", private/**, \"build/*/tmp\"]}\n");
  for (const std::string_view path :
       {"x.bak", "a/X.BAK/b", "private", "private/a/b", "./private//a", "build/x/tmp/y"}) {
    CAPTURE(path);
    CHECK(judged(path, world) == "SENSITIVE_TARGET_DENIED");
  }
  for (const std::string_view path : {"bak", "a/private", "build/tmp", "build/x/y/tmp"}) {
    CAPTURE(path);
    CHECK(judged(path, world) == "/" + std::string(path));
  }
}

TEST_CASE("allowed subpaths are whole components") {
  const BrokerWorld world("path_rules: {allowed_subpaths: [data, ./docs//public/]}\n");
  for (const std::string_view path : {"data", "data/a", "docs/public", "docs/public/x/y"}) {
    CAPTURE(path);
    CHECK(judged(path, world) == "/" + std::string(path));
  }
  for (const std::string_view path : {".",
                                      "data2",
                                      "datax/a",
                                      "Data",
                                      "docs",
                                      "docs/private",
                                      "docs/publicity",
                                      "a/data",
                                      "dat"}) {
    CAPTURE(path);
    CHECK(judged(path, world) == "PATH_BOUNDARY_VIOLATION");
  }
  const auto refused = judge_path("src", world.judging());
  REQUIRE(std::holds_alternative<mcp::Refused>(refused));
  CHECK(std::get<mcp::Refused>(refused).reason.find("\"data\" and \"docs/public\"") !=
        std::string::npos);
}

TEST_CASE("a folder is outside of, above or inside of the subpaths") {
  const std::vector<std::string> subpaths{"a/b", "c"};
  CHECK(place_of("", {}) == Place::inside);
  CHECK(place_of("x/y", {}) == Place::inside);
  CHECK(place_of("", subpaths) == Place::above);
  CHECK(place_of("a", subpaths) == Place::above);
  CHECK(place_of("a/b", subpaths) == Place::inside);
  CHECK(place_of("a/b/c", subpaths) == Place::inside);
  CHECK(place_of("c/x", subpaths) == Place::inside);
  CHECK(place_of("a/bb", subpaths) == Place::outside);
  CHECK(place_of("a/x", subpaths) == Place::outside);
  CHECK(place_of("b", subpaths) == Place::outside);
  const std::vector<std::string> root{""};
  CHECK(place_of("", root) == Place::inside);
  CHECK(place_of("x", root) == Place::inside);
}

TEST_CASE("what a walk finds is hidden by its name or by where it is") {
  const BrokerWorld world("path_rules: {allowed_subpaths: [data], denied_patterns: [tmp/old]}\n",
                          {"a.key"});
  const Judging judging = world.judging();
  CHECK(is_hidden(".env", judging));
  CHECK(is_hidden("x/\xFF.pem/y", judging));
  CHECK(is_hidden("tmp/old/a", judging));
  CHECK_FALSE(is_hidden("", judging));
  CHECK_FALSE(is_hidden("old", judging));
  CHECK_FALSE(is_hidden("a.key", judging));
  CHECK_FALSE(is_hidden("outside/of/data", judging));
}

TEST_CASE("a reason repeats nothing that moves a cursor, and is short") {
  const BrokerWorld world;
  for (const std::string& path :
       {std::string("a\x1B[2J\n"), std::string(5000, 'x'), std::string("\xE2\x80\xAE/../x")}) {
    const auto refused = judge_path(path, world.judging());
    REQUIRE(std::holds_alternative<mcp::Refused>(refused));
    const std::string& reason = std::get<mcp::Refused>(refused).reason;
    CHECK(reason.size() < 400);
    for (const char byte : reason)
      CHECK(static_cast<unsigned char>(byte) >= 0x20);
    CHECK(reason.find("\xE2\x80\xAE") == std::string::npos);
  }
}

TEST_CASE("deep and long paths take no time to speak of") {
  std::string members = "path_rules: {denied_patterns: [";
  for (int pattern = 0; pattern < 32; ++pattern)
    members += "\"*x" + std::to_string(pattern) + "*y\", ";
  const BrokerWorld world(members + "\"**/a/b/**/c\"]}\n");
  const std::string deep = repeated("a/", 2047) + "a";
  const auto start = std::chrono::steady_clock::now();
  CHECK(judged(deep, world) == "/" + deep);
  CHECK(judged(repeated("a/b/", 1000) + "d", world).size() == 4002);
  CHECK(judged(std::string(4096, 'x'), world).size() == 4097);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(2));
}

}  // namespace aegis::policy
