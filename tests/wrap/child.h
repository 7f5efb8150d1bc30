// SPDX-License-Identifier: Apache-2.0 OR MIT
// Runs a piece of a test in a forked child: what it prints, how it ends. For what must not happen
// in the test's own process (limits, namespaces, HOME, stdout).
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

#include <doctest/doctest.h>

#include "tests/wrap/scratch.h"

namespace aegis::test {

struct Ended {
  int exit = -1;  // -1: killed by `signal`
  int signal = 0;
  std::string out;
  std::string err;
};

/// `body`'s value is the exit code. Nothing of doctest may fail in it: its tally is the parent's.
inline Ended run_in_child(const std::function<int()>& body) {
  const Scratch scratch;
  const std::string out = scratch.write("out", "");
  const std::string err = scratch.write("err", "");
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const int out_fd = ::open(out.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    const int err_fd = ::open(err.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    ::dup2(out_fd, STDOUT_FILENO);
    ::dup2(err_fd, STDERR_FILENO);
    ::_exit(body());  // no destructor, no flush of what the parent had buffered
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  Ended ended;
  if (WIFEXITED(status)) ended.exit = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  ended.out = read_whole(out);
  ended.err = read_whole(err);
  return ended;
}

}  // namespace aegis::test
