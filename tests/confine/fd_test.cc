// SPDX-License-Identifier: Apache-2.0 OR MIT
// Who owns a descriptor, and when it is closed.
#include "confine/fd.h"

#include <fcntl.h>

#include <cerrno>
#include <type_traits>
#include <utility>

#include <doctest/doctest.h>

namespace {

using aegis::confine::Fd;

Fd null_device() {
  return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

bool is_number_open(int number) {
  return ::fcntl(number, F_GETFD) >= 0;
}

static_assert(!std::is_convertible_v<Fd, int> && !std::is_convertible_v<int, Fd>);
static_assert(!std::is_copy_constructible_v<Fd> && !std::is_copy_assignable_v<Fd>);
static_assert(std::is_nothrow_move_constructible_v<Fd> && std::is_nothrow_move_assignable_v<Fd>);

TEST_CASE("a descriptor is closed when its owner ends") {
  int number = -1;
  {
    const Fd owner = null_device();
    REQUIRE(owner.is_open());
    number = owner.get();
    CHECK(is_number_open(number));
  }
  CHECK_FALSE(is_number_open(number));
}

TEST_CASE("moving hands the descriptor over and leaves nothing behind") {
  Fd first = null_device();
  const int number = first.get();
  Fd second = std::move(first);
  // NOLINTNEXTLINE(bugprone-use-after-move,clang-analyzer-cplusplus.Move): the point of the test
  const bool is_first_open = first.is_open();
  CHECK_FALSE(is_first_open);
  CHECK(second.get() == number);

  Fd third = null_device();
  const int replaced = third.get();
  third = std::move(second);
  CHECK(third.get() == number);
  CHECK_FALSE(is_number_open(replaced));
  CHECK(is_number_open(number));
}

TEST_CASE("a released descriptor stays open and is its taker's") {
  Fd owner = null_device();
  const int number = owner.release();
  CHECK_FALSE(owner.is_open());
  CHECK(is_number_open(number));
  CHECK(::close(number) == 0);
}

TEST_CASE("what open returned on failure is not open") {
  CHECK_FALSE(Fd(-1).is_open());
  CHECK_FALSE(Fd().is_open());
}

TEST_CASE("closing keeps errno for who reports the failure") {
  Fd owner = null_device();
  errno = ENOSPC;
  owner.reset();
  CHECK(errno == ENOSPC);
  CHECK_FALSE(owner.is_open());
}

}  // namespace
