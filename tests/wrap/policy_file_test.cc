// SPDX-License-Identifier: Apache-2.0 OR MIT
// How a policy file is read: what is no file for it, and how much of one is looked at.
#include "wrap/policy_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "tests/wrap/scratch.h"

namespace {

using aegis::confine::describe;
using aegis::confine::Result;
using aegis::policy::Loaded;
using aegis::policy::Purpose;
using aegis::test::Scratch;
using aegis::wrap::load_policy_file;

constexpr std::string_view kGood = "version: 1\nrules: []\n";
constexpr std::size_t kMiB = std::size_t{1} << 20;

TEST_CASE("a policy is read whole, up to the largest one") {
  const Scratch scratch;
  std::string large(kGood);
  large += "# ";
  large.resize(kMiB - 1, 'x');
  large += "\n";
  REQUIRE(large.size() == kMiB);
  for (const std::string& text : {std::string(kGood), large}) {
    const Result<Loaded> loaded = load_policy_file(scratch.write("policy", text), Purpose::wrap);
    REQUIRE(loaded);
    CHECK(loaded->policy);
  }
  const Result<Loaded> loaded =
      load_policy_file(scratch.write("policy", large + "#"), Purpose::wrap);
  REQUIRE(loaded);
  CHECK_FALSE(loaded->policy);
  CHECK(loaded->diagnostics.size() == 1);
}

TEST_CASE("a file that never ends is not read to its end") {
  const Scratch scratch;
  const std::string path = scratch.write("policy", kGood);
  REQUIRE(::truncate(path.c_str(), off_t{1} << 40) == 0);
  const Result<Loaded> loaded = load_policy_file(path, Purpose::wrap);
  REQUIRE(loaded);
  CHECK_FALSE(loaded->policy);
}

TEST_CASE("what is no regular file is refused at once") {
  const Scratch scratch;
  REQUIRE(::mkfifo(scratch.path("fifo").c_str(), 0600) == 0);
  struct Row {
    std::string path;
    std::string_view why;
  };
  const Row rows[] = {{scratch.path("fifo"), "it is not a regular file"},
                      {"/dev/zero", "it is not a regular file"},
                      {scratch.folder(), "Is a directory"},
                      {scratch.path("none"), "No such file or directory"}};
  for (const Row& row : rows) {
    CAPTURE(row.path);
    const Result<Loaded> loaded = load_policy_file(row.path, Purpose::recheck);
    REQUIRE_FALSE(loaded);
    CHECK(describe(loaded.error()) == "read the policy: " + row.path + ": " + std::string(row.why));
  }
}

}  // namespace
