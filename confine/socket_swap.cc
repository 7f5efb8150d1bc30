// SPDX-License-Identifier: Apache-2.0 OR MIT
// See socket_swap.h.
#include "confine/socket_swap.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

#include "confine/fd.h"
#include "confine/socket_options.h"
#include "confine/socket_places.h"

namespace aegis::confine {
namespace {

/// EPOLLWAKEUP is dropped by the kernel for who may not have it.
epoll_event event_of(const EpollPlace& place) {
  epoll_event event{};
  event.events = place.events;
  event.data.u64 = place.data;
  return event;
}

/// The files that are moved about, out of the way of every number that is needed.
struct Moved {
  Fd pidfd;
  Fd old;
  Fd fresh;
};

int move_one(const Moved& moved, const EpollPlace& place, int floor) {
  const Fd taken = duplicate_of(moved.pidfd.get(), place.epoll);
  if (!taken.is_open()) return 0;  // closed since
  const Fd epoll(::fcntl(taken.get(), F_DUPFD_CLOEXEC, floor));
  if (!epoll.is_open()) return errno;
  epoll_event event = event_of(place);
  if (::dup3(moved.old.get(), place.number, O_CLOEXEC) < 0) return errno;
  static_cast<void>(::epoll_ctl(epoll.get(), EPOLL_CTL_DEL, place.number, nullptr));
  if (::dup3(moved.fresh.get(), place.number, O_CLOEXEC) < 0) return errno;
  const bool is_there =
      ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, place.number, &event) == 0 || errno == EEXIST;
  return is_there ? 0 : errno;
}

/// An epoll instance knows a file together with its descriptor's number (epoll(7)): what is added
/// under another number than the program's could neither be changed nor removed by it. Only in a
/// process of its own can every number be taken, so this runs in a fork.
int move_registrations(const Caller& caller,
                       const std::vector<EpollPlace>& places,
                       int old,
                       int fresh) {
  int floor = 0;
  for (const EpollPlace& place : places)
    floor = std::max(floor, place.number + 1);
  const Moved moved{Fd(::fcntl(caller.pidfd(), F_DUPFD_CLOEXEC, floor)),
                    Fd(::fcntl(old, F_DUPFD_CLOEXEC, floor)),
                    Fd(::fcntl(fresh, F_DUPFD_CLOEXEC, floor))};
  if (!moved.pidfd.is_open() || !moved.old.is_open() || !moved.fresh.is_open()) return EMFILE;
  for (const EpollPlace& place : places) {
    if (const int code = move_one(moved, place, floor)) return code;
  }
  return 0;
}

int move_in_fork(const Caller& caller, const std::vector<EpollPlace>& places, int old, int fresh) {
  const pid_t mover = ::fork();
  if (mover < 0) return errno;
  if (mover == 0) ::_exit(move_registrations(caller, places, old, fresh));
  int status = 0;
  while (::waitpid(mover, &status, 0) < 0) {
    if (errno != EINTR) return errno;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : ENOBUFS;
}

ino_t inode_of(int socket) {
  struct stat status {};
  return ::fstat(socket, &status) == 0 ? status.st_ino : 0;
}

}  // namespace

int swap_socket(
    const Listener& listener, const Call& call, const Caller& caller, int old, int fresh) {
  std::optional<SocketPlaces> places = find_places(caller.folder(), inode_of(old));
  if (!places) places = {{{static_cast<int>(call.arguments[0]), true}}, {}};
  copy_blocking(old, fresh);
  for (const SocketPlaces::Descriptor& each : places->descriptors) {
    const auto on_exec = each.is_closed_on_exec ? Listener::OnExec::close : Listener::OnExec::keep;
    if (const int code = listener.put(call.id, fresh, each.number, on_exec)) return code;
  }
  return places->epolls.empty() ? 0 : move_in_fork(caller, places->epolls, old, fresh);
}

}  // namespace aegis::confine
