// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a workspace's files give out, and what nothing in it makes it give out.
#include "confine/workspace.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>

#include <doctest/doctest.h>

#include "tests/confine/workspace_site.h"

namespace aegis::confine {
namespace {

namespace fs = std::filesystem;

bool mount_on(const std::string& folder, const std::string& place) {
  return ::mount(folder.c_str(), place.c_str(), "", MS_BIND | MS_REC, nullptr) == 0;
}

std::string why_not(const std::string& root) {
  const Result<Workspace> opened = Workspace::open(root);
  return opened ? "opened" : describe(opened.error());
}

}  // namespace

TEST_CASE("a file is read whole up to what is asked for, and says when it was cut") {
  const Site site;
  site.write("ws/a/b", "0123456789");
  site.write("ws/empty", "");
  const Workspace workspace = site.open();
  CHECK(outcome(workspace.read("a/b", kPlenty)) == "text:0123456789");
  CHECK(outcome(workspace.read("a/b", 10)) == "text:0123456789");
  CHECK(outcome(workspace.read("a/b", 9)) == "cut:012345678");
  CHECK(outcome(workspace.read("a/b", 0)) == "cut:");
  CHECK(outcome(workspace.read("empty", 0)) == "text:");
  CHECK(outcome(workspace.read("a/b", SIZE_MAX)) == "text:0123456789");
  CHECK(outcome(workspace.read("./a//b", kPlenty)) == "text:0123456789");
}

TEST_CASE("no spelling of a path leads out") {
  const Site site;
  site.write("ws/a/b", "b");
  const Workspace workspace = site.open();
  struct Row {
    std::string path;
    std::string_view outcome;
  };
  const Row rows[] = {
      {"../outside/secret", "linked"},
      {"a/../../outside/secret", "linked"},
      {"a/../a/b", "linked"},  // not out, but it needs no "..", either
      {"./../outside/secret", "linked"},
      {"a/b/..", "linked"},
      {"..", "linked"},
      {"/etc/passwd", "linked"},
      {"//etc/passwd", "linked"},
      {site.path("ws/a/b"), "linked"},
      {site.path("outside/secret"), "linked"},
      {"a/b/", "text:b"},
      {"a\\..\\..\\outside\\secret", "not_found"},
      {"%2e%2e/outside/secret", "not_found"},
      {"..%2foutside%2fsecret", "not_found"},
      {".../outside/secret", "not_found"},
      {"\u2024\u2024/outside/secret", "not_found"},
      {"\xC0\xAE\xC0\xAE/outside/secret", "not_found"},
      {std::string("a/b\0.txt", 8), "not_found"},
      {std::string("\0", 1), "not_found"},
      {std::string(256, 'x'), "not_found"},
      {std::string(5000, 'x'), "not_found"},
      {"a/b/c", "not_found"},
      {"a", "not_regular"},
      {"", "not_regular"},
      {".", "not_regular"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.path);
    CHECK(outcome(workspace.read(row.path, kPlenty)) == row.outcome);
  }
}

TEST_CASE("a symbolic link is refused wherever it stands and wherever it points") {
  const Site site;
  site.write("ws/inside/deep/file", "inside");
  fs::create_symlink(site.path("outside"), site.path("ws/first"));
  fs::create_symlink(site.path("outside"), site.path("ws/inside/middle"));
  fs::create_symlink(site.path("outside/secret"), site.path("ws/inside/last"));
  fs::create_symlink("inside/deep/file", site.path("ws/home_bound"));
  fs::create_symlink("deep", site.path("ws/inside/down"));
  fs::create_symlink("nowhere", site.path("ws/dangling"));
  fs::create_symlink("loop", site.path("ws/loop"));
  fs::create_symlink("/proc/self/root", site.path("ws/magic"));
  fs::create_symlink("/proc/self/environ", site.path("ws/environ"));
  const Workspace workspace = site.open();
  for (const char* path : {"first/secret",
                           "inside/middle/secret",
                           "inside/last",
                           "home_bound",
                           "inside/down/file",
                           "dangling",
                           "loop",
                           "loop/x",
                           "magic/etc/passwd",
                           "environ",
                           "first",
                           "first/"}) {
    CAPTURE(path);
    CHECK(outcome(workspace.read(path, kPlenty)) == "linked");
    CHECK(outcome(workspace.resolve(path)) == "linked");
    CHECK(outcome(workspace.list(path, {}, {})) == "linked");
  }
}

TEST_CASE("nothing but a regular file with one name is read") {
  const Site site;
  fs::create_hard_link(site.path("outside/secret"), site.path("ws/hard"));
  REQUIRE(::mkfifo(site.path("ws/fifo").c_str(), 0600) == 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  site.path("ws/socket").copy(address.sun_path, sizeof address.sun_path - 1);
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  const Workspace workspace = site.open();
  CHECK(outcome(workspace.read("hard", kPlenty)) == "many_links");
  CHECK(outcome(workspace.resolve("hard")) == "many_links");
  for (const char* path : {"fifo", "socket"}) {
    CAPTURE(path);
    CHECK(outcome(workspace.read(path, kPlenty)) == "not_regular");
    CHECK(outcome(workspace.resolve(path)) == "not_regular");
    CHECK(outcome(workspace.list(path, {}, {})) == "not_a_folder");
  }
}

TEST_CASE("a device is refused without being opened") {
  const Site site;
  if (::mknod(site.path("ws/device").c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0) {
    MESSAGE("skipped: this user cannot make a device");
    return;
  }
  CHECK(outcome(site.open().read("device", kPlenty)) == "not_regular");
}

TEST_CASE("of a sparse file of a terabyte only what was asked for is read") {
  const Site site;
  site.write("ws/sparse", "x");
  constexpr off_t kTerabyte = off_t{1} << 40U;
  if (::truncate(site.path("ws/sparse").c_str(), kTerabyte) != 0) {
    MESSAGE("skipped: the file system has no such files");
    return;
  }
  const auto read = site.open().read("sparse", kPlenty);
  const auto* file = std::get_if<ReadFile>(&read);
  REQUIRE(file != nullptr);
  CHECK(file->bytes.size() == kPlenty);
  CHECK(file->is_cut);
}

TEST_CASE("a name may be any bytes") {
  const Site site;
  const std::string names[] = {
      "new\nline", "\xFF\xFE", " ", "-rf", "a\tb\\", "\x1B[2J", "\u202Etxt"};
  for (const std::string& name : names)
    site.write("ws/" + name, name);
  const Workspace workspace = site.open();
  for (const std::string& name : names)
    CHECK(outcome(workspace.read(name, kPlenty)) == "text:" + name);
}

TEST_CASE("what may be written is told by its path and its identity") {
  const Site site;
  site.write("ws/out/file", "x");
  const Workspace workspace = site.open();
  struct stat status {};
  REQUIRE(::stat(site.path("ws/out").c_str(), &status) == 0);
  const auto folder = workspace.resolve("out/");
  REQUIRE(std::holds_alternative<PathGrant>(folder));
  const auto& grant = std::get<PathGrant>(folder);
  CHECK(grant.path == site.path("ws/out"));
  CHECK(grant.id == FileId{status.st_dev, status.st_ino});
  CHECK(grant.is_directory);
  CHECK(grant.rights == Rights{.may_write = true});
  CHECK(outcome(workspace.resolve("out/file")) == site.path("ws/out/file"));
  CHECK(outcome(workspace.resolve("")) == site.path("ws"));
  CHECK(outcome(workspace.resolve("none")) == "not_found");
  CHECK(outcome(workspace.resolve("../outside")) == "linked");
}

TEST_CASE("a root that is no folder of its own is refused, and the refusal says what to do") {
  const Site site;
  site.write("file", "x");
  fs::create_directory_symlink("ws", site.path("link"));
  fs::create_directory_symlink(site.path("ws"), site.path("outside/up"));
  CHECK(why_not(site.path("link")).find("name the folder itself") != std::string::npos);
  CHECK(why_not(site.path("link/")).find("name the folder itself") != std::string::npos);
  CHECK(why_not(site.path("link/.//.")).find("name the folder itself") != std::string::npos);
  CHECK(why_not(site.path("file")).find("Not a directory") != std::string::npos);
  CHECK(why_not(site.path("none")).find("No such file") != std::string::npos);
  CHECK(why_not("ws").find("not absolute") != std::string::npos);
  CHECK(why_not("").find("not absolute") != std::string::npos);
  CHECK(why_not(site.path("ws") + std::string("\0x", 2)).find("NUL") != std::string::npos);
  CHECK(why_not("/").find("name the folders") != std::string::npos);
  CHECK(why_not("/proc/self/cwd").find("symbolic link") != std::string::npos);
  CHECK(why_not("/proc/1").find("/proc") != std::string::npos);
}

TEST_CASE("links above the root are the user's, and the root is known without them") {
  const Site site;
  site.write("ws/sub/a", "a");
  fs::create_directory_symlink("ws", site.path("link"));
  const Result<Workspace> opened = Workspace::open(site.path("link/sub/"));
  REQUIRE(opened.is_ok());
  CHECK(opened->root() == site.path("ws/sub"));
  CHECK(outcome(opened->read("a", kPlenty)) == "text:a");
}

TEST_CASE("a root that is removed or replaced after it was opened is never another folder") {
  const Site site;
  site.write("ws/a", "ours");
  const Workspace workspace = site.open();
  fs::rename(site.path("ws"), site.path("moved"));
  site.write("ws/a", "theirs");
  site.write("ws/b", "theirs");
  CHECK(outcome(workspace.read("a", kPlenty)) == "text:ours");
  CHECK(outcome(workspace.read("b", kPlenty)) == "not_found");
  fs::remove_all(site.path("moved"));
  CHECK(outcome(workspace.read("a", kPlenty)) == "not_found");
  CHECK(outcome(workspace.list("", {}, {})) == "not_found");
  CHECK_FALSE(workspace.snapshot({}, {}).is_ok());
}

TEST_CASE("what this user may not read is told as that, not as missing") {
  const Site site;
  site.write("ws/mine", "x");
  site.write("ws/open", "x");
  site.write("ws/closed/a", "x");
  fs::permissions(site.path("ws"), fs::perms(0755));
  fs::permissions(site.path("ws/open"), fs::perms(0644));
  fs::permissions(site.path("ws/mine"), fs::perms::none);
  fs::permissions(site.path("ws/closed"), fs::perms::none);
  const Workspace workspace = site.open();
  CHECK(run_forked([&workspace] {
          constexpr uid_t kNobody = 65534;
          if (::getuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0) return kNotPossible;
          // As aegis is while it holds a key; its /proc/self is root's then (proc(5)).
          ::prctl(PR_SET_DUMPABLE, 0);
          return first_wrong({
              {outcome(workspace.read("open", kPlenty)), "text:x"},
              {outcome(workspace.read("mine", kPlenty)), "not_readable"},
              {outcome(workspace.read("closed/a", kPlenty)), "not_readable"},
              {outcome(workspace.list("closed", {}, {})), "not_readable"},
              {outcome(workspace.list("", {.max_depth = 3}, {})), "closed/ mine open cut"},
              {outcome(workspace.snapshot({}, {}).value()), "closed/ open"},
          });
        }) == 0);
  fs::permissions(site.path("ws/closed"), fs::perms::owner_all);
}

TEST_CASE("a mounted folder belongs to the workspace, and a procfs in it is not read") {
  const Site site;
  fs::create_directory(site.path("ws/processes"));
  fs::create_directory(site.path("ws/mounted"));
  const int code = run_forked([&site] {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
        !mount_on("/proc", site.path("ws/processes")) ||
        !mount_on(site.path("outside"), site.path("ws/mounted"))) {
      return kNotPossible;
    }
    const Workspace workspace = site.open();
    const std::string own = "processes/" + std::to_string(::getpid());
    const std::string all = "mounted/ mounted/secret processes/";
    return first_wrong({
        {outcome(workspace.read("processes/version", kPlenty)), "not_regular"},
        {outcome(workspace.read("processes/self/environ", kPlenty)), "linked"},
        {outcome(workspace.read(own + "/environ", kPlenty)), "not_regular"},
        {outcome(workspace.read(own + "/root/etc/passwd", kPlenty)), "linked"},
        {outcome(workspace.list("processes", {}, {})), "not_readable"},
        {outcome(workspace.resolve(own)), "not_readable"},
        {outcome(workspace.list("", {.max_depth = 2}, {})), all},
        {outcome(workspace.snapshot({}, {}).value()), all},
        {outcome(workspace.read("mounted/secret", kPlenty)), "text:" + std::string(kSecret)},
    });
  });
  if (code == kNotPossible) {
    MESSAGE("skipped: no mount in a user namespace of one's own");
    return;
  }
  CHECK(code == 0);
}

}  // namespace aegis::confine
