// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reads, lists and refusals: what is done before begin() returns, and needs no sandbox.
#include "wrap/broker.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "tests/wrap/broker_fixture.h"
#include "tests/wrap/child.h"
#include "wrap/broker_binaries.h"

namespace {

using namespace aegis;
using aegis::test::BrokerHome;
using aegis::test::code_of;
using aegis::test::command_request;
using aegis::test::do_one;
using aegis::test::list_request;
using aegis::test::python_request;
using aegis::test::read_request;
using aegis::wrap::Broker;

const mcp::FileText& text_of(const Broker::Done& done) {
  const auto* text = std::get_if<mcp::FileText>(&done.answer);
  REQUIRE_MESSAGE(text != nullptr, mcp::encode_structured(done.answer));
  return *text;
}

std::vector<std::string> names_of(const Broker::Done& done) {
  const auto* listing = std::get_if<mcp::Listing>(&done.answer);
  REQUIRE_MESSAGE(listing != nullptr, mcp::encode_structured(done.answer));
  std::vector<std::string> names;
  for (const auto& entry : listing->entries)
    names.push_back(entry.path);
  return names;
}

TEST_CASE("a read is done when begin returns, and tells what it ran under") {
  const BrokerHome home("path_rules: {max_file_read_bytes: 4096}\n");
  Broker broker = home.broker();
  broker.begin(7, read_request("./data//a.txt"));
  CHECK(broker.under_way() == 0);
  const auto done = broker.take_done();
  REQUIRE(done.size() == 1);
  CHECK(done[0].ticket == 7);
  CHECK(text_of(done[0]).text == "alpha\n");
  CHECK(text_of(done[0]).path == "./data//a.txt");
  CHECK_FALSE(text_of(done[0]).is_truncated);
  CHECK(done[0].path == "workspace/data/a.txt");
  CHECK(done[0].grant.read_paths == std::vector<std::string>{"workspace/data/a.txt"});
  CHECK(done[0].grant.write_paths.empty());
  CHECK(done[0].grant.max_output_bytes == 4096);
  CHECK(broker.take_done().empty());
}

TEST_CASE("what lies under a path decides the code, and no answer names the host's folder") {
  const BrokerHome home;
  const std::string outside = home.scratch().write("outside", "secret");
  REQUIRE(::symlink("a.txt", home.path("data/link").c_str()) == 0);
  REQUIRE(::symlink(outside.c_str(), home.path("out").c_str()) == 0);
  REQUIRE(::symlink("data", home.path("folder-link").c_str()) == 0);
  REQUIRE(::link(outside.c_str(), home.path("hard").c_str()) == 0);
  REQUIRE(::mkfifo(home.path("fifo").c_str(), 0600) == 0);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  REQUIRE(home.path("sock").size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, home.path("sock").c_str(), home.path("sock").size());
  REQUIRE(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  ::close(socket);
  home.write("binary", "\xFF\xFEtext");
  home.write(".env", "TOKEN=1");

  struct Row {
    const char* path;
    const char* code;
  };
  constexpr Row kRows[] = {
      {"missing", "OPERATION_NOT_PERMITTED"},
      {"data", "OPERATION_NOT_PERMITTED"},
      {"data/a.txt/x", "OPERATION_NOT_PERMITTED"},
      {"binary", "OPERATION_NOT_PERMITTED"},
      {"data/link", "PATH_BOUNDARY_VIOLATION"},
      {"out", "PATH_BOUNDARY_VIOLATION"},
      {"folder-link/a.txt", "PATH_BOUNDARY_VIOLATION"},
      {"hard", "PATH_BOUNDARY_VIOLATION"},
      {"fifo", "PATH_BOUNDARY_VIOLATION"},
      {"sock", "PATH_BOUNDARY_VIOLATION"},
      {"../outside", "PATH_BOUNDARY_VIOLATION"},
      {"/etc/passwd", "PATH_BOUNDARY_VIOLATION"},
      {".env", "SENSITIVE_TARGET_DENIED"},
      {".ENV", "SENSITIVE_TARGET_DENIED"},
  };
  Broker broker = home.broker();
  for (const Row& row : kRows) {
    const Broker::Done done = do_one(broker, read_request(row.path));
    CHECK_MESSAGE(code_of(done) == row.code, row.path);
    CHECK_FALSE(done.path.has_value());
    CHECK(done.grant.read_paths.empty());
    const std::string said = mcp::encode_structured(done.answer);
    CHECK_MESSAGE(said.find(home.scratch().folder()) == std::string::npos, said);
    CHECK_MESSAGE(said.find("secret\"") == std::string::npos, said);
  }
  // A folder is told as one.
  const Broker::Done folder = do_one(broker, read_request("data"));
  CHECK(std::get<mcp::Refused>(folder.answer).reason.find("list_dir") != std::string::npos);
}

TEST_CASE("a read is cut at its bound, never amid a character, whatever the file's size") {
  const BrokerHome home("path_rules: {max_file_read_bytes: 16}\n");
  home.write("euro", "12345678901234\xE2\x82\xAC and more");
  home.write("whole", "1234567890123\xE2\x82\xAC");
  home.write("sparse", "");
  REQUIRE(::truncate(home.path("sparse").c_str(), off_t{1} << 40) == 0);
  Broker broker = home.broker();
  const Broker::Done cut = do_one(broker, read_request("euro"));
  CHECK(text_of(cut).text == "12345678901234");
  CHECK(text_of(cut).is_truncated);
  const Broker::Done whole = do_one(broker, read_request("whole"));
  CHECK(text_of(whole).text == "1234567890123\xE2\x82\xAC");
  CHECK_FALSE(text_of(whole).is_truncated);
  const Broker::Done sparse = do_one(broker, read_request("sparse"));
  CHECK(text_of(sparse).text == std::string(16, '\0'));
  CHECK(text_of(sparse).is_truncated);
  const Broker::Done less = do_one(broker, read_request("whole", 4));
  CHECK(text_of(less).text == "1234");
  // A broken character that no cut has made is not mended.
  home.write("broken", "abc\xE2\x82");
  CHECK(code_of(do_one(broker, read_request("broken"))) == "OPERATION_NOT_PERMITTED");
}

TEST_CASE("a list leaves out what no operation may see, and counts it") {
  const BrokerHome home("path_rules: {denied_patterns: [private, \"*.sqlite\"]}\n");
  std::filesystem::create_directories(home.path("private"));
  home.write("private/x", "");
  home.write("data/b.sqlite", "");
  home.write("id_rsa.bak", "");
  home.write("bad\xFF name", "");
  home.write("plain", "");
  Broker broker = home.broker();
  const Broker::Done done = do_one(broker, list_request(".", 3));
  CHECK(names_of(done) == std::vector<std::string>{"data", "data/a.txt", "data/deep", "plain"});
  CHECK(std::get<mcp::Listing>(done.answer).left_out == 4);
  CHECK(done.path == "workspace");
  CHECK(code_of(do_one(broker, list_request("private"))) == "SENSITIVE_TARGET_DENIED");
  CHECK(code_of(do_one(broker, list_request("plain"))) == "OPERATION_NOT_PERMITTED");

  Broker revealing = home.broker({"id_rsa.bak"});
  CHECK(names_of(do_one(revealing, list_request("."))) ==
        std::vector<std::string>{"data", "id_rsa.bak", "plain"});
  REQUIRE(revealing.revealed().size() == 1);
}

TEST_CASE("allowed subpaths bound what is read and listed") {
  const BrokerHome home("path_rules: {allowed_subpaths: [data]}\n");
  home.write("beside", "x");
  Broker broker = home.broker();
  CHECK(code_of(do_one(broker, read_request("beside"))) == "PATH_BOUNDARY_VIOLATION");
  CHECK(code_of(do_one(broker, read_request("data/a.txt"))).empty());
  CHECK(names_of(do_one(broker, list_request("data"))) ==
        std::vector<std::string>{"a.txt", "deep"});
}

TEST_CASE("a shell string and an operation that waits for approval are not run") {
  const BrokerHome home(
      "execution_rules: {allowed_binaries: [ls]}\nrequire_approval_for: [run_python]\n");
  Broker broker = home.broker();
  mcp::BrokerRequest shell{mcp::Operation::run_command, mcp::ShellCommand{"ls"}};
  CHECK_FALSE(broker.judge(shell).has_value());
  CHECK(code_of(do_one(broker, shell)) == "SCHEMA_VALIDATION_FAILURE");
  CHECK(code_of(do_one(broker, python_request("1"))) == "APPROVAL_REQUIRED");
  CHECK(code_of(do_one(broker, command_request({"sh", "-c", "ls"}))) == "OPERATION_NOT_PERMITTED");
  const auto offered = broker.offered();
  CHECK(std::vector<mcp::Operation>(offered.begin(), offered.end()) ==
        std::vector<mcp::Operation>{
            mcp::Operation::read_text, mcp::Operation::list_dir, mcp::Operation::run_command});
  CHECK(broker.bounds().binaries == std::vector<std::string>{"ls"});
}

TEST_CASE("the workspace is meant from the policy's folder, wherever aegis was started") {
  const BrokerHome home;
  const auto ended = aegis::test::run_in_child([&] {
    if (::chdir("/") != 0) return 2;
    auto made = Broker::make({home.policy()}, "test");
    return made && made->describe().find(home.path("data").substr(0, home.path("").size() - 1)) !=
                       std::string::npos
               ? 0
               : 1;
  });
  CHECK(ended.exit == 0);
  CHECK(ended.err.empty());
}

TEST_CASE("a policy that cannot be used says where, why and what to do") {
  const BrokerHome home;
  const auto& scratch = home.scratch();
  const std::string head =
      "version: \"1.0\"\npolicy_id: t\nname: Test\nallowed_operations: [read_text]\n";
  REQUIRE(::mkfifo(scratch.path("fifo").c_str(), 0600) == 0);
  REQUIRE(::symlink("ws", scratch.path("linked").c_str()) == 0);
  struct Row {
    std::string policy;
    const char* said;  // on stderr or in the error
  };
  const Row rows[] = {
      {scratch.path("none.yaml"), "No such file"},
      {scratch.path("fifo"), "not a regular file"},
      {scratch.folder(), "directory"},
      {scratch.write("large.yaml", std::string((1U << 20U) + 1, '#')), "large.yaml"},
      {scratch.write("unknown.yaml", head + "workspace_root: ws\nnetwork: true\n"),
       "unknown.yaml:6:1: network"},
      {scratch.write("tilde.yaml", head + "workspace_root: ~/ws\n"), "'~'"},
      {scratch.write("gone.yaml", head + "workspace_root: gone\n"), "gone"},
      {scratch.write("linked.yaml", head + "workspace_root: linked/.\n"), "linked"},
      {scratch.write("root.yaml", head + "workspace_root: /\n"), "grant"},
      {scratch.write("up.yaml", head + "workspace_root: /tmp/..\n"), "grant"},
  };
  for (const Row& row : rows) {
    const auto ended = aegis::test::run_in_child([&] {
      auto made = Broker::make({row.policy}, "test");
      if (made) return 1;
      const std::string why = confine::describe(made.error()) + "\n";
      return ::write(STDERR_FILENO, why.data(), why.size()) > 0 ? 0 : 2;
    });
    CHECK_MESSAGE(ended.exit == 0, row.policy);
    CHECK_MESSAGE(ended.err.find(row.said) != std::string::npos, ended.err);
  }
}

TEST_CASE("a policy that anybody can write is warned of") {
  const BrokerHome home;
  REQUIRE(::chmod(home.policy().c_str(), 0666) == 0);
  const auto ended =
      aegis::test::run_in_child([&] { return Broker::make({home.policy()}, "test") ? 0 : 1; });
  CHECK(ended.exit == 0);
  CHECK(ended.err.find("anybody on this machine can write it") != std::string::npos);
}

TEST_CASE("names that are not there are told at load, and what is revealed must be a name") {
  const BrokerHome home("execution_rules: {allowed_binaries: [no-such-program-anywhere, ls]}\n");
  const auto ended = aegis::test::run_in_child([&] {
    const auto made = Broker::make({home.policy(), {"notes.txt"}}, "test");
    return made && made->bounds().binaries == std::vector<std::string>{"ls"} ? 0 : 1;
  });
  CHECK(ended.exit == 0);
  CHECK(ended.err.find("no-such-program-anywhere: no such program here") != std::string::npos);
  CHECK(ended.err.find("--reveal: notes.txt: it is not among") != std::string::npos);
  for (const char* name : {"", "a/b", "a\nb", "\xFF"})
    CHECK_FALSE(Broker::make({home.policy(), {name}}, "test").is_ok());
  CHECK_FALSE(Broker::make({home.policy(), std::vector<std::string>(17, ".env")}, "test").is_ok());
}

TEST_CASE("a program in the workspace is refused at load, however it is written") {
  const BrokerHome home;
  const std::string tool = home.write("data/tool", "#!/bin/sh\n");
  REQUIRE(::chmod(tool.c_str(), 0700) == 0);
  const std::string alias = home.scratch().path("alias");
  REQUIRE(::symlink(tool.c_str(), alias.c_str()) == 0);
  for (const std::string& written : {tool, alias}) {
    const std::string policy = home.scratch().write(
        "tools.yaml",
        "version: \"1.0\"\npolicy_id: t\nname: Test\nworkspace_root: ws\n"
        "allowed_operations: [run_command]\nexecution_rules: {allowed_binaries: [" +
            written + "]}\n");
    const auto made = Broker::make({policy}, "test");
    REQUIRE_FALSE(made.is_ok());
    CHECK(confine::describe(made.error()).find("lies in the workspace") != std::string::npos);
  }
}

TEST_CASE("a script whose interpreter is not listed is told as that, not as a sandbox that fails") {
  const aegis::test::Scratch scratch;
  const auto make_script = [&](const char* name, const char* line) {
    std::string path = scratch.write(name, std::string(line) + "\necho\n");
    REQUIRE(::chmod(path.c_str(), 0700) == 0);
    return path;
  };
  const std::string shell = make_script("shell", "#!/bin/sh");
  const std::string spaced = make_script("spaced", "#! \t/bin/ls -x y");
  const std::string env = make_script("env", "#!/usr/bin/env ls");
  const std::string none = make_script("none", "#!");
  const wrap::FoundBinaries found({shell, spaced, env, none, "ls"});
  CHECK(found.lacking(0) == "/bin/sh");
  CHECK(found.lacking(1).empty());
  CHECK(found.lacking(2) == "/usr/bin/env");
  CHECK(found.lacking(3).empty());
  CHECK(found.lacking(4).empty());

  const BrokerHome home("execution_rules: {allowed_binaries: [no-such-program, " + shell + "]}\n");
  Broker broker = home.broker();
  const Broker::Done script = do_one(broker, command_request({"shell"}));
  CHECK(code_of(script) == "OPERATION_NOT_PERMITTED");
  CHECK(std::get<mcp::Refused>(script.answer).reason.find("script") != std::string::npos);
  const Broker::Done gone = do_one(broker, command_request({"no-such-program"}));
  CHECK(code_of(gone) == "OPERATION_NOT_PERMITTED");
  CHECK(std::get<mcp::Refused>(gone.answer).reason.find("is allowed, and is not there") !=
        std::string::npos);
}

TEST_CASE("a program is known by its listed name or by its file, and a copy is another") {
  const aegis::test::Scratch scratch;
  const std::string tool = scratch.write("tool", "#!/bin/sh\n");
  REQUIRE(::chmod(tool.c_str(), 0700) == 0);
  const std::string copy = scratch.write("copy", "#!/bin/sh\n");
  REQUIRE(::chmod(copy.c_str(), 0700) == 0);
  const std::string plain = scratch.write("plain", "no program");
  REQUIRE(::symlink("tool", scratch.path("alias").c_str()) == 0);
  const wrap::FoundBinaries found({"ls", "gone-for-good", tool, plain, scratch.folder()});
  CHECK(found.find("ls") == 0);
  CHECK(found.find("/bin/ls") == 0);
  CHECK(found.find("tool") == 2);
  CHECK(found.find(tool) == 2);
  CHECK(found.find(scratch.path("alias")) == 2);
  for (const std::string& word : {std::string(),
                                  std::string("gone-for-good"),
                                  copy,
                                  plain,
                                  std::string("./tool"),
                                  std::string("bin/ls"),
                                  std::string("LS"),
                                  std::string("/"),
                                  scratch.path("none"),
                                  std::string("/bin/ls\0x", 9)})
    CHECK_MESSAGE(!found.find(word).has_value(), word);
  CHECK(found.name(2) == tool);
  CHECK(found.missing() == std::vector<std::string>{"gone-for-good", plain, scratch.folder()});
  CHECK(found.files().size() == 2);
}

}  // namespace
