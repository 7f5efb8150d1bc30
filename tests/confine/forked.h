// SPDX-License-Identifier: Apache-2.0 OR MIT
// Runs a piece of a test in a forked child that may give up its rights, and brings its findings
// back through shared memory: a filtered child can make no system call to report with.
#pragma once

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <new>
#include <type_traits>

#include <doctest/doctest.h>

namespace aegis::test {

template <class T>
struct Found {
  T value = {};
  int status = 0;  // waitpid(2)'s

  [[nodiscard]] bool has_ended_well() const {
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  [[nodiscard]] int signal() const { return WIFSIGNALED(status) ? WTERMSIG(status) : 0; }
};

/// `body(T&)` runs in the child. Nothing of doctest may fail in it: its tally is the parent's.
template <class T, class Body>
Found<T> run_forked(const Body& body) {
  static_assert(std::is_trivially_copyable_v<T>);
  void* const page =
      ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(page != MAP_FAILED);
  T* const shared = new (page) T();
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    body(*shared);
    // No destructor, no flush of what the parent had buffered; nor a sanitizer's own _exit, which
    // makes calls that the child may have no right to.
    ::syscall(SYS_exit_group, 0);
    ::_exit(1);
  }
  Found<T> found;
  const pid_t ended = ::waitpid(child, &found.status, 0);
  found.value = *shared;
  ::munmap(page, sizeof(T));
  REQUIRE(ended == child);
  return found;
}

inline bool set_no_new_privs() {
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

}  // namespace aegis::test
