// SPDX-License-Identifier: Apache-2.0 OR MIT
// Runs through the broker: what the program sees, how its end is told, and the queue. A counted
// skip where the sandbox cannot be had.
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/wrap/broker_fixture.h"
#include "wrap/broker.h"

namespace {

using namespace aegis;
using aegis::test::BrokerHome;
using aegis::test::code_of;
using aegis::test::command_request;
using aegis::test::do_one;
using aegis::test::python_request;
using aegis::test::wait_done;
using aegis::wrap::Broker;

constexpr const char* kRules =
    "path_rules: {denied_patterns: [private]}\n"
    "execution_rules: {max_timeout_seconds: 20, max_output_bytes: 4096, max_memory_mb: 256, "
    "allowed_binaries: [cat, ls, sleep, touch], allowed_paths: [data, private]}\n";

/// Says so, and is true, when no sandbox can be had here.
bool is_skipped(Broker& broker) {
  const Broker::Done done = do_one(broker, python_request("pass"));
  if (code_of(done) != "SANDBOX_UNAVAILABLE") return false;
  MESSAGE("skipped: 1: " << std::get<mcp::Refused>(done.answer).reason);
  return true;
}

const mcp::RunEnd& end_of(const Broker::Done& done) {
  const auto* end = std::get_if<mcp::RunEnd>(&done.answer);
  REQUIRE_MESSAGE(end != nullptr, mcp::encode_structured(done.answer));
  return *end;
}

TEST_CASE("python gets its words, an empty stdin and a place as __main__") {
  const BrokerHome home(kRules);
  Broker broker = home.broker();
  if (is_skipped(broker)) return;
  const Broker::Done done =
      do_one(broker,
             python_request("import os, sys\n"
                            "print(sys.argv[1:], repr(sys.stdin.read()), __name__, os.getcwd())\n"
                            "print(open('data/a.txt').read(), end='')\n"
                            "print(sorted(k for k in globals() if not k.startswith('__')))\n"
                            "sys.exit(3)\n",
                            {"-x", "two words", ""}));
  const mcp::RunEnd& end = end_of(done);
  CHECK(end.out == "['-x', 'two words', ''] '' __main__ /workspace\nalpha\n['os', 'sys']\n");
  CHECK(end.err == "");
  CHECK(end.status == mcp::RunEnd::Status::completed);
  CHECK(end.exit_code == 3);
  CHECK(done.grant.read_paths == std::vector<std::string>{"workspace"});
  CHECK(done.grant.write_paths.empty());
  CHECK(done.grant.max_memory_bytes == 256ULL << 20U);
  CHECK(done.grant.max_wall_ms == 20'000);
  CHECK(done.grant.max_output_bytes == 4096);
  CHECK_FALSE(done.path.has_value());
}

TEST_CASE("code may be longer than a word of an argv, and errors show its lines alone") {
  const BrokerHome home(kRules);
  Broker broker = home.broker();
  if (is_skipped(broker)) return;
  const std::string filler = "#" + std::string(300'000, 'x') + "\n";
  CHECK(end_of(do_one(broker, python_request(filler + "print(1)"))).out == "1\n");

  const auto raised = end_of(
      do_one(broker, python_request("def half(n):\n    return n / zero\n\nzero = 0\nhalf(4)\n")));
  CHECK(raised.exit_code == 1);
  CHECK(raised.err.find("  File \"<code>\", line 5, in <module>\n    half(4)\n") !=
        std::string::npos);
  CHECK(raised.err.find("return n / zero") != std::string::npos);
  CHECK(raised.err.find("ZeroDivisionError") != std::string::npos);
  CHECK(raised.err.find("<string>") == std::string::npos);

  const auto unparsed = end_of(do_one(broker, python_request("print(1\nx = = 2\n")));
  CHECK(unparsed.exit_code == 1);
  CHECK(unparsed.err.find("SyntaxError") != std::string::npos);
  CHECK(unparsed.err.find("<string>") == std::string::npos);
}

TEST_CASE(
    "a script is run by its path, and imports nothing of the workspace in place of python's") {
  const BrokerHome home(kRules);
  home.write("data/script.py", "import json, sys\nprint(json.__file__, sys.argv)\n");
  home.write("data/json.py", "print('shadowed')\n");
  Broker broker = home.broker();
  if (is_skipped(broker)) return;
  mcp::RunPython run;
  run.script_path = "data/script.py";
  run.arguments = {"a"};
  const Broker::Done done = do_one(broker, {mcp::Operation::run_python, run});
  CHECK(end_of(done).out.find("shadowed") == std::string::npos);
  CHECK(end_of(done).out.find("['/workspace/data/script.py', 'a']") != std::string::npos);
  CHECK(done.path == "workspace/data/script.py");
  run.script_path = "data/none.py";
  CHECK(code_of(do_one(broker, {mcp::Operation::run_python, run})) == "OPERATION_NOT_PERMITTED");
}

TEST_CASE("time and output are bounds, and what was printed before is told") {
  const BrokerHome home(kRules);
  Broker broker = home.broker();
  if (is_skipped(broker)) return;
  mcp::BrokerRequest slow = python_request("import time\nprint('begun')\ntime.sleep(60)\n");
  std::get<mcp::RunPython>(slow.parameters).timeout_seconds = 1;
  const Broker::Done late = do_one(broker, slow);
  CHECK(end_of(late).status == mcp::RunEnd::Status::timeout);
  CHECK(end_of(late).out == "begun\n");
  CHECK_FALSE(end_of(late).exit_code.has_value());
  CHECK(late.grant.max_wall_ms == 1000);
  const auto flood = end_of(do_one(broker, python_request("while True: print('x' * 1000)\n")));
  CHECK(flood.status == mcp::RunEnd::Status::output_limit);
  CHECK(flood.is_truncated);
  CHECK(flood.out.size() + flood.err.size() <= 4096);
}

TEST_CASE("a command sees the allowed paths alone, and writes what it was lent alone") {
  const BrokerHome home(kRules);
  home.write("beside", "not for commands");
  std::filesystem::create_directories(home.path("private"));
  Broker broker = home.broker();
  if (is_skipped(broker)) return;
  const Broker::Done listed = do_one(broker, command_request({"ls", "data"}));
  CHECK(end_of(listed).out == "a.txt\ndeep\n");
  CHECK(listed.grant.read_paths == std::vector<std::string>{"workspace/data", "workspace/private"});
  const auto hidden = do_one(broker, command_request({"cat", "beside"}));
  CHECK(mcp::encode_structured(hidden.answer).find("not for commands") == std::string::npos);

  // By whatever word it was meant, a program gets the listed one: a file with many in it goes by
  // it.
  const auto named = end_of(do_one(broker, command_request({"/bin/cat", "data/none"})));
  CHECK_MESSAGE(named.err.starts_with("cat: "), named.err);

  const auto unlent = end_of(do_one(broker, command_request({"touch", "data/deep/new"})));
  CHECK(unlent.exit_code != 0);
  const Broker::Done lent =
      do_one(broker, command_request({"touch", "data/deep/new"}, {"data/deep"}));
  CHECK(end_of(lent).exit_code == 0);
  CHECK(lent.grant.write_paths == std::vector<std::string>{"workspace/data/deep"});
  CHECK(std::filesystem::exists(home.path("data/deep/new")));

  const std::string outside = home.scratch().write("outside", "");
  REQUIRE(::link(outside.c_str(), home.path("data/deep/second").c_str()) == 0);
  CHECK(code_of(do_one(broker, command_request({"ls"}, {"data/deep"}))) ==
        "PATH_BOUNDARY_VIOLATION");
  REQUIRE(::unlink(home.path("data/deep/second").c_str()) == 0);
  std::string depths = "data/deep";
  for (int level = 0; level < 70; ++level)
    depths += "/d";
  std::filesystem::create_directories(home.path(depths));
  home.write(depths + "/.env", "TOKEN=1");
  CHECK(code_of(do_one(broker, command_request({"ls"}, {"data/deep"}))) ==
        "SENSITIVE_TARGET_DENIED");
  CHECK(code_of(do_one(broker, command_request({"ls"}, {"data/none"}))) ==
        "OPERATION_NOT_PERMITTED");
  CHECK(code_of(do_one(broker, command_request({"ls"}, {"beside"}))) == "PATH_BOUNDARY_VIOLATION");
}

TEST_CASE("so many runs at once, the others in their turn, and each is told once") {
  const BrokerHome home(kRules);
  Broker broker = home.broker();
  if (is_skipped(broker)) return;
  const std::size_t all = wrap::kMaxRuns + wrap::kMaxWaiting;
  const mcp::BrokerRequest forever = command_request({"sleep", "100"});
  for (Broker::Ticket ticket = 0; ticket < all; ++ticket)
    broker.begin(ticket, forever);
  CHECK(broker.under_way() == all);
  CHECK(broker.descriptors().size() == wrap::kMaxRuns);
  CHECK(broker.take_done().empty());
  broker.begin(all, forever);
  const auto refused = broker.take_done();
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].ticket == all);
  CHECK(code_of(refused[0]) == "OPERATION_NOT_PERMITTED");

  broker.cancel(all - 1);  // waits
  const auto waited = broker.take_done();
  REQUIRE(waited.size() == 1);
  CHECK(end_of(waited[0]).status == mcp::RunEnd::Status::cancelled);
  broker.cancel(0);  // runs; the first that waits takes its place
  const auto ran = wait_done(broker);
  REQUIRE(ran.size() == 1);
  CHECK(ran[0].ticket == 0);
  CHECK(end_of(ran[0]).status == mcp::RunEnd::Status::cancelled);
  CHECK(broker.descriptors().size() == wrap::kMaxRuns);
  CHECK(broker.under_way() == all - 2);
  broker.cancel(0);  // done already: nothing
  broker.cancel(4711);

  broker.cancel_all();
  std::vector<int> told(all, 0);
  while (broker.under_way() > 0) {
    for (const Broker::Done& done : wait_done(broker)) {
      CHECK(end_of(done).status == mcp::RunEnd::Status::cancelled);
      ++told.at(done.ticket);
    }
  }
  for (std::size_t ticket = 1; ticket + 1 < all; ++ticket)
    CHECK_MESSAGE(told[ticket] == 1, ticket);
  CHECK(broker.descriptors().empty());
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

TEST_CASE("many requests of every kind leave no descriptor, process or file behind") {
  const BrokerHome home(kRules);
  REQUIRE(::symlink("a.txt", home.path("data/link").c_str()) == 0);
  Broker broker = home.broker();
  if (is_skipped(broker)) return;
  const std::size_t before = open_descriptors();
  const auto files = home.scratch().list();
  for (int round = 0; round < 100; ++round) {
    for (const char* path : {"data/a.txt", "data/link", "data", "none", "../x", ".env"})
      do_one(broker, aegis::test::read_request(path));
    do_one(broker, aegis::test::list_request("."));
    if (round % 10 == 0) do_one(broker, python_request("import os\nif os.fork(): os._exit(0)\n"));
    if (round % 20 == 0) do_one(broker, command_request({"ls"}));
  }
  CHECK(open_descriptors() == before);
  CHECK(home.scratch().list() == files);
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
}

}  // namespace
