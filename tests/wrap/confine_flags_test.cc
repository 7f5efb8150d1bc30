// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the flags of confinement ask for, and what is said about values that are none.
#include "wrap/confine_flags.h"

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace {

using aegis::confine::Network;
using aegis::confine::Tier;
using aegis::wrap::ConfineFlags;
using aegis::wrap::ConfineRequest;
using aegis::wrap::Flags;
using aegis::wrap::Operands;
using aegis::wrap::VerbText;

using Words = std::vector<std::string>;

constexpr VerbText kText = {"try", "[flags]", "Tries flags.", "  aegis try"};

/// Parsed in this process: no word may be one that Flags itself refuses.
struct Parsed {
  ConfineFlags confine;
  Flags flags{kText, {Operands::none, 42}};
  explicit Parsed(const Words& words) {
    confine.add_to(flags);
    CAPTURE(words);
    REQUIRE_FALSE(flags.parse({words}));
  }
};

ConfineRequest asked(const Words& words) {
  const Parsed parsed(words);
  auto request = parsed.confine.request();
  REQUIRE_MESSAGE(request.is_ok(), request.error().doing);
  return std::move(request).value();
}

std::string refused(const Words& words) {
  const Parsed parsed(words);
  const auto request = parsed.confine.request();
  CAPTURE(words);
  REQUIRE_FALSE(request.is_ok());
  CHECK(request.error().code == 0);
  return request.error().doing;
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST_CASE("without flags nothing is granted, and the bounds are the usual ones") {
  const ConfineRequest request = asked({});
  CHECK(request.tier == Tier::full);
  CHECK(request.shortfall == ConfineRequest::Shortfall::refuse);
  CHECK(request.read.empty());
  CHECK(request.write.empty());
  CHECK(request.execute.empty());
  CHECK(request.variables.empty());
  CHECK(request.network == Network::none);
  CHECK(request.exec_support == ConfineRequest::ExecSupport::as_profile_says);
  CHECK_FALSE(request.profile);
  CHECK_FALSE(request.workspace);
  CHECK(request.config_write == ConfineRequest::ConfigWrite::guarded);
  const aegis::confine::Bounds usual;
  CHECK(request.bounds.memory == usual.memory);
  CHECK(request.bounds.processes == usual.processes);
  CHECK_FALSE(request.bounds.is_memory_asked_for);
  CHECK_FALSE(request.bounds.is_processes_asked_for);
  CHECK_FALSE(request.is_profile_shown);
  CHECK_FALSE(request.is_explained);
}

TEST_CASE("each flag asks for what it says") {
  const ConfineRequest request = asked({"--tier",
                                        "full",
                                        "--best-effort",
                                        "--allow-read",
                                        "/r",
                                        "--allow-read",
                                        "r2",
                                        "--allow-write",
                                        "/w",
                                        "--allow-exec",
                                        "/x",
                                        "--allow-net",
                                        "Example.com:443",
                                        "--allow-net",
                                        "[::1]:80",
                                        "--allow-env",
                                        "A",
                                        "--allow-env",
                                        "B=c=d",
                                        "--allow-env",
                                        "LD_PRELOAD=/x.so",
                                        "--allow-env",
                                        "C=",
                                        "--allow-exec-support",
                                        "--profile",
                                        "python",
                                        "--workspace",
                                        "w",
                                        "--allow-config-write",
                                        "--explain",
                                        "--show-profile"});
  CHECK(request.shortfall == ConfineRequest::Shortfall::take_strongest);
  CHECK(request.read == Words{"/r", "r2"});
  CHECK(request.write == Words{"/w"});
  CHECK(request.execute == Words{"/x"});
  CHECK(request.network == Network::granted);
  REQUIRE(request.net.size() == 2);
  CHECK(request.net[0].host == "example.com");
  CHECK(request.net[0].port == 443);
  CHECK(request.net[1].host == "::1");
  REQUIRE(request.variables.size() == 4);
  CHECK_FALSE(request.variables[0].value);
  CHECK(request.variables[1].name == "B");
  CHECK(request.variables[1].value == "c=d");
  CHECK(request.variables[2].name == "LD_PRELOAD");
  CHECK(request.variables[3].value == "");
  CHECK(request.exec_support == ConfineRequest::ExecSupport::system);
  CHECK(request.profile == "python");
  CHECK(request.workspace == "w");
  CHECK(request.config_write == ConfineRequest::ConfigWrite::allowed);
  CHECK(request.is_explained);
  CHECK(request.is_profile_shown);
  CHECK(asked({"--tier", "landlock"}).tier == Tier::landlock);
  CHECK(asked({"--allow-net", "all"}).network == Network::unconfined);
  CHECK(asked({"--tier", "landlock", "--allow-net", "all"}).network == Network::unconfined);
  CHECK(asked({"--profile", "./node"}).profile == "./node");
}

TEST_CASE("bounds are taken, and what is asked for is known as such") {
  const auto bounds = asked({"--max-memory",
                             "1GiB",
                             "--max-pids",
                             "301",
                             "--max-cpu-seconds",
                             "7",
                             "--max-file-size",
                             "2MiB",
                             "--max-open-files",
                             "64",
                             "--max-output",
                             "3KiB",
                             "--max-new-files",
                             "9"})
                          .bounds;
  CHECK(bounds.memory == 1ULL << 30U);
  CHECK(bounds.is_memory_asked_for);
  CHECK(bounds.processes == 301);
  CHECK(bounds.is_processes_asked_for);
  CHECK(bounds.cpu_seconds == 7);
  CHECK(bounds.file_size == 2U << 20U);
  CHECK(bounds.open_files == 64);
  CHECK(bounds.output == 3072);
  CHECK(bounds.new_files == 9);
  CHECK(asked({"--tier", "landlock", "--max-pids", "10"}).bounds.processes == 10);
}

TEST_CASE("bad values are said by the flag, the value, and what would be good") {
  struct Row {
    Words words;
    std::string_view says;
  };
  const Row rows[] = {
      {{"--max-memory", "0"}, "--max-memory: '0': a number of bytes from 1KiB to 65536GiB"},
      {{"--max-memory", "9999999GiB"}, "--max-memory: '9999999GiB': a number of bytes"},
      {{"--max-file-size", "x"}, "--max-file-size: 'x'"},
      {{"--max-output", "-1"}, "--max-output: '-1'"},
      {{"--max-pids", "300"}, "--max-pids: 300: in tier full at least 301"},
      {{"--allow-net", "all", "--allow-net", "a:1"}, "--allow-net: all"},
      {{"--allow-net", "nowhere"}, "--allow-net: nowhere: "},
      {{"--allow-net", "a:0"}, "--allow-net: a:0: "},
      {{"--allow-net", "a:99999"}, "--allow-net: "},
      {{"--allow-net", ""}, "--allow-net: "},
      {{"--tier", "landlock", "--allow-net", "a:1"}, "a network grant needs --tier full"},
      {{"--allow-env", "1A"}, "--allow-env: 1A: expected NAME or NAME=VALUE"},
      {{"--allow-env", "=x"}, "--allow-env: =x"},
      {{"--allow-env", "LC_*"}, "--allow-env: LC_*"},
      {{"--allow-env", ""}, "--allow-env: "},
      {{"--profile", "nod"}, "did you mean node?"},
      {{"--profile", "zzzzzz"}, "there is minimal, node, python, system, or a file"},
      {{"--profile", ""}, "--profile: "},
  };
  for (const Row& row : rows) {
    CAPTURE(row.words);
    const std::string said = refused(row.words);
    CAPTURE(said);
    CHECK(has(said, row.says));
  }
}

TEST_CASE("each flag that was given is known, for who has no --confine") {
  CHECK_FALSE(Parsed({}).confine.first_given());
  const Words each[] = {{"--tier", "full"},         {"--best-effort"},
                        {"--allow-read", "x"},      {"--allow-write", "x"},
                        {"--allow-exec", "x"},      {"--allow-net", "x"},
                        {"--allow-env", "x"},       {"--allow-exec-support"},
                        {"--profile", "x"},         {"--show-profile"},
                        {"--workspace", "x"},       {"--allow-config-write"},
                        {"--max-memory", "1"},      {"--max-pids", "1"},
                        {"--max-cpu-seconds", "1"}, {"--max-file-size", "1"},
                        {"--max-open-files", "64"}, {"--max-output", "1"},
                        {"--max-new-files", "1"},   {"--explain"}};
  for (const Words& words : each) {
    CAPTURE(words);
    CHECK(Parsed(words).confine.first_given() == words.front());
  }
}

}  // namespace
