// SPDX-License-Identifier: Apache-2.0 OR MIT
// Starts, speaks to and ends one program; every failure ends the benchmark with what that program
// said on stderr.
#include "tests/bench/relay/session.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <iostream>

#include "tests/bench/relay/fail.h"

namespace aegis::relay_bench {
namespace {

using confine::Fd;

constexpr std::size_t kReadSize = std::size_t{64} << 10;

struct Pipe {
  Fd read;
  Fd write;
};

Pipe make_pipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) fail("pipe");
  return {Fd(fds[0]), Fd(fds[1])};
}

struct Stdio {
  const Fd& input;
  const Fd& output;
  const Fd& errors;
};

[[noreturn]] void become(const Program& program, const Stdio& stdio) {
  // A benchmark that is killed leaves nothing behind.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  pin_to(program.core);
  if (::dup2(stdio.input.get(), STDIN_FILENO) < 0 ||
      ::dup2(stdio.output.get(), STDOUT_FILENO) < 0 ||
      ::dup2(stdio.errors.get(), STDERR_FILENO) < 0 ||
      ::setenv("HOME", program.home.c_str(), 1) != 0) {
    fail("prepare " + program.name);
  }
  std::vector<char*> argv;
  for (const std::string& word : program.argv)
    argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  fail("start " + program.argv[0]);
}

}  // namespace

Session::Session(const Program& program)
    : name_(program.name),
      errors_(program.home + "/" + program.name + ".stderr"),
      buffer_(kReadSize) {
  Pipe to = make_pipe();
  Pipe from = make_pipe();
  const Fd errors(::open(errors_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!errors.is_open()) fail("open " + errors_);
  pid_ = ::fork();
  if (pid_ < 0) fail("fork");
  if (pid_ == 0) become(program, {to.read, from.write, errors});
  input_ = std::move(to.write);
  output_ = std::move(from.read);
}

void Session::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(input_.get(), bytes.data(), bytes.size());
    if (count < 0) give_up("does not read");
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::string_view Session::read(std::size_t limit) {
  const ssize_t count = ::read(output_.get(), buffer_.data(), std::min(limit, buffer_.size()));
  if (count < 0) give_up("cannot be read");
  if (count == 0) {
    errno = 0;
    give_up("ended before it answered");
  }
  return {buffer_.data(), static_cast<std::size_t>(count)};
}

void Session::end() {
  input_.reset();
  int status = 0;
  if (::waitpid(pid_, &status, 0) < 0) fail("wait for " + name_);
  if (status == 0) return;
  errno = 0;
  give_up("ended with wait status " + std::to_string(status));
}

void Session::give_up(std::string_view what) const {
  const int why = errno;
  std::cerr << std::ifstream(errors_).rdbuf() << std::flush;
  errno = why;
  fail(name_ + " " + std::string(what));
}

void pin_to(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(core), &set);
  if (::sched_setaffinity(0, sizeof set, &set) != 0) fail("pin to core " + std::to_string(core));
}

}  // namespace aegis::relay_bench
