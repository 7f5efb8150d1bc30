// SPDX-License-Identifier: Apache-2.0 OR MIT
// The bounds against the kernel, each in a child that binds itself and then tries to get past it.
#include "confine/limits.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "tests/confine/forked.h"

namespace {

using aegis::confine::bound_processes;
using aegis::confine::Bounds;
using aegis::confine::kFewestOpenFiles;
using aegis::confine::kReservedPids;
using aegis::confine::ProcessBound;
using aegis::confine::set_rlimits;
using aegis::test::Found;
using aegis::test::run_forked;

using Resource = decltype(RLIMIT_CORE);

rlimit limit_of(Resource resource) {
  rlimit limit = {};
  ::getrlimit(resource, &limit);
  return limit;
}

TEST_CASE("every bound is a limit, soft and hard") {
  struct Limits {
    int code = -1;
    rlimit core, data, file_size, open_files, seconds;
  };
  Bounds bounds;
  bounds.memory = 1ULL << 30U;
  bounds.file_size = 1'000'000;
  bounds.open_files = 100;
  bounds.cpu_seconds = 7;
  const Found<Limits> found = run_forked<Limits>([&](Limits& limits) {
    limits.code = set_rlimits(bounds);
    limits.core = limit_of(RLIMIT_CORE);
    limits.data = limit_of(RLIMIT_DATA);
    limits.file_size = limit_of(RLIMIT_FSIZE);
    limits.open_files = limit_of(RLIMIT_NOFILE);
    limits.seconds = limit_of(RLIMIT_CPU);
  });
  CHECK(found.value.code == 0);
  const auto check = [](const rlimit& limit, rlim_t soft, rlim_t hard) {
    CHECK(limit.rlim_cur == soft);
    CHECK(limit.rlim_max == hard);
  };
  check(found.value.core, 0, 0);
  check(found.value.data, 1ULL << 30U, 1ULL << 30U);
  check(found.value.file_size, 1'000'000, 1'000'000);
  check(found.value.open_files, 100, 100);
  check(found.value.seconds, 7, 8);
}

TEST_CASE("no limit is raised, and processor time is bounded on request alone") {
  struct Limits {
    int code = -1;
    rlimit soft_files, data, seconds_before, seconds;
  };
  const Found<Limits> found = run_forked<Limits>([&](Limits& limits) {
    const rlimit few = {80, 90};
    const rlimit little = {1ULL << 28U, 1ULL << 29U};
    ::setrlimit(RLIMIT_NOFILE, &few);
    ::setrlimit(RLIMIT_DATA, &little);
    limits.seconds_before = limit_of(RLIMIT_CPU);
    limits.code = set_rlimits({});
    limits.soft_files = limit_of(RLIMIT_NOFILE);
    limits.data = limit_of(RLIMIT_DATA);
    limits.seconds = limit_of(RLIMIT_CPU);
  });
  CHECK(found.value.code == 0);
  CHECK(found.value.soft_files.rlim_cur == 80);
  CHECK(found.value.soft_files.rlim_max == 90);
  CHECK(found.value.data.rlim_cur == 1ULL << 28U);
  CHECK(found.value.data.rlim_max == 1ULL << 29U);
  CHECK(found.value.seconds.rlim_cur == found.value.seconds_before.rlim_cur);
  CHECK(found.value.seconds.rlim_max == found.value.seconds_before.rlim_max);
}

TEST_CASE("too few descriptors to start a program are an error") {
  const Found<int> found = run_forked<int>([](int& code) {
    Bounds bounds;
    bounds.open_files = kFewestOpenFiles - 1;
    code = set_rlimits(bounds);
  });
  CHECK(found.value == EINVAL);
}

TEST_CASE("files and descriptors end where they were bounded") {
  struct Ends {
    long long written = 0;
    int write_error = 0;
    int descriptors = 0;
    int open_error = 0;
  };
  Bounds bounds;
  bounds.file_size = 100'000;
  bounds.open_files = 64;
  const Found<Ends> found = run_forked<Ends>([&](Ends& ends) {
    if (::signal(SIGXFSZ, SIG_IGN) == SIG_ERR) return;
    const int file = ::memfd_create("bounded", MFD_CLOEXEC);
    if (set_rlimits(bounds) != 0) return;
    const std::array<char, 3000> bytes = {};
    for (ssize_t got = 0; (got = ::write(file, bytes.data(), bytes.size())) > 0;) {
      ends.written += got;
    }
    ends.write_error = errno;
    while (::fcntl(file, F_DUPFD_CLOEXEC, 0) >= 0)
      ++ends.descriptors;
    ends.open_error = errno;
  });
  CHECK(found.has_ended_well());
  CHECK(found.value.written == 100'000);
  CHECK(found.value.write_error == EFBIG);
  CHECK(found.value.descriptors < 64);
  CHECK(found.value.open_error == EMFILE);
}

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kHasShadow = true;
#elif defined(__has_feature)
constexpr bool kHasShadow = __has_feature(address_sanitizer);
#else
constexpr bool kHasShadow = false;
#endif

TEST_CASE("private memory ends where it was bounded") {
  if (kHasShadow) {
    MESSAGE("skipped: 1: the sanitizer's own memory is more than any bound");
    return;
  }
  struct Ends {
    std::size_t mapped = 0;
    int error = 0;
  };
  Bounds bounds;
  bounds.memory = 256ULL << 20U;
  const Found<Ends> found = run_forked<Ends>([&](Ends& ends) {
    if (set_rlimits(bounds) != 0) return;
    constexpr std::size_t kStep = 16UL << 20U;
    while (ends.mapped < (1UL << 30U) &&
           ::mmap(nullptr, kStep, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
               MAP_FAILED) {
      ends.mapped += kStep;
    }
    ends.error = errno;
  });
  CHECK(found.value.mapped < bounds.memory);
  CHECK(found.value.mapped > bounds.memory / 2);
  CHECK(found.value.error == ENOMEM);
}

// --- Processes ----------------------------------------------------------------------------------

constexpr std::uint64_t kProcesses = 20;
constexpr int kMany = 2000;

/// How many children there can be at once. Ends them all.
int count_forks() {
  static std::array<pid_t, kMany> children;
  int count = 0;
  while (count < kMany) {
    const pid_t child = ::fork();
    if (child < 0) break;
    if (child == 0) {
      for (;;)
        ::pause();
    }
    children[static_cast<std::size_t>(count++)] = child;
  }
  for (int i = 0; i < count; ++i)
    ::kill(children[static_cast<std::size_t>(i)], SIGKILL);
  while (::waitpid(-1, nullptr, 0) > 0) {
  }
  return count;
}

struct Processes {
  ProcessBound bound = ProcessBound::cgroup;  // none of those that can be
  long pid_max = 0;
  int young = -1;
  int old = -1;
};

Bounds bounds_of_processes() {
  Bounds bounds;
  bounds.processes = kProcesses;
  return bounds;
}

long pid_max() {
  long number = 0;
  std::ifstream("/proc/sys/kernel/pid_max") >> number;
  return number;
}

TEST_CASE("a user's processes are counted from those that there are") {
  constexpr uid_t kNobodyElse = 61'234;
  const bool is_root = ::geteuid() == 0;
  const Found<Processes> found = run_forked<Processes>([&](Processes& processes) {
    // A process that has changed its user is not shown as his until it is dumpable again.
    if (is_root && ::setresuid(kNobodyElse, kNobodyElse, kNobodyElse) < 0) return;
    ::prctl(PR_SET_DUMPABLE, 1);
    processes.bound = bound_processes(bounds_of_processes());
    if (is_root) processes.young = count_forks();
  });
  CHECK(found.value.bound == ProcessBound::rlimit);
  if (is_root) CHECK(found.value.young == kProcesses);
}

TEST_CASE("root outside of a pid namespace is bounded by nothing, and told so") {
  unsigned inside = 1;
  unsigned outside = 1;
  std::ifstream("/proc/self/uid_map") >> inside >> outside;
  if (::geteuid() != 0 || outside != 0) {
    MESSAGE("skipped: 1: needs the root of the machine");
    return;
  }
  const long before = pid_max();
  const Found<Processes> found = run_forked<Processes>([](Processes& processes) {
    processes.bound = bound_processes(bounds_of_processes());
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    processes.young = child > 0 ? 1 : 0;
    ::waitpid(child, nullptr, 0);
  });
  CHECK(found.value.bound == ProcessBound::none);
  CHECK(found.value.young == 1);
  CHECK(pid_max() == before);
}

bool write_text(const char* path, std::string_view text) {
  std::ofstream file(path);
  file << text;
  return file.flush().good();
}

/// In the first process of a pid namespace of its own, with its own /proc; as the same user.
template <class Body>
void run_in_pid_namespace(const Body& body) {
  const std::string user = std::to_string(::geteuid());
  const std::string group = std::to_string(::getegid());
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) < 0) return;
  write_text("/proc/self/setgroups", "deny");
  if (!write_text("/proc/self/uid_map", user + " " + user + " 1")) return;
  if (!write_text("/proc/self/gid_map", group + " " + group + " 1")) return;
  const pid_t first = ::fork();
  if (first == 0) {
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
        ::mount("proc", "/proc", "proc", 0, nullptr) == 0) {
      body();
    }
    ::_exit(0);
  }
  ::waitpid(first, nullptr, 0);
}

TEST_CASE("a pid namespace holds so many processes and no more, root's too, also when it is old") {
  const long before = pid_max();
  const Found<Processes> found = run_forked<Processes>([](Processes& processes) {
    run_in_pid_namespace([&] {
      processes.bound = bound_processes(bounds_of_processes());
      processes.pid_max = pid_max();
      if (processes.bound != ProcessBound::pid_namespace) return;
      processes.young = count_forks();
      for (std::uint64_t i = 0; i < 2 * kReservedPids; ++i) {  // until the numbers begin again
        const pid_t child = ::fork();
        if (child == 0) ::_exit(0);
        ::waitpid(child, nullptr, 0);
      }
      processes.old = count_forks();
    });
  });
  CHECK(pid_max() == before);
  if (found.value.bound != ProcessBound::pid_namespace) {
    MESSAGE("skipped: 1: no pid namespace with a pid_max of its own (Linux 6.14)");
    return;
  }
  constexpr int kWanted = static_cast<int>(kProcesses);
  CHECK(found.value.pid_max == static_cast<long>(kProcesses + kReservedPids));
  // An ordinary user has RLIMIT_NPROC from the beginning; root only the numbers.
  CHECK(found.value.young < kWanted + static_cast<int>(kReservedPids));
  if (::geteuid() != 0) CHECK(found.value.young <= kWanted);
  CHECK(found.value.old <= kWanted);
  CHECK(found.value.old >= kWanted - 2);
}

}  // namespace
