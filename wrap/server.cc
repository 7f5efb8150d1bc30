// SPDX-License-Identifier: Apache-2.0 OR MIT
// See server.h.
#include "wrap/server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace aegis::wrap {
namespace {

using confine::errno_error;
using confine::Error;
using confine::Fd;
using confine::Result;

struct Pipe {
  Fd read_end;
  Fd write_end;
};

/// `ours` becomes non-blocking: each end of a pipe is an open description of its own, so the
/// server's stays as a program expects it.
enum class Ours { read_end, write_end };

Result<Pipe> make_pipe(Ours ours) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error("make a pipe");
  Pipe made{Fd(ends[0]), Fd(ends[1])};
  const int fd = ours == Ours::read_end ? ends[0] : ends[1];
  if (::fcntl(fd, F_SETFL, O_NONBLOCK) != 0) return errno_error("make a pipe non-blocking");
  return made;
}

bool is_runnable(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

Result<Server> Server::prepare(const std::vector<std::string>& argv,
                               const confine::Prepared* confined) {
  Pipe input = AEGIS_TRY(make_pipe(Ours::write_end));
  Pipe output = AEGIS_TRY(make_pipe(Ours::read_end));
  Pipe errors = AEGIS_TRY(make_pipe(Ours::read_end));
  int control[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) != 0) {
    return errno_error("make a socket pair");
  }
  Fd ours(control[0]);
  KeeperEnds ends{std::move(input.read_end),
                  std::move(output.write_end),
                  std::move(errors.write_end),
                  Fd(control[1]),
                  {}};
  Fd net_reports;
  if (confined != nullptr && confined->spec().network == confine::Network::granted) {
    int reports[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, reports) != 0)
      return errno_error("make a socket pair");
    net_reports = Fd(reports[0]);
    ends.net_reports = Fd(reports[1]);
  }
  std::vector<std::string> words = argv;
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);

  const pid_t pid = ::fork();
  if (pid < 0) return errno_error("fork the keeper");
  if (pid == 0) run_keeper(std::move(ends), {pointers.data(), confined});

  Server server;
  server.keeper_ = pid;
  server.control_ = std::move(ours);
  server.input_ = std::move(input.write_end);
  server.output_ = std::move(output.read_end);
  server.errors_ = std::move(errors.read_end);
  server.net_reports_ = std::move(net_reports);
  return server;
}

Server::Server(Server&& other) noexcept
    : keeper_(std::exchange(other.keeper_, -1)),
      control_(std::move(other.control_)),
      input_(std::move(other.input_)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)),
      net_reports_(std::move(other.net_reports_)),
      failed_set_up_(other.failed_set_up_) {}

Server::~Server() {
  if (keeper_ < 0) return;
  control_.reset();
  while (::waitpid(keeper_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Server::order(KeeperOrder order) {
  // A keeper that is gone shows in next_report.
  static_cast<void>(::send(control_.get(), &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT));
}

Result<confine::Enforced> Server::start() {
  order(KeeperOrder::start);
  KeeperReport report{};
  ssize_t size = 0;
  do {
    size = ::recv(control_.get(), &report, sizeof report, 0);
  } while (size < 0 && errno == EINTR);
  if (size != sizeof report)
    return confine::refusal("start the server", "keeper", "it ended unexpectedly");
  failed_set_up_ = report.set_up;
  if (report.value != 0) return Error{"run the server's program", report.value};
  return report.enforced;
}

std::optional<Server::Ended> Server::next_report() {
  KeeperReport report{};
  const ssize_t size = ::recv(control_.get(), &report, sizeof report, MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  if (size != sizeof report || report.kind != KeeperReport::Kind::ended) return Ended{std::nullopt};
  return Ended{report.value};
}

void Server::terminate() {
  order(KeeperOrder::terminate);
}

void Server::kill() {
  order(KeeperOrder::kill);
}

bool Server::wait_for_keeper(std::chrono::milliseconds most) {
  if (keeper_ < 0) return true;
  // Its end of the socket closes when it leaves.
  pollfd watched{control_.get(), 0, 0};
  const auto until = std::chrono::steady_clock::now() + most;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    const int ready =
        ::poll(&watched, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready == 0) break;
    if ((watched.revents & (POLLHUP | POLLERR)) != 0) {
      while (::waitpid(keeper_, nullptr, 0) < 0 && errno == EINTR) {
      }
      keeper_ = -1;
      return true;
    }
  }
  keeper_ = -1;  // it goes on by itself, and init reaps it
  return false;
}

Result<std::string> find_program(const std::string& command) {
  if (command.find('/') != std::string::npos) {
    if (is_runnable(command)) return command;
    struct stat status = {};
    if (::stat(command.c_str(), &status) != 0) return errno_error("run", command);
    return confine::code_error("run", command, EACCES);
  }
  if (command.empty()) return Error{"run: the command behind -- is an empty word", ENOENT};
  const char* set = std::getenv("PATH");
  const std::string path =
      set == nullptr ? "/bin:/usr/bin" : set;  // execvp(3)'s when PATH is unset
  std::string denied;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string folder = path.substr(begin, end - begin);
    std::string candidate = folder;
    if (!candidate.empty()) candidate += '/';
    candidate += command;
    if (is_runnable(candidate)) return candidate;
    if (::access(candidate.c_str(), F_OK) == 0) denied = candidate;
    begin = end + 1;
  }
  if (!denied.empty()) return confine::code_error("run", denied, EACCES);
  return Error{"run: " + command + ": not found in PATH (" + path +
                   "); give its absolute path, or set PATH in the client's config",
               ENOENT};
}

}  // namespace aegis::wrap
