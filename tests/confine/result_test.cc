// SPDX-License-Identifier: Apache-2.0 OR MIT
// A value or an error, how one is passed on, and how it reads.
#include "confine/result.h"

#include <cerrno>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <doctest/doctest.h>

namespace {

using aegis::confine::code_error;
using aegis::confine::describe;
using aegis::confine::errno_error;
using aegis::confine::Error;
using aegis::confine::refusal;
using aegis::confine::Result;

Result<std::unique_ptr<int>> made(int number) {
  if (number < 0) return refusal("make", "a number", "it is negative");
  return std::make_unique<int>(number);
}

Result<void> checked(int number) {
  if (number > 9) return code_error("check", "a number", ERANGE);
  return {};
}

Result<int> doubled(int number) {
  AEGIS_TRY(checked(number));
  const std::unique_ptr<int> value = AEGIS_TRY(made(number));
  return 2 * *value;
}

TEST_CASE("a value passes through a try, an error returns from the function") {
  CHECK(doubled(4).value() == 8);
  CHECK(describe(doubled(-1).error()) == "make: a number: it is negative");
  CHECK(describe(doubled(10).error()) == "check: a number: Numerical result out of range");
}

TEST_CASE("a result says which of the two it holds") {
  CHECK(doubled(1).is_ok());
  CHECK(static_cast<bool>(doubled(1)));
  CHECK_FALSE(doubled(-1).is_ok());
  CHECK(checked(1).is_ok());
  CHECK_FALSE(static_cast<bool>(checked(10)));
}

TEST_CASE("an error takes errno of the call that failed, with and without a thing it was done to") {
  errno = ENOENT;
  const Error with = errno_error("open", "/nowhere");
  CHECK(with.code == ENOENT);
  CHECK(describe(with) == "open: /nowhere: No such file or directory");
  errno = EMFILE;
  CHECK(describe(errno_error("make a pipe")) == "make a pipe: Too many open files");
}

TEST_CASE("a value is looked at in place") {
  const Result<std::string> text(std::string("fine"));
  CHECK(*text == "fine");
  CHECK(text->size() == 4);
}

TEST_CASE("taking a value moves it out") {
  Result<std::unique_ptr<int>> result = made(3);
  const std::unique_ptr<int> taken = std::move(result).value();
  REQUIRE(taken);
  CHECK(*taken == 3);
  static_assert(!std::is_copy_constructible_v<Result<std::unique_ptr<int>>>);
}

}  // namespace
