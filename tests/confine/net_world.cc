// SPDX-License-Identifier: Apache-2.0 OR MIT
// See net_world.h.
#include "net_world.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "confine/net_child.h"
#include "confine/supervisor.h"

namespace aegis::test {
namespace {

using confine::Fd;
using confine::NetReport;

constexpr int kPatience = 30'000;  // milliseconds
constexpr int kShort = 5'000;

/// Ends the process with a stage that says where.
void require(int code, int stage) {
  if (code == 0) return;
  static_cast<void>(std::fprintf(stderr, "net world: stage %d: %s\n", stage, std::strerror(code)));
  ::_exit(200 + stage);
}

int code_of(bool is_done) {
  return is_done ? 0 : errno;
}

int write_file(const char* path, const std::string& text) {
  const Fd file(::open(path, O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) return errno;
  return code_of(::write(file.get(), text.data(), text.size()) ==
                 static_cast<ssize_t>(text.size()));
}

int map_user(unsigned user, unsigned group) {
  if (const int code = write_file("/proc/self/setgroups", "deny")) return code;
  const std::string uid = std::to_string(user);
  const std::string gid = std::to_string(group);
  if (const int code = write_file("/proc/self/gid_map", gid + " " + gid + " 1")) return code;
  return write_file("/proc/self/uid_map", uid + " " + uid + " 1");
}

int drop_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  return code_of(::syscall(SYS_capset, &header, none.data()) == 0);
}

/// landlock(7): BIND_TCP and CONNECT_TCP (ABI 4, Linux 6.7) with no rule for either.
int refuse_tcp() {
  struct {
    std::uint64_t handled_access_fs = 0;
    std::uint64_t handled_access_net = 3;
  } attributes;
  const Fd ruleset(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0U)));
  if (!ruleset.is_open()) return errno;
  return code_of(::syscall(SYS_landlock_restrict_self, ruleset.get(), 0U) == 0);
}

std::pair<int, int> make_sockets() {
  int ends[2] = {-1, -1};
  static_cast<void>(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
  return {ends[0], ends[1]};
}

pid_t clone_into(int namespaces) {
  return static_cast<pid_t>(
      ::syscall(SYS_clone, static_cast<long>(namespaces | SIGCHLD), 0L, 0L, 0L, 0L));
}

void end(pid_t& process) {
  if (process <= 0) return;
  ::kill(process, SIGKILL);
  ::waitpid(process, nullptr, 0);
  process = -1;
}

std::uint16_t listen_on(int socket, const char* address, int backlog) {
  sockaddr_in here{};
  here.sin_family = AF_INET;
  ::inet_pton(AF_INET, address, &here.sin_addr);
  if (::bind(socket, reinterpret_cast<sockaddr*>(&here), sizeof here) != 0) return 0;
  if (::listen(socket, backlog) != 0) return 0;
  socklen_t size = sizeof here;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&here), &size);
  return ntohs(here.sin_port);
}

[[noreturn]] void echo(int listening, std::atomic<int>& accepted) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::vector<pollfd> polled{{listening, POLLIN, 0}};
  for (;;) {
    ::poll(polled.data(), polled.size(), -1);
    for (std::size_t at = 1; at < polled.size(); ++at) {
      if (polled[at].revents == 0) continue;
      std::array<char, 256> text;
      const ssize_t size = ::recv(polled[at].fd, text.data(), text.size(), MSG_DONTWAIT);
      if (size > 0) {
        ::send(polled[at].fd, text.data(), static_cast<std::size_t>(size), MSG_NOSIGNAL);
      } else {
        ::close(polled[at].fd);
        polled[at].fd = -1;
      }
    }
    std::erase_if(polled, [](const pollfd& each) { return each.fd < 0; });
    if (polled[0].revents == 0) continue;
    const int fresh = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    if (fresh < 0) continue;
    accepted.fetch_add(1);
    polled.push_back({fresh, POLLIN, 0});
  }
}

std::string missing_for_world() {
  if (::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) < 4)
    return "Landlock ABI 4 (Linux 6.7)";
  const pid_t child = clone_into(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWPID);
  if (child == 0) ::_exit(0);
  if (child < 0) return std::string{"user, network and pid namespaces: "} + std::strerror(errno);
  ::waitpid(child, nullptr, 0);
  return {};
}

}  // namespace

EchoServer::EchoServer(const char* address) : address_(address) {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  port_ = listen_on(socket.get(), address, 1024);
  process_ = ::fork();
  if (process_ == 0) echo(socket.get(), *accepted_);
}

/// It takes one after the other: when it answers the last, it has counted all before it.
int EchoServer::count() const {
  const Fd last(tcp_socket());
  ++own_;
  if (connect_v4(last.get(), address_.c_str(), port_) != 0 || !is_echoed(last.get())) return -1;
  return accepted_->load() - own_;
}

EchoServer::~EchoServer() {
  end(process_);
}

FullServer::FullServer() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockets_.push_back(socket);
  port_ = listen_on(socket, "127.0.0.1", 0);
  for (int count = 0; count < 4; ++count) {
    sockets_.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    static_cast<void>(connect_v4(sockets_.back(), "127.0.0.1", port_));
  }
}

FullServer::~FullServer() {
  for (const int socket : sockets_)
    ::close(socket);
}

bool NetWorld::is_possible() {
  static const std::string missing = missing_for_world();
  if (!missing.empty()) std::printf("skipped: 1: needs %s\n", missing.c_str());
  return missing.empty();
}

NetWorld::NetWorld(const std::vector<confine::NetGrant>& grants,
                   const confine::ResolveName& resolve) {
  auto [inlet, their_inlet] = make_sockets();
  auto [reports, their_reports] = make_sockets();
  auto [control, their_control] = make_sockets();
  inlet_ = inlet;
  reports_ = reports;
  control_ = control;
  supervisor_ = ::fork();
  if (supervisor_ == 0) {
    confine::SupervisorEnds ends{Fd(their_inlet), Fd(their_reports), Fd(their_control)};
    confine::run_supervisor(std::move(ends), grants, resolve);
  }
  ::close(their_inlet);
  ::close(their_reports);
  ::close(their_control);
}

NetWorld::~NetWorld() {
  end(supervisor_);
  for (const int fd : {inlet_, reports_, control_}) {
    if (fd >= 0) ::close(fd);
  }
}

void NetWorld::confine_and_run(int inlet, const std::function<int()>& program) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  int resolver = -1;
  require(confine::raise_loopback(), 1);
  require(confine::open_resolver_socket(&resolver), 2);
  require(confine::send_fd(inlet, resolver, confine::kResolverTag), 3);
  ::close(resolver);
  require(drop_capabilities(), 4);
  require(code_of(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0), 5);
  require(refuse_tcp(), 6);
  const pid_t payload = ::fork();  // glibc's own, so that it knows its thread
  if (payload == 0) {
    int listener = -1;
    require(confine::load_listener(&listener), 7);
    require(confine::send_fd(inlet, listener, confine::kListenerTag), 8);
    require(code_of(::syscall(SYS_close_range, 3U, ~0U, 0U) == 0), 9);
    ::_exit(program());
  }
  ::close(inlet);
  int status = 0;
  ::waitpid(payload, &status, 0);
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 199);
}

int NetWorld::run(const std::function<int()>& program) {
  const unsigned user = ::geteuid();
  const unsigned group = ::getegid();
  pid_t init = clone_into(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWPID);
  if (init == 0) {
    require(map_user(user, group), 0);
    ::close(control_);
    ::close(reports_);
    confine_and_run(inlet_, program);
  }
  ::close(std::exchange(inlet_, -1));
  const Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, init, 0)));
  pollfd polled{pidfd.get(), POLLIN, 0};
  if (::poll(&polled, 1, kPatience) != 1) {
    end(init);
    return -1;
  }
  int status = 0;
  ::waitpid(init, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) != 199 ? WEXITSTATUS(status) : -1;
}

std::vector<NetReport> NetWorld::reports() {
  std::array<std::byte, 1024> datagram;
  ssize_t size = 0;
  while ((size = ::recv(reports_, datagram.data(), datagram.size(), MSG_DONTWAIT)) > 0) {
    const auto report =
        confine::decode_net_report({datagram.data(), static_cast<std::size_t>(size)});
    if (report) received_.push_back(*report);
  }
  return received_;
}

int NetWorld::count(NetReport::Kind kind) {
  int found = 0;
  for (const NetReport& report : reports())
    found += report.kind == kind ? 1 : 0;
  return found;
}

pid_t run_as_host(const std::function<void()>& body) {
  const unsigned user = ::geteuid();
  const unsigned group = ::getegid();
  const pid_t host = clone_into(CLONE_NEWUSER | CLONE_NEWNET);
  if (host == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    require(map_user(user, group), 0);
    const pid_t inner = ::fork();  // glibc's own, so that it knows its thread
    if (inner == 0) {
      body();
      ::_exit(0);
    }
    int status = 1;
    ::waitpid(inner, &status, 0);
    ::_exit(status == 0 ? 0 : 1);
  }
  int status = 1;
  if (host > 0) ::waitpid(host, &status, 0);
  return status == 0 ? host : -1;
}

int connect_v4(int socket, const char* address, std::uint16_t port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  ::inet_pton(AF_INET, address, &to.sin_addr);
  return ::connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0 ? 0 : -errno;
}

int connect_v6(int socket, const char* address, std::uint16_t port) {
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_port = htons(port);
  ::inet_pton(AF_INET6, address, &to.sin6_addr);
  return ::connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0 ? 0 : -errno;
}

int tcp_socket(int family, int flags) {
  return ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
}

bool is_echoed(int socket) {
  constexpr std::array<char, 4> kWord{'p', 'i', 'n', 'g'};
  if (::send(socket, kWord.data(), kWord.size(), MSG_NOSIGNAL) != 4) return false;
  pollfd polled{socket, POLLIN, 0};
  if (::poll(&polled, 1, kShort) != 1) return false;
  std::array<char, 4> heard{};
  return ::recv(socket, heard.data(), heard.size(), 0) == 4 && heard == kWord;
}

int await_connect(int socket) {
  pollfd polled{socket, POLLOUT, 0};
  if (::poll(&polled, 1, kShort) != 1) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

}  // namespace aegis::test
