// SPDX-License-Identifier: Apache-2.0 OR MIT
// The self-test of a confinement: that it finds one that holds, and one that does not.
#include "confine/selftest.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "confine/escapes.h"
#include "tests/confine/sandbox.h"

namespace aegis::confine {
namespace {

using Outcome = EscapeResult::Outcome;

const EscapeResult* find(const std::vector<EscapeResult>& results, std::string_view name) {
  const auto found = std::find_if(
      results.begin(), results.end(), [name](const auto& each) { return each.name == name; });
  return found == results.end() ? nullptr : &*found;
}

/// A program that answers by itself, without trying anything.
std::vector<EscapeResult> results_of(const std::string& script) {
  auto results = run_self_test(shell_spec(Tier::full, script));
  if (!results) FAIL(describe(results.error()));
  return std::move(results).value();
}

}  // namespace

TEST_CASE("baits are told in words and back") {
  Bait bait;
  bait.folder = "/tmp/a b";
  bait.process = 4711;
  bait.secret = 0x7fff12345678;
  bait.port = 65535;
  bait.abstract_name = "x";
  bait.descriptor = 100;
  const auto decoded = decode_bait(encode_bait(bait));
  REQUIRE(decoded);
  CHECK(encode_bait(*decoded) == encode_bait(bait));
  CHECK_FALSE(decode_bait({}));
  std::vector<std::string> words = encode_bait(bait);
  for (const char* process : {"-1", "0", "1", "x", "4711 ", ""}) {
    words[1] = process;
    CHECK_FALSE(decode_bait(words));
  }
}

TEST_CASE("every escape has a name of its own and says what refuses it") {
  std::set<std::string_view> names;
  for (const Escape& escape : all_escapes()) {
    CHECK(names.insert(escape.name).second);
    CHECK(escape.name.find(' ') == std::string_view::npos);
    CHECK(escape.refusals[0] != 0);
  }
  CHECK(names.size() >= 24);
}

TEST_CASE("where nothing confines them the escapes succeed, at the baits") {
  const Scratch folder;
  folder.write("file", "x");
  Bait bait;
  bait.folder = folder.path("");
  const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in inet{};
  inet.sin_family = AF_INET;
  inet.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof inet;
  auto* const any = reinterpret_cast<sockaddr*>(&inet);
  REQUIRE(::bind(listener.get(), any, size) == 0);
  REQUIRE(::listen(listener.get(), 1) == 0);
  REQUIRE(::getsockname(listener.get(), any, &size) == 0);
  bait.port = ntohs(inet.sin_port);
  bait.abstract_name = "aegis-test-" + std::to_string(::getpid());
  const Fd named(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  bait.abstract_name.copy(local.sun_path + 1, sizeof local.sun_path - 1);
  const auto length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + bait.abstract_name.size());
  REQUIRE(::bind(named.get(), reinterpret_cast<const sockaddr*>(&local), length) == 0);
  REQUIRE(::listen(named.get(), 1) == 0);
  bait.descriptor = listener.get();
  bait.process = ::fork();
  REQUIRE(bait.process >= 0);
  if (bait.process == 0) {
    for (;;)
      ::pause();
  }
  static const char secret = 1;
  bait.secret = reinterpret_cast<std::uintptr_t>(&secret);
  // What takes a privilege, or a kernel that has it, is left out; ptrace is the system's to allow.
  for (const char* name : {"read-file",
                           "write-file",
                           "make-file",
                           "see-file",
                           "change-mode",
                           "descriptor",
                           "process-root",
                           "memory",
                           "tcp",
                           "udp",
                           "netlink",
                           "datagram-pair",
                           "abstract-socket",
                           "tiocsti",
                           "signal"}) {
    CAPTURE(name);
    const auto escape = std::find_if(all_escapes().begin(),
                                     all_escapes().end(),
                                     [name](const Escape& each) { return each.name == name; });
    REQUIRE(escape != all_escapes().end());
    CHECK(escape->attempt(bait) == 0);
  }
  int status = 0;
  CHECK(::waitpid(bait.process, &status, 0) == bait.process);
  CHECK(WTERMSIG(status) == SIGUSR1);
}

TEST_CASE("a program that says nothing, or nonsense, has refused nothing") {
  if (!has_tier(Tier::full)) return;
  for (const char* script : {"true",
                             "echo garbage; echo; echo ' '; echo 'ptrace'; echo 'ptrace x'",
                             "printf 'read-file 2'",  // without its end
                             "kill -9 $$"}) {
    CAPTURE(script);
    const auto results = results_of(script);
    CHECK(results.size() == all_escapes().size());
    for (const EscapeResult& result : results) {
      CHECK(result.outcome == Outcome::unclear);
      CHECK(result.how == "no answer");
    }
  }
}

TEST_CASE("what a program says is taken by the escape's own refusals") {
  if (!has_tier(Tier::full)) return;
  const auto results =
      results_of("echo 'read-file 2'; echo 'ptrace 0'; echo 'mount 22'; echo 'x32 -31'");
  CHECK(find(results, "read-file")->outcome == Outcome::refused);
  CHECK(find(results, "read-file")->how == "ENOENT");
  CHECK(find(results, "ptrace")->outcome == Outcome::succeeded);
  CHECK(find(results, "mount")->outcome == Outcome::unclear);
  CHECK(find(results, "mount")->how == "EINVAL");
#ifdef __x86_64__
  CHECK(find(results, "x32")->how == "SIGSYS");
#endif
}

TEST_CASE("an escape that leaves a trace is seen, whatever the program says") {
  if (!has_tier(Tier::full)) return;
  // The words about the baits are $0 and on; the fourth is the port. The network is not confined.
  Spec spec = shell_spec(Tier::full, "echo 'tcp 97'; exec 3<>/dev/tcp/127.0.0.1/$3 || exit 1");
  spec.program = "/bin/bash";
  spec.network = Network::unconfined;
  const auto results = run_self_test(std::move(spec));
  REQUIRE(results);
  CHECK(find(*results, "tcp")->outcome == Outcome::succeeded);
  CHECK(find(*results, "tcp")->how == "seen from outside");
}

TEST_CASE("the baits lie outside of what is granted") {
  if (!has_tier(Tier::full)) return;
  const Scratch folder;
  ::setenv("TMPDIR", folder.path("").c_str(), 1);
  Spec spec =
      shell_spec(Tier::full, "case $0 in /tmp/*) echo 'ptrace 0';; *) echo 'ptrace 1';; esac");
  spec.paths.add(granted("/tmp", {}));
  const auto results = run_self_test(std::move(spec));
  ::unsetenv("TMPDIR");
  REQUIRE(results);
  CHECK(find(*results, "ptrace")->outcome == Outcome::refused);
}

TEST_CASE("tier landlock is not asked what it cannot do") {
  if (!has_tier(Tier::landlock)) return;
  const auto results = run_self_test(shell_spec(Tier::landlock, "true"));
  REQUIRE(results);
  CHECK(find(*results, "see-file") == nullptr);
  CHECK(find(*results, "read-file") != nullptr);
}

}  // namespace aegis::confine
