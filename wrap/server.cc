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

Result<Pipe> make_socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return errno_error("make a socket pair");
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

bool is_runnable(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

/// Both sides of everything between aegis and what it runs.
struct Server::Ends {
  Pipe input;
  Pipe output;
  Pipe errors;
  Pipe net_reports;  // a socket pair; the reading end is ours
};

Result<Server::Ends> Server::make_ends(const confine::Prepared* confined) {
  Ends ends;
  ends.input = AEGIS_TRY(make_pipe(Ours::write_end));
  ends.output = AEGIS_TRY(make_pipe(Ours::read_end));
  ends.errors = AEGIS_TRY(make_pipe(Ours::read_end));
  if (confined != nullptr && confined->spec().network == confine::Network::granted)
    ends.net_reports = AEGIS_TRY(make_socket_pair());
  return ends;
}

void Server::take(Ends& ends) {
  input_ = std::move(ends.input.write_end);
  output_ = std::move(ends.output.read_end);
  errors_ = std::move(ends.errors.read_end);
  net_reports_ = std::move(ends.net_reports.read_end);
}

Result<Server> Server::prepare(const std::vector<std::string>& argv, confine::Prepared* confined) {
  std::vector<std::string> words = argv;
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return prepare(KeeperProgram{pointers.data(), confined});
}

Result<Server> Server::prepare(Builtin builtin) {
  return prepare(KeeperProgram{nullptr, nullptr, builtin});
}

Result<Server> Server::prepare(const KeeperProgram& program) {
  Ends ends = AEGIS_TRY(make_ends(program.confined));
  Pipe control = AEGIS_TRY(make_socket_pair());
  const pid_t pid = ::fork();
  if (pid < 0) return errno_error("fork the keeper");
  if (pid == 0) {
    run_keeper({std::move(ends.input.read_end),
                std::move(ends.output.write_end),
                std::move(ends.errors.write_end),
                std::move(control.write_end),
                std::move(ends.net_reports.write_end)},
               program);
  }
  Server server;
  server.keeper_ = pid;
  server.control_ = std::move(control.read_end);
  server.take(ends);
  return server;
}

Result<Server> Server::prepare_unkept(const confine::Prepared& confined) {
  Ends ends = AEGIS_TRY(make_ends(&confined));
  Server server;
  server.unkept_ = &confined;
  server.take(ends);
  server.ends_ = {std::move(ends.input.read_end),
                  std::move(ends.output.write_end),
                  std::move(ends.errors.write_end),
                  {},
                  std::move(ends.net_reports.write_end)};
  return server;
}

Server::Server(Server&& other) noexcept
    : keeper_(std::exchange(other.keeper_, -1)),
      control_(std::move(other.control_)),
      input_(std::move(other.input_)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)),
      net_reports_(std::move(other.net_reports_)),
      failed_set_up_(other.failed_set_up_),
      unkept_(other.unkept_),
      ends_(std::move(other.ends_)),
      child_(std::move(other.child_)) {}

Server::~Server() {
  if (child_ && is_child_told_) child_->abandon();
  if (keeper_ < 0) return;
  control_.reset();
  while (::waitpid(keeper_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Server::order(KeeperOrder order) {
  // A keeper that is gone shows in next_report.
  static_cast<void>(::send(control_.get(), &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT));
}

Result<confine::Enforced> Server::start_child() {
  auto child = confine::Child::start(
      *unkept_,
      {ends_.input.get(), ends_.output.get(), ends_.errors.get(), ends_.net_reports.get()},
      failed_set_up_);
  ends_ = {};
  if (!child) return Error{"run the program", failed_set_up_.code};
  child_.emplace(std::move(*child));
  return child_->enforced();
}

Result<confine::Enforced> Server::start() {
  if (unkept_ != nullptr) return start_child();
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
  if (child_) {
    pollfd ended{child_->end_fd(), POLLIN, 0};
    if (::poll(&ended, 1, 0) <= 0) return std::nullopt;
    is_child_told_ = true;
    return Ended{child_->wait()};
  }
  KeeperReport report{};
  const ssize_t size = ::recv(control_.get(), &report, sizeof report, MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  if (size != sizeof report || report.kind != KeeperReport::Kind::ended) return Ended{std::nullopt};
  return Ended{report.value};
}

void Server::terminate() {
  if (child_) child_->terminate();
  order(KeeperOrder::terminate);
}

void Server::kill() {
  if (child_) child_->kill();
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
                   "); give its absolute path, or set PATH where aegis is started (for a server: "
                   "the client's config)",
               ENOENT};
}

}  // namespace aegis::wrap
