// SPDX-License-Identifier: Apache-2.0 OR MIT
// Rate windows under a clock that the tests turn.
#include "policy/rate.h"

#include <cstdint>
#include <limits>
#include <string>

#include <doctest/doctest.h>

namespace aegis::policy {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

Rule rate_rule(std::string id, Rate rate) {
  Rule rule;
  rule.id = std::move(id);
  rule.action = Action::rate_limit;
  rule.rate = rate;
  return rule;
}

TEST_CASE("as many calls as the rate says pass, and no more until the window has ended") {
  RateWindows windows(8);
  const Rule rule = rate_rule("a", {2, 10});
  CHECK(windows.admit(rule, "t", 5 * kSecond));
  CHECK(windows.admit(rule, "t", 6 * kSecond));
  CHECK_FALSE(windows.admit(rule, "t", 7 * kSecond));
  CHECK_FALSE(windows.admit(rule, "t", 15 * kSecond - 1));
  CHECK(windows.admit(rule, "t", 15 * kSecond));
}

TEST_CASE("the window is fixed from its first call, and the next from the first call after it") {
  RateWindows windows(8);
  const Rule rule = rate_rule("a", {1, 10});
  CHECK(windows.admit(rule, "t", 0));
  CHECK(windows.admit(rule, "t", 17 * kSecond));
  CHECK_FALSE(
      windows.admit(rule, "t", 20 * kSecond));  // would pass if windows began every ten seconds
  CHECK(windows.admit(rule, "t", 27 * kSecond));
}

TEST_CASE("a refused call neither counts nor moves the window") {
  RateWindows windows(8);
  const Rule rule = rate_rule("a", {1, 10});
  CHECK(windows.admit(rule, "t", 0));
  for (std::uint64_t second = 1; second < 10; ++second)
    CHECK_FALSE(windows.admit(rule, "t", second * kSecond));
  CHECK(windows.admit(rule, "t", 10 * kSecond));
}

TEST_CASE("rules and tools have windows of their own, however their names are joined") {
  RateWindows windows(8);
  CHECK(windows.admit(rate_rule("a", {1, 10}), "b", 0));
  CHECK(windows.admit(rate_rule("a", {1, 10}), "c", 0));
  CHECK(windows.admit(rate_rule("ab", {1, 10}), "", 0));
  CHECK(windows.admit(rate_rule("", {1, 10}), "ab", 0));
  CHECK_FALSE(windows.admit(rate_rule("a", {1, 10}), "b", 0));
}

TEST_CASE("a rule that was read again goes on with its windows, under its new rate") {
  RateWindows windows(8);
  CHECK(windows.admit(rate_rule("a", {1, 10}), "t", 0));
  CHECK_FALSE(windows.admit(rate_rule("a", {1, 10}), "t", kSecond));
  CHECK(windows.admit(rate_rule("a", {2, 10}), "t", kSecond));
  CHECK_FALSE(windows.admit(rate_rule("a", {2, 10}), "t", 9 * kSecond));
  CHECK(windows.admit(rate_rule("a", {2, 5}), "t", 9 * kSecond));
}

TEST_CASE("windows that have ended make room; while none has, a new pair is refused") {
  RateWindows windows(2);
  const Rule rule = rate_rule("a", {5, 10});
  CHECK(windows.admit(rule, "one", 0));
  CHECK(windows.admit(rule, "two", 5 * kSecond));
  CHECK_FALSE(windows.admit(rule, "three", 9 * kSecond));
  CHECK(windows.admit(rule, "two", 9 * kSecond));  // those that are kept go on
  CHECK(windows.admit(rule, "three", 10 * kSecond));
  CHECK_FALSE(windows.admit(rule, "one", 10 * kSecond));
  CHECK(windows.admit(rule, "two", 10 * kSecond));
}

TEST_CASE("no window at all means that nothing passes") {
  RateWindows windows(0);
  CHECK_FALSE(windows.admit(rate_rule("a", {1, 1}), "t", 0));
}

TEST_CASE("the clock's and the rate's extremes neither overflow nor open a window early") {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  RateWindows windows(8);
  const Rule longest = rate_rule("long", {1, 18'446'744'073});
  CHECK(windows.admit(longest, "t", 1));
  CHECK_FALSE(windows.admit(longest, "t", kMax / 2));
  CHECK_FALSE(windows.admit(longest, "t", 18'446'744'073 * kSecond));
  CHECK(windows.admit(longest, "t", 18'446'744'073 * kSecond + 1));
  const Rule beyond = rate_rule("beyond", {1, kMax});
  CHECK(windows.admit(beyond, "t", 0));
  CHECK_FALSE(windows.admit(beyond, "t", kMax - 1));
  const Rule late = rate_rule("late", {1, 10});
  CHECK(windows.admit(late, "t", kMax));
  CHECK_FALSE(windows.admit(late, "t", kMax));
}

TEST_CASE("a clock that went back opens no window") {
  RateWindows windows(8);
  const Rule rule = rate_rule("a", {1, 10});
  CHECK(windows.admit(rule, "t", 100 * kSecond));
  CHECK_FALSE(windows.admit(rule, "t", 0));
}

TEST_CASE("names longer than a rule can hold share one window of their rule") {
  RateWindows windows(8);
  const Rule rule = rate_rule("a", {1, 10});
  CHECK(windows.admit(rule, std::string(1024, 'x'), 0));
  CHECK(windows.admit(rule, std::string(1025, 'x'), 0));
  CHECK_FALSE(windows.admit(rule, std::string(1025, 'y'), 0));
  CHECK(windows.admit(rule, "", 0));
}

TEST_CASE("thousands of pairs are kept apart while the table grows and is swept") {
  constexpr std::size_t kPairs = 5000;
  RateWindows windows(kPairs);
  const Rule rule = rate_rule("a", {1, 10});
  for (std::size_t pair = 0; pair < kPairs; ++pair)
    REQUIRE(windows.admit(rule, std::to_string(pair), pair % 2 * kSecond));
  for (std::size_t pair = 0; pair < kPairs; ++pair)
    REQUIRE_FALSE(windows.admit(rule, std::to_string(pair), kSecond));
  // At second 10 the even half has ended; a newcomer sweeps them out.
  REQUIRE(windows.admit(rule, "new", 10 * kSecond));
  for (std::size_t pair = 1; pair < kPairs; pair += 2)
    REQUIRE_FALSE(windows.admit(rule, std::to_string(pair), 10 * kSecond));
  for (std::size_t pair = 0; pair + 2 < kPairs; pair += 2)
    REQUIRE(windows.admit(rule, std::to_string(pair), 10 * kSecond));
}

}  // namespace
}  // namespace aegis::policy
