// SPDX-License-Identifier: Apache-2.0 OR MIT
// A confined child from start to end: what it is told, what it says, what is left of it. What it
// cannot do is tried by tests/probes.
#include "confine/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "tests/confine/sandbox.h"

namespace aegis::confine {
namespace {

constexpr Tier kTiers[] = {Tier::full, Tier::landlock};

}  // namespace

TEST_CASE("a program runs in each tier, and its output and status come out") {
  for (const Tier tier : kTiers) {
    if (!has_tier(tier)) continue;
    CAPTURE(to_string(tier));
    const Ran ran = run_confined(shell_spec(tier, "echo hello; echo oh >&2; exit 3"));
    CHECK(ran.failure == "");
    CHECK(ran.output == "hello\n");
    CHECK(ran.errors == "oh\n");
    REQUIRE(ran.status);
    CHECK(WEXITSTATUS(*ran.status) == 3);
  }
}

TEST_CASE("a signal that ends the program is told") {
  for (const Tier tier : kTiers) {
    if (!has_tier(tier)) continue;
    const Ran ran = run_confined(shell_spec(tier, "kill -ABRT $$"));
    REQUIRE(ran.status);
    CHECK(WIFSIGNALED(*ran.status));
    CHECK(WTERMSIG(*ran.status) == SIGABRT);
  }
}

TEST_CASE("a program that cannot be executed is a failure with exec's errno, never a start") {
  for (const Tier tier : kTiers) {
    if (!has_tier(tier)) continue;
    Spec spec = shell_spec(tier, "true");
    spec.program = "/usr/lib/os-release";  // there, readable, and no program
    Ran ran = run_confined(std::move(spec));
    CHECK(ran.failed.stage == Stage::exec);
    CHECK(ran.failed.code == EACCES);
    CHECK_FALSE(ran.status);

    spec = shell_spec(tier, "true");
    spec.program = "/usr/bin/this-is-not-there";
    ran = run_confined(std::move(spec));
    CHECK(ran.failed.stage == Stage::exec);
    CHECK(ran.failed.code == ENOENT);
  }
}

TEST_CASE("in tier full only what was granted exists") {
  if (!has_tier(Tier::full)) return;
  Scratch scratch;
  scratch.write("outside/secret", "top secret");
  scratch.write("inside/file", "granted");
  Spec spec = shell_spec(Tier::full,
                         "cat " + scratch.path("inside/file") + "; echo; cat " +
                             scratch.path("outside/secret") + "; ls -A " + scratch.path(""));
  spec.paths.add(granted(scratch.path("inside"), {}));
  const Ran ran = run_confined(std::move(spec));
  CHECK(ran.failure == "");
  CHECK(ran.output == "granted\ninside\n");
  CHECK(ran.errors.find("No such file or directory") != std::string::npos);
}

TEST_CASE("what is granted for reading cannot be written, whatever the tier") {
  for (const Tier tier : kTiers) {
    if (!has_tier(tier)) continue;
    Scratch scratch;
    scratch.write("in/file", "kept");
    scratch.write("ws/file", "changed");
    Spec spec = shell_spec(tier,
                           "echo x > " + scratch.path("in/file") + "; echo y > " +
                               scratch.path("in/new") + "; echo z > " + scratch.path("ws/file"));
    spec.paths.add(granted(scratch.path("in"), {}));
    spec.paths.add(granted(scratch.path("ws"), {.may_write = true}));
    const Ran ran = run_confined(std::move(spec));
    CHECK(ran.failure == "");
    CHECK(scratch.read("in/file") == "kept");
    CHECK_FALSE(std::filesystem::exists(scratch.path("in/new")));
    CHECK(scratch.read("ws/file") == "z\n");
  }
}

TEST_CASE("rights of nested grants add up") {
  if (!has_tier(Tier::full)) return;
  Scratch scratch;
  scratch.write("ws/sub/file", "old");
  Spec spec = shell_spec(Tier::full, "echo new > " + scratch.path("ws/sub/file"));
  spec.paths.add(granted(scratch.path("ws"), {.may_write = true}));
  spec.paths.add(granted(scratch.path("ws/sub"), {.may_execute = true}));
  const Ran ran = run_confined(std::move(spec));
  CHECK(ran.failure == "");
  CHECK(scratch.read("ws/sub/file") == "new\n");
}

TEST_CASE("a grant whose file was exchanged since it was resolved is refused") {
  for (const Tier tier : kTiers) {
    if (!has_tier(tier)) continue;
    Scratch scratch;
    scratch.write("a/file", "first");
    Spec spec = shell_spec(tier, "true");
    spec.paths.add(granted(scratch.path("a"), {}));
    std::filesystem::rename(scratch.path("a"), scratch.path("b"));
    scratch.write("a/file", "second");
    const Ran ran = run_confined(std::move(spec));
    CHECK(ran.failure != "");
    CHECK_FALSE(ran.status);
  }
}

TEST_CASE("the guarded paths of a writable tree can be neither written nor moved") {
  if (!has_tier(Tier::full)) return;
  Scratch scratch;
  scratch.write("ws/.git/config", "safe");
  scratch.write("ws/.mcp.json", "{}");
  const std::string git = scratch.path("ws/.git");
  Spec spec = shell_spec(Tier::full,
                         "cd " + scratch.path("ws") +
                             "; echo bad > .git/config; rm -f .git/config; mv .git x; echo bad > "
                             ".mcp.json; mv .mcp.json y; echo ok > .git/other; ls -A");
  spec.paths.add(granted(scratch.path("ws"), {.may_write = true}));
  spec.self_bound = {git};
  spec.read_only = {git + "/config", scratch.path("ws/.mcp.json")};
  const Ran ran = run_confined(std::move(spec));
  CHECK(ran.failure == "");
  CHECK(ran.output == ".git\n.mcp.json\n");
  CHECK(scratch.read("ws/.git/config") == "safe");
  CHECK(scratch.read("ws/.mcp.json") == "{}");
  CHECK(scratch.read("ws/.git/other") == "ok\n");
}

TEST_CASE("the program sees itself under its own id, and every other as nobody") {
  if (!has_tier(Tier::full)) return;
  const Ran ran = run_confined(shell_spec(Tier::full, "id -u; id -g; stat -c %u /usr"));
  CHECK(ran.failure == "");
  const std::string usr = ::geteuid() == 0 ? "0" : "65534";
  CHECK(ran.output ==
        std::to_string(::geteuid()) + "\n" + std::to_string(::getegid()) + "\n" + usr + "\n");
}

TEST_CASE("the environment is what the spec says and nothing more") {
  for (const Tier tier : kTiers) {
    if (!has_tier(tier)) continue;
    ::setenv("AEGIS_TEST_SECRET", "xyzzy", 1);
    Spec spec = shell_spec(tier, "cat /proc/self/environ /proc/1/environ 2>/dev/null");
    spec.environment = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8"};
    const Ran ran = run_confined(std::move(spec));
    ::unsetenv("AEGIS_TEST_SECRET");
    CHECK(ran.failure == "");
    CHECK(ran.output.find("LANG=C.UTF-8") != std::string::npos);
    CHECK(ran.output.find("xyzzy") == std::string::npos);
  }
}

TEST_CASE("in tier full nothing outlives the program") {
  if (!has_tier(Tier::full)) return;
  Scratch scratch;
  Spec spec = shell_spec(Tier::full,
                         "for i in 1 2 3 4 5; do (trap '' TERM HUP INT; exec setsid sleep 1000) & "
                         "done; sleep 0.1; ls /proc | grep -c '^[0-9]'");
  const Ran ran = run_confined(std::move(spec));
  CHECK(ran.failure == "");
  // All pipes were read to their end, which none of the five has left open.
  CHECK(std::stoi(ran.output) >= 7);
}

TEST_CASE("terminate reaches the program as SIGTERM, kill ends even the deaf") {
  for (const Tier tier : kTiers) {
    if (!has_tier(tier)) continue;
    Running polite(
        shell_spec(tier, "trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done"));
    polite.await_output();
    polite.child->terminate();
    auto status = polite.child->wait();
    REQUIRE(status);
    CHECK(WEXITSTATUS(*status) == 7);

    Running deaf(shell_spec(tier, "trap '' TERM; echo ready; while :; do sleep 0.05; done"));
    deaf.await_output();
    deaf.child->terminate();
    deaf.child->kill();
    status = deaf.child->wait();
    if (tier == Tier::full) {
      CHECK_FALSE(status);
    } else {
      CHECK(WTERMSIG(*status) == SIGKILL);
    }
  }
}

TEST_CASE("the owner's death ends the sandbox, without anybody saying so") {
  for (const Tier tier : kTiers) {
    if (!has_tier(tier)) continue;
    int held[2];
    REQUIRE(::pipe2(held, O_CLOEXEC) == 0);
    const Prepared prepared = Prepared::make(shell_spec(tier, "echo up; exec sleep 1000")).value();
    const pid_t owner = ::fork();
    if (owner == 0) {
      SetUp failed;
      const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
      const auto child = Child::start(prepared, {null, held[1], null}, failed);
      ::pause();
      ::_exit(child ? 0 : 1);
    }
    ::close(held[1]);
    char said[8] = {};
    CHECK(::read(held[0], said, 3) == 3);
    ::kill(owner, SIGKILL);
    ::waitpid(owner, nullptr, 0);
    pollfd end{held[0], POLLIN, 0};
    CHECK(::poll(&end, 1, 5000) == 1);
    CHECK(::read(held[0], said, 1) == 0);  // nobody holds the other end
    ::close(held[0]);
  }
}

TEST_CASE("no descriptor of the owner crosses") {
  for (const Tier tier : kTiers) {
    if (!has_tier(tier)) continue;
    const int leaked = ::open("/etc/passwd", O_RDONLY);  // NOLINT: inheritable on purpose
    const Ran ran = run_confined(shell_spec(tier, "ls /proc/self/fd"));
    ::close(leaked);
    CHECK(ran.failure == "");
    CHECK(ran.output == "0\n1\n2\n3\n");  // 3 is ls's own
  }
}

TEST_CASE("the private /dev has what programs need, and /tmp and /dev/shm are its own") {
  if (!has_tier(Tier::full)) return;
  Scratch scratch;
  const Ran ran = run_confined(
      shell_spec(Tier::full,
                 "ls /dev; head -c 3 /dev/zero | wc -c; echo x > /dev/null; : < /dev/urandom; "
                 "echo t > /tmp/f && cat /tmp/f; echo s > /dev/shm/f && cat /dev/shm/f; ls /tmp; "
                 "touch /x /etc/x /dev/x /proc/x 2>/dev/null || echo refused"));
  CHECK(ran.failure == "");
  CHECK(ran.output ==
        "fd\nfull\nnull\nptmx\npts\nrandom\nshm\nstderr\nstdin\nstdout\nurandom\nzero\n3\nt\ns\nf\n"
        "refused\n");
}

}  // namespace aegis::confine
