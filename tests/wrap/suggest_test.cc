// SPDX-License-Identifier: Apache-2.0 OR MIT
// Which word is near enough to be offered.
#include "wrap/suggest.h"

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace {

using aegis::wrap::did_you_mean;
using aegis::wrap::edit_distance;

TEST_CASE("the distance counts letters added, dropped, changed and swapped") {
  struct Row {
    std::string_view left, right;
    std::size_t distance;
  };
  constexpr Row kRows[] = {
      {"", "", 0},
      {"", "abc", 3},
      {"abc", "", 3},
      {"verify", "verify", 0},
      {"verfy", "verify", 1},
      {"veriify", "verify", 1},
      {"verity", "verify", 1},
      {"evrify", "verify", 1},
      {"yfirev", "verify", 5},
      {"kitten", "sitting", 3},
      {"ab", "ba", 1},
      {"abcd", "badc", 2},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.left);
    CAPTURE(row.right);
    CHECK(edit_distance(row.left, row.right) == row.distance);
    CHECK(edit_distance(row.right, row.left) == row.distance);
  }
}

TEST_CASE("the nearest word is offered, and none when all are far") {
  const std::vector<std::string> known = {"--key", "--trust-store", "--json", "keygen", "key"};
  CHECK(did_you_mean("--kye", known) == "; did you mean --key?");
  CHECK(did_you_mean("--truststore", known) == "; did you mean --trust-store?");
  CHECK(did_you_mean("keygne", known) == "; did you mean keygen?");
  CHECK(did_you_mean("keys", known) == "; did you mean key?");
  CHECK(did_you_mean("--something", known).empty());
  CHECK(did_you_mean("", known).empty());
  CHECK(did_you_mean(std::string(100'000, 'k'), known).empty());
  CHECK(did_you_mean("key", {}).empty());
}

}  // namespace
