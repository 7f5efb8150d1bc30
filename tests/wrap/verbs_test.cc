// SPDX-License-Identifier: Apache-2.0 OR MIT
// keygen, key, verify and recheck: answers, messages and exit codes. Each runs in a child.
#include "wrap/verbs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "audit/key.h"
#include "tests/wrap/child.h"
#include "tests/wrap/record_text.h"
#include "tests/wrap/scratch.h"

namespace {

using aegis::audit::to_hex;
using aegis::test::Ended;
using aegis::test::known_key;
using aegis::test::read_whole;
using aegis::test::run_in_child;
using aegis::test::Scratch;
using aegis::test::sealed_record;
using aegis::wrap::Arguments;

using Words = std::vector<std::string>;
using VerbFunction = int (*)(const Arguments&);

constexpr VerbFunction kKeygen = aegis::wrap::verb_keygen;
constexpr VerbFunction kKey = aegis::wrap::verb_key;
constexpr VerbFunction kVerify = aegis::wrap::verb_verify;
constexpr VerbFunction kRecheck = aegis::wrap::verb_recheck;

/// With a home that is not there unless the test makes it.
Ended run(VerbFunction verb, const Words& words, const std::string& home = "/nowhere") {
  return run_in_child([&] {
    ::setenv("HOME", home.c_str(), 1);
    return verb({words});
  });
}

Ended run_to_full(VerbFunction verb, const Words& words) {
  return run_in_child([&] {
    const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
    ::dup2(full, STDOUT_FILENO);
    return verb({words});
  });
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string known_hex() {
  return to_hex(known_key().public_key());
}
std::string known_id() {
  return to_hex(known_key().public_key().id().bytes);
}

/// One bit of the last Line's signature.
std::string tampered_record() {
  std::string record = sealed_record();
  char& digit = record[record.size() - 10];
  digit = digit == '0' ? '1' : '0';
  return record;
}
std::string open_record() {
  const std::string record = sealed_record();
  return record.substr(0, record.rfind('\n', record.size() - 2) + 1);
}

TEST_CASE("keygen makes a key that key prints the same way") {
  const Scratch scratch;
  const std::string path = scratch.path("key");
  const Ended made = run(kKeygen, {"--out", path});
  CHECK(made.exit == 0);
  CHECK(made.err.empty());
  REQUIRE(made.out.size() == 2 * (11 + 64 + 1));
  CHECK(made.out.substr(0, 11) == "public_key ");
  CHECK(made.out.substr(76, 11) == "key_id     ");
  const Ended printed = run(kKey, {"--signing-key", path});
  CHECK(printed.exit == 0);
  CHECK(printed.out == made.out);

  const std::string seed = read_whole(path);
  CHECK(seed.size() == 65);
  const Ended again = run(kKeygen, {"--out", path});
  CHECK(again.exit == 1);
  CHECK(again.out.empty());
  CHECK(has(again.err, "it exists; --force replaces it"));
  CHECK(read_whole(path) == seed);
  CHECK(run(kKeygen, {"--out", path, "--force"}).exit == 0);
  CHECK(read_whole(path) != seed);
}

TEST_CASE("keygen and key go to the default place when none is named") {
  const Scratch home;
  const Ended none = run(kKey, {}, home.folder());
  CHECK(none.exit == 2);
  CHECK(has(none.err, "there is none yet; aegis keygen makes it"));
  CHECK(home.list().empty());
  const Ended made = run(kKeygen, {}, home.folder());
  CHECK(made.exit == 0);
  CHECK(run(kKey, {}, home.folder()).out == made.out);
  CHECK(run(kKeygen, {}, home.folder()).exit == 1);
}

TEST_CASE("keygen makes no folder for a named key") {
  const Scratch scratch;
  const Ended ended = run(kKeygen, {"--out", scratch.path("none/key")});
  CHECK(ended.exit == 1);
  CHECK(has(ended.err, "No such file or directory"));
  CHECK(scratch.list().empty());
}

TEST_CASE("verify prints the report, the same for the same bytes wherever they lie") {
  const Scratch scratch;
  const std::string first = scratch.write("a.aarl", sealed_record());
  const std::string second = scratch.write("other name", sealed_record());
  const Ended ended = run(kVerify, {first});
  CHECK(ended.exit == 0);
  CHECK(ended.err.empty());
  CHECK(ended.out == "Verified (unpinned)\nkey_id " + known_id() + "\ncoverage session 0 seq 3\n");
  CHECK(run(kVerify, {second}).out == ended.out);
}

TEST_CASE("verify's exit code tells the verdict") {
  const Scratch scratch;
  const std::string good = scratch.write("good.aarl", sealed_record());
  const std::string open = scratch.write("open.aarl", open_record());
  const std::string bad = scratch.write("bad.aarl", tampered_record());
  const std::string empty = scratch.write("empty.aarl", "");
  const std::string none = scratch.path("none.aarl");
  const std::string other(64, '1');
  struct Row {
    std::string_view name;
    Words words;
    int exit;
    std::string begins;
  };
  const Row rows[] = {
      {"verified", {good}, 0, "Verified (unpinned)\n"},
      {"pinned", {"--key", known_hex(), good}, 0, "Verified (pinned to "},
      {"one of two keys", {"--key", other, "--key", known_hex(), good}, 0, "Verified (pinned to "},
      {"pinned to another", {"--key", other, good}, 1, "Tampered: "},
      {"tampered", {bad}, 1, "Tampered: "},
      {"indeterminate", {open}, 3, "Indeterminate: "},
      {"no Lines", {empty}, 3, "Indeterminate: "},
      {"unreadable", {none}, 2, ""},
      {"all", {good, open, none, bad}, 1, good + "\nVerified"},
      {"unreadable outranks indeterminate", {open, none, good}, 2, open + "\nIndeterminate"},
      {"indeterminate outranks verified", {good, open}, 3, good + "\nVerified"},
      {"two good ones", {good, good}, 0, good + "\nVerified"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const Ended ended = run(kVerify, row.words);
    CHECK(ended.exit == row.exit);
    CHECK(ended.out.substr(0, row.begins.size()) == row.begins);
    CHECK(ended.out.empty() == row.begins.empty());
  }
}

TEST_CASE("verify takes every .aarl of a folder, in order") {
  const Scratch scratch;
  scratch.write("b.aarl", sealed_record());
  scratch.write("a.aarl", open_record());
  scratch.write("a.aarl.torn-1", "{");
  scratch.write("notes.txt", "notes");
  const Ended ended = run(kVerify, {scratch.folder()});
  CHECK(ended.exit == 3);
  CHECK(ended.err.empty());
  const std::size_t first = ended.out.find(scratch.path("a.aarl") + "\nIndeterminate");
  const std::size_t second = ended.out.find(scratch.path("b.aarl") + "\nVerified");
  CHECK(first == 0);
  CHECK(second != std::string::npos);
  CHECK_FALSE(has(ended.out, "torn-1"));
}

TEST_CASE("verify of a folder without records, or of what is no file, is unreadable") {
  const Scratch scratch;
  REQUIRE(::mkdir(scratch.path("empty").c_str(), 0700) == 0);
  REQUIRE(::mkfifo(scratch.path("fifo.aarl").c_str(), 0600) == 0);
  for (const std::string& path : {scratch.path("empty"),
                                  scratch.path("fifo.aarl"),
                                  std::string("/dev/zero"),
                                  std::string("")}) {
    CAPTURE(path);
    const Ended ended = run(kVerify, {path});
    CHECK(ended.exit == 2);
    CHECK(ended.out.empty());
    CHECK(has(ended.err, "read the "));
  }
}

TEST_CASE("a path cannot forge a verdict") {
  const Scratch scratch;
  const std::string path = scratch.write("a\nVerified (pinned)\n.aarl", tampered_record());
  const Ended ended = run(kVerify, {path, path});
  CHECK(ended.exit == 1);
  CHECK_FALSE(has(ended.out, "\nVerified"));
}

TEST_CASE("a trust store is a pin, and what is wrong with it is said") {
  const Scratch scratch;
  const std::string good = scratch.write("good.aarl", sealed_record());
  const std::string store = scratch.path("store");
  struct Row {
    std::string_view name;
    std::string text;
    int exit;
    std::string_view out;
    std::string_view err;
  };
  const std::string hex = known_hex();
  const Row rows[] = {
      {"the key", hex + "\n", 0, "Verified (pinned", ""},
      {"comments and blanks", "# ours\n\n" + hex, 0, "Verified (pinned", ""},
      {"empty", "", 1, "Tampered", ""},
      {"only a comment", "# none\n", 1, "Tampered", ""},
      {"no key", "# ours\nkey\n", 1, "", ":2: expected one public key"},
      {"upper case", std::string(64, 'A') + "\n", 1, "", ":1: expected one public key"},
      {"too large", std::string((1 << 20) + 1, '#'), 1, "", "it is larger than 1 MiB"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    scratch.write("store", row.text);
    const Ended ended = run(kVerify, {"--trust-store", store, good});
    CHECK(ended.exit == row.exit);
    CHECK(ended.out.substr(0, row.out.size()) == row.out);
    CHECK(ended.out.empty() == row.out.empty());
    CHECK(has(ended.err, row.err));
  }
  const Ended missing = run(kVerify, {"--trust-store", scratch.path("none"), good});
  CHECK(missing.exit == 2);
  CHECK(missing.out.empty());
  // Both are one set.
  scratch.write("store", "");
  CHECK(run(kVerify, {"--trust-store", store, "--key", hex, good}).exit == 0);
}

TEST_CASE("a --key that is no key is a usage error, one that is the key_id gets a hint") {
  const Scratch scratch;
  const std::string good = scratch.write("good.aarl", sealed_record());
  for (const std::string& key : {std::string("x"), std::string(64, 'A'), std::string(63, '0')}) {
    CAPTURE(key);
    const Ended ended = run(kVerify, {"--key", key, good});
    CHECK(ended.exit == 1);
    CHECK(ended.out.empty());
    CHECK(has(ended.err, "64 lower-case hex digits"));
  }
  const Ended hinted = run(kVerify, {"--key", known_id(), good});
  CHECK(hinted.exit == 1);
  CHECK(has(hinted.out, "Tampered"));
  CHECK(has(hinted.err, "that is the record's key_id"));
  CHECK(run(kVerify, {"--key", std::string(64, '1'), good}).err.empty());
}

TEST_CASE("verify --json gives one object, for one record and for several") {
  const Scratch scratch;
  const std::string good = scratch.write("good.aarl", sealed_record());
  const std::string odd = scratch.write("\xff\".aarl", sealed_record());
  const Ended one = run(kVerify, {"--json", good});
  CHECK(one.exit == 0);
  CHECK(one.out.front() == '{');
  CHECK(has(one.out, "\"verdict\":\"Verified\""));
  const std::string object = one.out.substr(0, one.out.size() - 1);
  const Ended two = run(kVerify, {"--json", good, odd});
  CHECK(two.out == "{\"records\":[{\"path\":\"" + good + "\",\"report\":" + object +
                       "},{\"path\":\"" + scratch.folder() +
                       "/\\\\xff\\\".aarl\",\"report\":" + object + "}]}\n");
  const Ended gone = run(kVerify, {"--json", scratch.path("none"), good});
  CHECK(gone.exit == 2);
  CHECK(gone.out == "{\"records\":[{\"path\":\"" + good + "\",\"report\":" + object + "}]}\n");
  const Ended only_gone = run(kVerify, {"--json", scratch.path("none")});
  CHECK(only_gone.exit == 2);
  CHECK(only_gone.out.empty());
}

TEST_CASE("recheck without a record checks the policy alone") {
  const Scratch scratch;
  const std::string good = scratch.write("good", "version: 1\nrules: []\n");
  const Ended ended = run(kRecheck, {"--policy", good});
  CHECK(ended.exit == 0);
  CHECK(ended.out.substr(0, 16) == "policy_set_hash ");
  CHECK(has(ended.out, "\nrules 0\n"));
  const std::string hash = ended.out.substr(16, 64);
  const Ended json = run(kRecheck, {"--policy", good, "--json"});
  CHECK(json.out == "{\"policy_set_hash\":\"" + hash + "\",\"rules\":0}\n");

  const std::string bad = scratch.write("bad", "version: 1\nrules:\n  - id: a\n    acton: deny\n");
  const Ended refused = run(kRecheck, {"--policy", bad});
  CHECK(refused.exit == 2);
  CHECK(refused.out.empty());
  CHECK(has(refused.err, bad + ":4:5: "));
  CHECK(run(kRecheck, {"--policy", scratch.path("none")}).exit == 2);
}

TEST_CASE("recheck tells what other rules would have decided") {
  const Scratch scratch;
  const std::string record = scratch.write("a.aarl", sealed_record());
  const auto policy = [&](std::string_view rules) {
    return scratch.write("policy", "version: 1\nrules:" + std::string(rules));
  };
  const std::string rule = "\n  - {id: r, tool: echo, action: ";
  struct Row {
    std::string_view name;
    std::string rules;
    int exit;
    std::string_view says;
  };
  const Row rows[] = {
      {"the same", " []\n", 0, ": unchanged allowed\n"},
      {"denied", rule + "deny}\n", 1, ": newly_blocked was=allowed now=denied\n"},
      {"parked", rule + "pending_approval}\n", 1, ": newly_parked was=allowed\n"},
      {"counted",
       rule + "rate_limit, rate: {max: 1, per_seconds: 1}}\n",
       3,
       ": indeterminate rate_limit_unevaluable\n"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const Ended ended = run(kRecheck, {"--policy", policy(row.rules), record});
    CHECK(ended.exit == row.exit);
    CHECK(has(ended.out, " session 0 seq 2"));
    CHECK(has(ended.out, row.says));
    const Ended json = run(kRecheck, {"--json", "--policy", policy(row.rules), record});
    CHECK(json.exit == row.exit);
    CHECK(json.out.substr(0, 10) == "{\"calls\":[");
  }
}

TEST_CASE("recheck's usage errors and unreadable records have codes of their own") {
  const Scratch scratch;
  const std::string policy = scratch.write("policy", "version: 1\nrules: []\n");
  const std::string record = scratch.write("a.aarl", sealed_record());
  CHECK(run(kRecheck, {record}).exit == 1);
  CHECK(has(run(kRecheck, {record}).err, "--policy"));
  CHECK(run(kRecheck, {"--policy", policy, record, record}).exit == 1);
  const Ended gone = run(kRecheck, {"--policy", policy, scratch.path("none")});
  CHECK(gone.exit == 2);
  CHECK(gone.out.empty());
}

TEST_CASE("an answer that cannot be written is never a success") {
  const Scratch scratch;
  const std::string good = scratch.write("good.aarl", sealed_record());
  const std::string policy = scratch.write("policy", "version: 1\nrules: []\n");
  struct Row {
    std::string_view name;
    VerbFunction verb;
    Words words;
    int exit;
  };
  const Row rows[] = {
      {"keygen", kKeygen, {"--out", scratch.path("key")}, 1},
      {"key", kKey, {"--signing-key", scratch.path("key")}, 2},
      {"verify", kVerify, {good}, 2},
      {"verify --json", kVerify, {"--json", good, good}, 2},
      {"recheck", kRecheck, {"--policy", policy, good}, 2},
      {"recheck of a policy", kRecheck, {"--policy", policy}, 2},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const Ended ended = run_to_full(row.verb, row.words);
    CHECK(ended.exit == row.exit);
    CHECK(has(ended.err, "write the answer: stdout: No space left on device"));
  }
}

}  // namespace
