// SPDX-License-Identifier: Apache-2.0 OR MIT
// Where a socket stands in a process, as /proc shows it.
#include "confine/socket_places.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "confine/fd.h"

namespace {

using namespace aegis::confine;

TEST_CASE("a line of an epoll instance's fdinfo is a registration") {
  const EpollPlace expected{-1, 5, 0x80000019, 0xdeadbeef00000007, 0x4c5};
  CHECK(parse_epoll_line(
            "tfd:        5 events: 80000019 data: deadbeef00000007  pos:0 ino:4c5 sdev:8") ==
        expected);
  for (const std::string_view line : {"",
                                      "pos:\t0",
                                      "tfd:",
                                      "tfd: 5",
                                      "tfd: 5 events: 19 data: 5",
                                      "tfd: x events: 19 data: 5 pos:0 ino:4c5 sdev:8",
                                      "tfd: 5 events: 1g data: 5 pos:0 ino:4c5 sdev:8",
                                      "tfd: 99999999999 events: 19 data: 5 pos:0 ino:4c5 sdev:8",
                                      " tfd: 5 events: 19 data: 5 pos:0 ino:4c5 sdev:8"}) {
    CAPTURE(line);
    CHECK_FALSE(parse_epoll_line(line));
  }
}

TEST_CASE("every descriptor and registration of a socket is found, and no other's") {
  const Fd process(::open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const Fd other(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int kept = ::fcntl(socket.get(), F_DUPFD, 200);  // not closed on exec
  const Fd first(::epoll_create1(EPOLL_CLOEXEC));
  const Fd second(::epoll_create1(EPOLL_CLOEXEC));
  const auto add = [](const Fd& epoll, int fd, std::uint32_t events, std::uint64_t data) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = data;
    REQUIRE(::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) == 0);
  };
  add(first, socket.get(), EPOLLIN, 1);
  add(first, other.get(), EPOLLIN, 2);
  add(first, kept, EPOLLOUT | EPOLLET, ~0ULL);
  add(second, kept, EPOLLIN | EPOLLONESHOT, 3);
  struct stat status {};
  REQUIRE(::fstat(socket.get(), &status) == 0);

  const std::optional<SocketPlaces> places = find_places(process.get(), status.st_ino);
  REQUIRE(places);
  REQUIRE(places->descriptors.size() == 2);
  CHECK(places->descriptors[0].number == socket.get());
  CHECK(places->descriptors[0].is_closed_on_exec);
  CHECK(places->descriptors[1].number == kept);
  CHECK_FALSE(places->descriptors[1].is_closed_on_exec);
  REQUIRE(places->epolls.size() == 3);
  int data_of_kept = 0;
  for (const EpollPlace& each : places->epolls) {
    CHECK(each.inode == status.st_ino);
    const bool is_in_second = each.epoll == second.get();
    if (is_in_second) CHECK(each.data == 3);
    if (each.data == ~0ULL) {
      ++data_of_kept;
      CHECK(each.number == kept);
      CHECK(each.epoll == first.get());
      // What the kernel adds by itself (epoll_ctl(2)).
      CHECK((each.events & ~(EPOLLERR | EPOLLHUP)) == (EPOLLOUT | EPOLLET));
    }
  }
  CHECK(data_of_kept == 1);
  ::close(kept);
}

TEST_CASE("a process that shows nothing has no known places") {
  const Fd folder(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  CHECK_FALSE(find_places(folder.get(), 1));
  CHECK_FALSE(find_places(-1, 1));
}

}  // namespace
