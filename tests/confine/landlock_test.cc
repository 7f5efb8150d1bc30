// SPDX-License-Identifier: Apache-2.0 OR MIT
// The ruleset against the kernel: children that bind themselves by it and try what they may and
// what they may not.
#include "confine/landlock.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/confine/forked.h"
#include "tests/wrap/scratch.h"

namespace {

using aegis::confine::FileId;
using aegis::confine::landlock_abi;
using aegis::confine::Network;
using aegis::confine::PathGrant;
using aegis::confine::Result;
using aegis::confine::Rights;
using aegis::confine::Ruleset;
using aegis::test::Found;
using aegis::test::run_forked;
using aegis::test::Scratch;
using aegis::test::set_no_new_privs;

constexpr Rights kRead = {};
constexpr Rights kWrite = {true, false};
constexpr Rights kExecute = {false, true};

/// Whether a test that needs this ABI can run. AEGIS_REQUIRE_ABI=n makes the lack a failure.
bool has_abi(int needed) {
  if (landlock_abi() >= needed) return true;
  const char* const required = std::getenv("AEGIS_REQUIRE_ABI");
  if (required != nullptr) CHECK(std::atoi(required) < needed);
  MESSAGE("skipped: 1: needs Landlock ABI " << needed << ", here is " << landlock_abi());
  return false;
}

PathGrant grant(const std::string& path, Rights rights) {
  struct stat status = {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return {path, rights, S_ISDIR(status.st_mode), FileId{status.st_dev, status.st_ino}};
}

struct Attempt {
  std::string what;
  int expected;                    // errno, or 0
  std::function<int()> carry_out;  // what a system call gives
};

int errno_of(const std::function<int()>& call) {
  errno = 0;
  return call() < 0 ? errno : 0;
}

/// Tries them all in a child under a ruleset with these grants.
void check_under(const Ruleset::Options& options,
                 const std::vector<PathGrant>& grants,
                 const std::vector<Attempt>& attempts) {
  struct Errors {
    int enforced = -1;
    std::array<int, 64> each = {};
  };
  Result<Ruleset> ruleset = Ruleset::make(options);
  REQUIRE(ruleset.is_ok());
  REQUIRE(ruleset->allow(grants).is_ok());
  REQUIRE(attempts.size() <= std::tuple_size_v<decltype(Errors::each)>);
  const Found<Errors> found = run_forked<Errors>([&](Errors& errors) {
    if (!set_no_new_privs()) return;
    errors.enforced = ruleset->enforce();
    for (std::size_t i = 0; i < attempts.size(); ++i) {
      errors.each[i] = errno_of(attempts[i].carry_out);
    }
  });
  REQUIRE(found.has_ended_well());
  REQUIRE(found.value.enforced == 0);
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    CAPTURE(options.abi);
    CAPTURE(attempts[i].what);
    CHECK(found.value.each[i] == attempts[i].expected);
  }
}

Ruleset::Options all_of_it(Network network = Network::none) {
  return {landlock_abi(), network};
}

std::function<int()> open_for(std::string path, int flags) {
  return [path = std::move(path), flags] { return ::open(path.c_str(), flags | O_CLOEXEC, 0600); };
}

template <class Function, class... Arguments>
std::function<int()> with_path(Function* function, std::string path, Arguments... arguments) {
  return [=, path = std::move(path)] { return function(path.c_str(), arguments...); };
}

std::function<int()> with_paths(int (*function)(const char*, const char*),
                                std::string from,
                                std::string to) {
  return [=, from = std::move(from), to = std::move(to)] {
    return function(from.c_str(), to.c_str());
  };
}

/// Folders `granted` and `other`, each with a file `file` and a folder `sub`.
struct Tree {
  Tree() {
    for (const char* const folder : {"granted", "other", "granted/sub", "other/sub"}) {
      REQUIRE(::mkdir(scratch.path(folder).c_str(), 0700) == 0);
    }
    scratch.write("granted/file", "x");
    scratch.write("other/file", "x");
  }
  [[nodiscard]] std::string path(const std::string& name) const { return scratch.path(name); }
  Scratch scratch;
};

TEST_CASE("reading is reading, listing and nothing else") {
  if (!has_abi(3)) return;
  const Tree tree;
  const std::string file = tree.path("granted/file");
  check_under(
      all_of_it(),
      {grant(tree.path("granted"), kRead)},
      {{"read", 0, open_for(file, O_RDONLY)},
       {"list", 0, open_for(tree.path("granted/sub"), O_RDONLY | O_DIRECTORY)},
       {"write", EACCES, open_for(file, O_WRONLY)},
       {"append", EACCES, open_for(file, O_WRONLY | O_APPEND)},
       {"truncate by open", EACCES, open_for(file, O_RDONLY | O_TRUNC)},
       {"truncate", EACCES, with_path(::truncate, file, off_t{0})},
       {"create", EACCES, open_for(tree.path("granted/new"), O_CREAT | O_WRONLY)},
       {"make a folder", EACCES, with_path(::mkdir, tree.path("granted/new"), mode_t{0700})},
       {"make a pipe", EACCES, with_path(::mkfifo, tree.path("granted/new"), mode_t{0600})},
       {"link", EACCES, with_paths(::link, file, tree.path("granted/new"))},
       {"link softly", EACCES, with_paths(::symlink, "x", tree.path("granted/new"))},
       {"rename", EACCES, with_paths(::rename, file, tree.path("granted/new"))},
       {"unlink", EACCES, with_path(::unlink, file)},
       {"remove a folder", EACCES, with_path(::rmdir, tree.path("granted/sub"))},
       {"read elsewhere", EACCES, open_for(tree.path("other/file"), O_RDONLY)},
       {"list elsewhere", EACCES, open_for(tree.path("other"), O_RDONLY | O_DIRECTORY)},
       {"read by ..", EACCES, open_for(tree.path("granted/../other/file"), O_RDONLY)}});
}

TEST_CASE("writing is all that one does in a folder, but no devices and no programs") {
  if (!has_abi(3)) return;
  const Tree tree;
  const std::string file = tree.path("granted/file");
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  tree.path("granted/socket").copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto* const at = static_cast<const sockaddr*>(static_cast<const void*>(&address));
  REQUIRE(::chmod(file.c_str(), 0700) == 0);
  check_under(
      all_of_it(),
      {grant(tree.path("granted"), kWrite)},
      {{"read", 0, open_for(file, O_RDONLY)},
       {"write", 0, open_for(file, O_WRONLY | O_TRUNC)},
       {"truncate", 0, with_path(::truncate, file, off_t{0})},
       {"execute", EACCES, [&] { return ::execl(file.c_str(), "file", nullptr); }},
       {"create", 0, open_for(tree.path("granted/new"), O_CREAT | O_EXCL | O_WRONLY)},
       {"rename to another folder",
        0,
        with_paths(::rename, tree.path("granted/new"), tree.path("granted/sub/new"))},
       {"link to another folder", 0, with_paths(::link, file, tree.path("granted/sub/hard"))},
       {"link softly", 0, with_paths(::symlink, "x", tree.path("granted/soft"))},
       {"make a pipe", 0, with_path(::mkfifo, tree.path("granted/pipe"), mode_t{0600})},
       {"make a socket", 0, [=] { return ::bind(socket, at, sizeof(address)); }},
       {"make a folder", 0, with_path(::mkdir, tree.path("granted/folder"), mode_t{0700})},
       {"remove a folder", 0, with_path(::rmdir, tree.path("granted/folder"))},
       {"unlink", 0, with_path(::unlink, tree.path("granted/sub/new"))},
       {"make a device",
        EACCES,
        with_path(::mknod, tree.path("granted/null"), mode_t{S_IFCHR | 0600}, dev_t{0x103})},
       {"rename out", EACCES, with_paths(::rename, file, tree.path("other/new"))},
       {"link in", EXDEV, with_paths(::link, tree.path("other/file"), tree.path("granted/y"))},
       {"write elsewhere", EACCES, open_for(tree.path("other/file"), O_WRONLY)}});
  ::close(socket);
}

TEST_CASE("a file takes the rights of a file, whatever they are") {
  if (!has_abi(3)) return;
  const Tree tree;
  const std::string file = tree.path("granted/file");
  check_under(all_of_it(),
              {grant(file, {true, true})},
              {{"write", 0, open_for(file, O_RDWR | O_TRUNC)},
               {"its folder", EACCES, open_for(tree.path("granted"), O_RDONLY | O_DIRECTORY)},
               {"replace it", EACCES, with_path(::unlink, file)}});
}

TEST_CASE("programs run where that is granted alone") {
  if (!has_abi(3)) return;
  const auto run = [] { return ::execl("/bin/true", "true", nullptr); };
  std::vector<PathGrant> readable;
  std::vector<PathGrant> executable;
  for (const char* const folder : {"/usr", "/lib", "/lib64", "/bin", "/etc"}) {
    const std::string path = std::filesystem::canonical(folder).string();
    readable.push_back(grant(path, kRead));
    executable.push_back(grant(path, kExecute));
  }
  check_under(all_of_it(), readable, {{"run", EACCES, run}});
  check_under(all_of_it(), executable, {{"run, and be gone", 0, run}});
}

TEST_CASE("a device takes orders where it may be written") {
  if (!has_abi(5)) return;
  const auto order = [] {
    termios terminal = {};
    const int device = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    return ::ioctl(device, TCGETS, &terminal);
  };
  check_under(all_of_it(), {grant("/dev/null", kWrite)}, {{"order", ENOTTY, order}});
  check_under(all_of_it(), {grant("/dev/null", kRead)}, {{"order", EACCES, order}});
}

int with_tcp(int (*call)(int, const sockaddr*, socklen_t), std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* const at = static_cast<const sockaddr*>(static_cast<const void*>(&address));
  return call(socket, at, sizeof(address));
}

TEST_CASE("tcp is bound and connected by nobody unless the network is unconfined") {
  if (!has_abi(4)) return;
  constexpr std::uint16_t kClosedPort = 1;
  const auto attempts = [](int bind, int connect) -> std::vector<Attempt> {
    return {{"bind", bind, [] { return with_tcp(::bind, 0); }},
            {"connect", connect, [] { return with_tcp(::connect, kClosedPort); }}};
  };
  check_under(all_of_it(Network::none), {}, attempts(EACCES, EACCES));
  check_under(all_of_it(Network::granted), {}, attempts(EACCES, EACCES));
  check_under(all_of_it(Network::unconfined), {}, attempts(0, ECONNREFUSED));
}

TEST_CASE("signals and abstract sockets do not leave, whatever the network") {
  if (!has_abi(6)) return;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string name = "aegis-test-" + std::to_string(::getpid());
  name.copy(address.sun_path + 1, sizeof(address.sun_path) - 1);
  const auto* const at = static_cast<const sockaddr*>(static_cast<const void*>(&address));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(::bind(listener, at, size) == 0);
  REQUIRE(::listen(listener, 16) == 0);
  const auto connect = [=] {
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return ::connect(socket, at, size);
  };
  CHECK(errno_of(connect) == 0);
  for (const Network network : {Network::none, Network::granted, Network::unconfined}) {
    check_under(all_of_it(network),
                {},
                {{"signal to the parent", EPERM, [] { return ::kill(::getppid(), 0); }},
                 {"signal to itself", 0, [] { return ::kill(::getpid(), 0); }},
                 {"abstract socket of the host", EPERM, connect}});
  }
  ::close(listener);
}

TEST_CASE("every older ABI is made and enforced with what it has") {
  if (!has_abi(1)) return;
  const Tree tree;
  for (int abi = 1; abi <= landlock_abi(); ++abi) {
    const int network = abi >= 4 ? EACCES : 0;
    const int truncation = abi >= 3 ? EACCES : 0;
    check_under({abi, Network::none},
                {grant(tree.path("granted"), kWrite), grant(tree.path("other/file"), kRead)},
                {{"write", 0, open_for(tree.path("granted/file"), O_RDWR)},
                 {"write elsewhere", EACCES, open_for(tree.path("other/file"), O_RDWR)},
                 {"truncate", truncation, with_path(::truncate, tree.path("other/file"), off_t{0})},
                 {"bind", network, [] { return with_tcp(::bind, 0); }}});
  }
}

TEST_CASE("a path that is no longer what was resolved is not granted") {
  if (!has_abi(1)) return;
  const Tree tree;
  Result<Ruleset> ruleset = Ruleset::make(all_of_it());
  REQUIRE(ruleset.is_ok());
  const std::string folder = tree.path("granted");
  const std::vector<PathGrant> grants = {grant(folder, kRead)};
  CHECK(ruleset->allow(grants).is_ok());

  REQUIRE(::rename(folder.c_str(), tree.path("moved").c_str()) == 0);
  Result<void> allowed = ruleset->allow(grants);
  REQUIRE_FALSE(allowed.is_ok());
  CHECK(allowed.error().code == ENOENT);

  REQUIRE(::symlink("moved", folder.c_str()) == 0);
  allowed = ruleset->allow(grants);
  REQUIRE_FALSE(allowed.is_ok());
  // The link itself is what stands there now: it is opened, never followed.
  CHECK(describe(allowed.error()).find("another file has taken its place") != std::string::npos);

  REQUIRE(::unlink(folder.c_str()) == 0);
  REQUIRE(::mkdir(folder.c_str(), 0700) == 0);
  allowed = ruleset->allow(grants);
  REQUIRE_FALSE(allowed.is_ok());
  CHECK(describe(allowed.error()) ==
        "grant: " + folder + ": another file has taken its place; start again");
}

TEST_CASE("a kernel without Landlock, or one that refuses, is an error") {
  CHECK_FALSE(Ruleset::make({0, Network::none}).is_ok());
  if (!has_abi(1)) return;
  Result<Ruleset> ruleset = Ruleset::make(all_of_it());
  REQUIRE(ruleset.is_ok());
  // Without no_new_privs and without capabilities (landlock_restrict_self(2): EPERM).
  const Found<int> found = run_forked<int>([&](int& code) {
    if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) < 0) return;
    code = ruleset->enforce();
  });
  CHECK(found.value == EPERM);
}

}  // namespace
