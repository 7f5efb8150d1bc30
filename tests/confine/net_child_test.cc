// SPDX-License-Identifier: Apache-2.0 OR MIT
// Passing descriptors from the confined side to the supervisor. The rest of net_child is tried by
// supervisor_test.cc.
#include "confine/net_child.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include <doctest/doctest.h>

#include "confine/fd.h"

namespace {

using namespace aegis::confine;

std::pair<Fd, Fd> make_sockets() {
  int ends[2] = {-1, -1};
  REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

ino_t inode_of(int fd) {
  struct stat status {};
  REQUIRE(::fstat(fd, &status) == 0);
  return status.st_ino;
}

TEST_CASE("a descriptor arrives with its tag, and is closed on exec") {
  const auto [here, there] = make_sockets();
  const Fd sent(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  REQUIRE(send_fd(there.get(), sent.get(), kListenerTag) == 0);
  int number = -1;
  char tag = 0;
  REQUIRE(receive_fd(here.get(), &number, &tag) == 0);
  CHECK(tag == kListenerTag);
  CHECK(number != sent.get());
  CHECK(inode_of(number) == inode_of(sent.get()));
  CHECK(::fcntl(number, F_GETFD) == FD_CLOEXEC);
  ::close(number);
}

TEST_CASE("what cannot be sent or received is an errno") {
  auto [here, there] = make_sockets();
  int number = -1;
  char tag = 0;
  CHECK(send_fd(there.get(), 12345, 'x') == EBADF);
  REQUIRE(::send(there.get(), "x", 1, 0) == 1);
  CHECK(receive_fd(here.get(), &number, &tag) == EBADMSG);
  there.reset();
  CHECK(receive_fd(here.get(), &number, &tag) == ECONNRESET);
  CHECK(send_fd(here.get(), here.get(), 'x') == EPIPE);
  CHECK(number == -1);
}

TEST_CASE("no listener without the promise of no new privileges") {
  if (::geteuid() == 0) {
    std::printf("skipped: 1: who may administer the system needs no promise\n");
    return;
  }
  int listener = -1;
  CHECK(load_listener(&listener) == EACCES);
  CHECK(listener == -1);
}

}  // namespace
