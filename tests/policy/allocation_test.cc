// SPDX-License-Identifier: Apache-2.0 OR MIT
// What stands on the way of every call allocates nothing. This program's operator new counts, for
// all of its tests.
#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "policy/builder.h"
#include "policy/policy.h"
#include "policy/rate.h"

namespace {

std::size_t allocations = 0;

void* allocate(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  std::abort();
}

}  // namespace

void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return allocate(size);
}
void* operator new(std::size_t size) {
  return allocate(size);
}
void* operator new[](std::size_t size) {
  return allocate(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

namespace aegis::policy {
namespace {

TEST_CASE("a decision allocates nothing, whether a rule matches or none") {
  std::vector<Rule> rules(1000);
  for (std::size_t number = 0; number < rules.size(); ++number) {
    rules[number].id = "rule-number-" + std::to_string(number);
    rules[number].tool = "a-tool-with-a-name-longer-than-a-short-string-" + std::to_string(number);
    if (number % 3 == 0) rules[number].role = "operator";
  }
  const Policy policy = PolicyBuilder::build(std::move(rules), Action::allow);
  const std::string known = "a-tool-with-a-name-longer-than-a-short-string-999";
  const std::string unknown = "another-tool-with-a-name-longer-than-a-short-string";
  const std::size_t before = allocations;
  const Verdict matched = policy.decide({known, "operator"});
  const Verdict missed = policy.decide({unknown, "operator"});
  const std::size_t after = allocations;
  CHECK(matched.rule != nullptr);
  CHECK(missed.rule == nullptr);
  CHECK(after == before);
}

TEST_CASE(
    "counting a call against a window that is there allocates nothing, nor does its next window") {
  RateWindows windows(16);
  Rule rule;
  rule.id = "a-rule-with-an-id-longer-than-a-short-string";
  rule.rate = Rate{2, 1};
  const std::string tool = "a-tool-with-a-name-longer-than-a-short-string";
  CHECK(windows.admit(rule, tool, 0));
  const std::size_t before = allocations;
  const bool within = windows.admit(rule, tool, 1);
  const bool over = windows.admit(rule, tool, 2);
  const bool next = windows.admit(rule, tool, 1'000'000'000);
  const std::size_t after = allocations;
  CHECK(within);
  CHECK_FALSE(over);
  CHECK(next);
  CHECK(after == before);
}

}  // namespace
}  // namespace aegis::policy
