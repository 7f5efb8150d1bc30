// SPDX-License-Identifier: Apache-2.0 OR MIT
// The owner's side of a run: two descriptors and a process number.
#include "confine/sandbox.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cassert>
#include <cerrno>
#include <utility>

#include "confine/sandbox_answer.h"
#include "confine/sandbox_runner.h"
#include "confine/seccomp.h"

namespace aegis::confine {
namespace {

/// The same for every run, and a good part of what one takes: compiled once, by the first.
const Result<Filter>& worker_filter() {
  static const Result<Filter> filter = Filter::compile_worker();
  return filter;
}

void reap(pid_t pid) noexcept {
  // ECHILD: somebody who reaps all has done it.
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void await(int fd) noexcept {
  pollfd watched{fd, POLLIN, 0};
  while (::poll(&watched, 1, -1) < 0 && errno == EINTR) {
  }
}

}  // namespace

Result<SandboxRun> SandboxRun::start(const SandboxOrder& order) {
  assert(!order.argv.empty() && order.workspace != nullptr);
  const Result<Filter>& filter = worker_filter();
  if (!filter) return filter.error();
  int control[2];
  int result[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) != 0)
    return errno_error("make a run's control socket");
  Fd control_ours(control[0]);
  Fd control_theirs(control[1]);
  if (::pipe2(result, O_CLOEXEC) != 0) return errno_error("make a run's result pipe");
  Fd result_ours(result[0]);
  Fd result_theirs(result[1]);
  if (::fcntl(result_ours.get(), F_SETFL, O_NONBLOCK) != 0)
    return errno_error("make a run's result pipe");
  const pid_t runner = ::fork();
  if (runner < 0) return errno_error("fork a run's process");
  if (runner == 0)
    run_sandbox(order, *filter, {std::move(control_theirs), std::move(result_theirs)});
  return SandboxRun(runner, std::move(control_ours), std::move(result_ours));
}

SandboxRun::SandboxRun(pid_t runner, Fd control, Fd result)
    : runner_(runner), control_(std::move(control)), result_(std::move(result)) {}

SandboxRun::SandboxRun(SandboxRun&& other) noexcept
    : runner_(std::exchange(other.runner_, -1)),
      control_(std::move(other.control_)),
      result_(std::move(other.result_)),
      received_(std::move(other.received_)),
      is_cancelled_(other.is_cancelled_) {}

SandboxRun::~SandboxRun() {
  if (runner_ < 0) return;
  control_.reset();
  // It tells its end to nobody; then the pipe is.
  result_.reset();
  reap(runner_);
}

std::optional<SandboxEnd> SandboxRun::on_ready() {
  std::array<char, std::size_t{64} << 10U> piece;  // NOLINT(*-member-init): read(2) fills it
  for (;;) {
    const ssize_t size = ::read(result_.get(), piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return std::nullopt;
    if (size <= 0) break;
    received_.append(piece.data(), static_cast<std::size_t>(size));
  }
  // It is on its last steps, if not dead.
  reap(std::exchange(runner_, -1));
  const bool has_begun = received_.starts_with(kBegun);
  if (!received_.empty()) received_.erase(0, 1);
  if (auto end = decode_end(received_)) return end;
  SandboxEnd end;
  if (is_cancelled_ || has_begun) end.how = SandboxEnd::How::cancelled;
  if (!is_cancelled_)
    end.why = "the run's own process was killed before it could tell how the run came out";
  return end;
}

void SandboxRun::cancel() {
  is_cancelled_ = true;
  const char word = 0;
  static_cast<void>(::send(control_.get(), &word, sizeof word, MSG_NOSIGNAL | MSG_DONTWAIT));
}

SandboxEnd SandboxRun::wait() {
  for (;;) {
    await(result_.get());
    if (auto end = on_ready()) return *std::move(end);
  }
}

}  // namespace aegis::confine
