// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a written path means once it is resolved, what is never granted, and how grants add up.
#include "confine/grants.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "tests/wrap/mounted.h"
#include "tests/wrap/scratch.h"

namespace {

namespace fs = std::filesystem;
using aegis::confine::describe;
using aegis::confine::is_within;
using aegis::confine::LinkOnTheWay;
using aegis::confine::PathGrant;
using aegis::confine::PathGrants;
using aegis::confine::resolve_grant;
using aegis::confine::ResolvedPath;
using aegis::confine::Rights;
using aegis::test::Scratch;

constexpr Rights kRead{};
constexpr Rights kWrite{.may_write = true, .may_execute = false};
constexpr Rights kExec{.may_write = false, .may_execute = true};
constexpr Rights kBoth{.may_write = true, .may_execute = true};

ResolvedPath resolved(std::string_view written, Rights rights = kRead) {
  auto result = resolve_grant(written, rights);
  INFO(written);
  REQUIRE_MESSAGE(result.is_ok(), describe(result.error()));
  return std::move(result).value();
}

std::string refused(std::string_view written, Rights rights = kRead) {
  const auto result = resolve_grant(written, rights);
  INFO(written);
  REQUIRE_FALSE(result.is_ok());
  return describe(result.error());
}

int code_of(std::string_view written) {
  const auto result = resolve_grant(written, kRead);
  return result ? 0 : result.error().code;
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// With the number that stat(2) gives it.
PathGrant grant(std::string_view path, Rights rights) {
  return {std::string(path), rights, true, {1, 1}};
}

std::vector<std::string> listed(const PathGrants& grants) {
  std::vector<std::string> lines;
  for (const PathGrant& each : grants.paths) {
    lines.push_back(each.path + (each.rights.may_write ? " w" : "") +
                    (each.rights.may_execute ? " x" : ""));
  }
  return lines;
}

TEST_CASE("a plain path resolves to itself, with its kind and identity") {
  const Scratch scratch;
  const std::string file = scratch.write("file", "x");
  const ResolvedPath it = resolved(file, kWrite);
  CHECK(it.grant.path == file);
  CHECK(it.grant.rights == kWrite);
  CHECK_FALSE(it.grant.is_directory);
  struct stat status {};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  CHECK(it.grant.id.device == status.st_dev);
  CHECK(it.grant.id.inode == status.st_ino);
  CHECK(it.links.empty());
  CHECK(resolved(scratch.folder()).grant.is_directory);
}

TEST_CASE("odd spellings of a path come to the same") {
  const Scratch scratch;
  fs::create_directories(scratch.path("a/b"));
  const std::string wanted = scratch.path("a/b");
  for (const char* spelling : {"/a/b/",
                               "//a///b",
                               "/./a/./b/.",
                               "/a/../a/b",
                               "/a/b/../../a/b",
                               "/../../../../../../../.."}) {
    CAPTURE(spelling);
    if (std::string_view(spelling).substr(0, 4) == "/../") {
      CHECK(has(refused(scratch.folder() + spelling), "grant: /: it holds everything"));
    } else {
      CHECK(resolved(scratch.folder() + spelling).grant.path == wanted);
    }
  }
}

TEST_CASE("a relative path starts at the working directory") {
  const Scratch scratch;
  fs::create_directory(scratch.path("here"));
  const fs::path before = fs::current_path();
  fs::current_path(scratch.folder());
  CHECK(resolved("here").grant.path == scratch.path("here"));
  CHECK(resolved("./here/../here").grant.path == scratch.path("here"));
  CHECK(resolved(".").grant.path == scratch.folder());
  fs::current_path(before);
}

TEST_CASE("links on the way are told, each by a place without links") {
  const Scratch scratch;
  fs::create_directories(scratch.path("real/inside"));
  fs::create_symlink("real", scratch.path("relative"));
  fs::create_symlink(scratch.path("relative/inside"), scratch.path("absolute"));
  fs::create_symlink("../inside/../inside", scratch.path("real/inside/loop"));

  const ResolvedPath it = resolved(scratch.path("absolute/loop"));
  CHECK(it.grant.path == scratch.path("real/inside"));
  const std::vector<LinkOnTheWay> wanted = {
      {scratch.path("absolute"), scratch.path("relative/inside")},
      {scratch.path("relative"), "real"},
      {scratch.path("real/inside/loop"), "../inside/../inside"}};
  CHECK(it.links == wanted);
}

TEST_CASE("a link that leads nowhere, or in a circle, is an error with its code") {
  const Scratch scratch;
  fs::create_symlink("nothing", scratch.path("dangling"));
  fs::create_symlink("circle", scratch.path("circle"));
  CHECK(code_of(scratch.path("dangling")) == ENOENT);
  CHECK(code_of(scratch.path("circle")) == ELOOP);
  CHECK(has(refused(scratch.path("dangling")), scratch.path("nothing")));
}

TEST_CASE("40 links on the way are followed, 41 are not") {
  const Scratch scratch;
  fs::create_directory(scratch.path("end"));
  std::string target = "end";
  for (int i = 1; i <= 41; ++i) {
    const std::string name = "link" + std::to_string(i);
    fs::create_symlink(target, scratch.path(name));
    target = name;
  }
  CHECK(resolved(scratch.path("link40")).links.size() == 40);
  CHECK(code_of(scratch.path("link41")) == ELOOP);
}

TEST_CASE("what is not there, or no folder where one must be, is said") {
  const Scratch scratch;
  const std::string file = scratch.write("file", "x");
  CHECK(has(refused(scratch.path("no/thing")), scratch.path("no/thing") + ": No such file"));
  CHECK(code_of(file + "/x") == ENOTDIR);
  CHECK(code_of(file + "/") == ENOTDIR);
  CHECK(code_of(file + "/.") == ENOTDIR);
  CHECK(code_of(file + "/..") == ENOTDIR);
  CHECK(code_of(scratch.path(std::string(300, 'x'))) == ENAMETOOLONG);
  CHECK(has(refused(""), "an empty path"));
  CHECK(has(refused(std::string_view("/usr\0/x", 7)), "NUL"));
}

TEST_CASE("sockets, FIFOs and devices are no grants") {
  const Scratch scratch;
  REQUIRE(::mkfifo(scratch.path("fifo").c_str(), 0600) == 0);
  CHECK(has(refused(scratch.path("fifo")), "only folders and regular files"));
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  scratch.path("socket").copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  CHECK(has(refused(scratch.path("socket")), "only folders and regular files"));
  ::close(fd);
  CHECK(has(refused("/dev/null"), "only folders and regular files"));
}

TEST_CASE("what stands for the whole system is never granted, by whatever name") {
  const Scratch scratch;
  fs::create_symlink("/", scratch.path("root"));
  fs::create_symlink("/proc", scratch.path("proc"));
  struct Row {
    std::string path;
    Rights rights;
    std::string_view says;
  };
  const Row rows[] = {
      {"/", kRead, "it holds everything"},
      {scratch.path("root"), kRead, "it holds everything"},
      {"/proc", kRead, "/proc of its own"},
      {scratch.path("proc"), kRead, "/proc of its own"},
      {scratch.path("root/proc/sys"), kRead, "/proc of its own"},
      {"/proc/self/root/usr", kRead, "a link in /proc"},
      {"/dev", kRead, "devices cannot be granted"},
      {"/dev/shm", kWrite, "devices cannot be granted"},
      {"/sys", kRead, "the whole kernel's"},
      {"/sys/kernel", kWrite, "only reading"},
      {"/sys/kernel", kExec, "only reading"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.path);
    CHECK(has(refused(row.path, row.rights), row.says));
  }
  CHECK(resolved("/sys/kernel").grant.path == "/sys/kernel");
}

TEST_CASE("a procfs is not granted under another name either") {
  const Scratch scratch;
  fs::create_directory(scratch.path("harmless"));
  CHECK(resolved(scratch.path("harmless")).grant.is_directory);
  aegis::test::check_where_bound({"/proc", scratch.path("harmless")}, [&] {
    const auto whole = resolve_grant(scratch.path("harmless"), kRead);
    const auto part = resolve_grant(scratch.path("harmless/sys"), kRead);
    return !whole && has(whole.error().doing, "it is a procfs") && !part &&
           has(part.error().doing, "it is a procfs");
  });
}

TEST_CASE("is_within goes by components") {
  CHECK(is_within("/a/b", "/a"));
  CHECK(is_within("/a", "/a"));
  CHECK(is_within("/a", "/"));
  CHECK_FALSE(is_within("/ab", "/a"));
  CHECK_FALSE(is_within("/", "/a"));
  CHECK_FALSE(is_within("/b/a", "/a"));
}

TEST_CASE("rights add up, whatever the order in which grants come") {
  const PathGrant all[] = {grant("/w", kWrite),
                           grant("/w/code", kExec),
                           grant("/w/code/deep", kRead),
                           grant("/w-x", kRead),
                           grant("/w-x/y", kWrite),
                           grant("/w-x", kExec)};
  const std::vector<std::string> wanted = {"/w w", "/w-x x", "/w-x/y w x", "/w/code w x"};
  std::vector<std::size_t> order = {0, 1, 2, 3, 4, 5};
  do {
    PathGrants grants;
    for (const std::size_t i : order)
      grants.add({all[i], {}});
    REQUIRE(listed(grants) == wanted);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("a grant that a folder above covers later goes") {
  PathGrants grants;
  grants.add({grant("/a/b/c", kExec), {}});
  grants.add({grant("/a", kWrite), {}});
  CHECK(listed(grants) == std::vector<std::string>{"/a w", "/a/b/c w x"});
  grants.add({grant("/a/b", kBoth), {}});
  CHECK(listed(grants) == std::vector<std::string>{"/a w", "/a/b w x"});
  grants.add({grant("/a", kExec), {}});
  CHECK(listed(grants) == std::vector<std::string>{"/a w x"});
}

TEST_CASE("the longest grant around a path decides") {
  PathGrants grants;
  grants.add({grant("/a", kRead), {}});
  grants.add({grant("/a/b", kWrite), {}});
  REQUIRE(grants.find("/a/b/c") != nullptr);
  CHECK(grants.find("/a/b/c")->path == "/a/b");
  CHECK(grants.find("/a/bc")->path == "/a");
  CHECK(grants.find("/a")->path == "/a");
  CHECK(grants.find("/") == nullptr);
  CHECK(grants.find("/ab") == nullptr);
}

TEST_CASE("links are kept once, sorted, and not where a granted folder holds them") {
  PathGrants grants;
  grants.add({grant("/data/x", kRead), {{"/z", "data"}, {"/a", "data/x"}}});
  grants.add({grant("/data/y", kRead), {{"/z", "data"}, {"/data/x/inside", "../y"}}});
  CHECK(grants.links == std::vector<LinkOnTheWay>{{"/a", "data/x"}, {"/z", "data"}});
  grants.add({grant("/q/r", kRead), {{"/q/link", "r"}}});
  CHECK(grants.links.size() == 3);
  grants.add({grant("/q", kRead), {}});
  CHECK(grants.links.size() == 2);
}

}  // namespace
