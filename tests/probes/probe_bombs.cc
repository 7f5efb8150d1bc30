// SPDX-License-Identifier: Apache-2.0 OR MIT
// Attempts to use more than was given: each goes on until it is stopped or is past param limit.
// And processes that mean to outlive everybody. Each wants a sandbox of its own.
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <vector>

#include <climits>

#include "tests/probes/probe.h"

namespace probe {
namespace {

std::string scratch() {
  const char* folder = std::getenv("TMPDIR");
  return folder == nullptr ? "/tmp" : folder;
}
std::string counted(long count, const char* what) {
  return std::to_string(count) + " " + what;
}

[[noreturn]] void wait_forever() {
  while (true)
    pause();
}

Answer fork_bomb() {
  std::vector<pid_t> children;
  const auto limit = static_cast<std::size_t>(number("limit"));
  int code = 0;
  while (children.size() <= limit) {
    const pid_t child = fork();
    if (child < 0) {
      code = errno;
      break;
    }
    if (child == 0) wait_forever();
    children.push_back(child);
  }
  for (const pid_t child : children)
    kill(child, SIGKILL);
  for (const pid_t child : children)
    waitpid(child, nullptr, 0);
  const std::string words = counted(static_cast<long>(children.size()), "processes at once");
  return code == 0 ? reached(words) : refused_by(code, words);
}

void* idle(void*) {
  wait_forever();
}

Answer thread_bomb() {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64U << 10U);
  const long limit = number("limit");
  for (long made = 0; made <= limit; ++made) {
    pthread_t thread = {};
    const int code = pthread_create(&thread, &small, idle, nullptr);
    if (code != 0) return refused_by(code, counted(made, "threads at once"));
  }
  return reached(counted(limit + 1, "threads at once"));
}

Answer memory_bomb() {
  constexpr std::size_t kBlock = 1 << 20;
  const long limit = number("limit");
  for (long mib = 0; mib <= limit; ++mib) {
    void* block = mmap(nullptr, kBlock, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) return refused("mmap after " + counted(mib, "MiB"));
    for (std::size_t at = 0; at < kBlock; at += 4096)
      static_cast<volatile char*>(block)[at] = 1;
  }
  return reached(counted(limit + 1, "MiB"));
}

// Holds `size` bytes, and tells.
[[noreturn]] void hold_memory(std::size_t size, int ready) {
  auto* block = static_cast<char*>(
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (block == MAP_FAILED) _exit(1);
  for (std::size_t at = 0; at < size; at += 4096)
    block[at] = 1;
  static_cast<void>(!write(ready, "x", 1));
  wait_forever();
}
// Each within a bound of its own: it is held when all of them are there at the end.
Answer memory_of_many() {
  constexpr long kMib = 64;
  const long limit = number("limit");
  std::vector<pid_t> children;
  for (long used = 0; used < limit; used += kMib) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return broken("pipe2");
    const pid_t child = fork();
    if (child < 0) return refused("fork");
    if (child == 0) hold_memory(static_cast<std::size_t>(kMib) << 20U, ends[1]);
    children.push_back(child);
    close(ends[1]);
    char byte = 0;
    if (read(ends[0], &byte, 1) != 1)
      return refused_by(ENOMEM, "a child ended at " + counted(used, "MiB"));
  }
  long dead = 0;
  for (const pid_t child : children)
    dead += waitpid(child, nullptr, WNOHANG) == child ? 1 : 0;
  return dead == 0 ? reached(counted(limit, "MiB in all"))
                   : refused_by(ENOMEM, counted(dead, "children were ended"));
}

Answer file_bomb() {
  const int fd = open(own("big").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return broken("open");
  Answer answer = by_result(pwrite(fd, "x", 1, number("limit")), "pwrite past the limit");
  unlink(own("big").c_str());
  return answer;
}
Answer file_stretch() {
  const int fd = open(own("big").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return broken("open");
  Answer answer = by_result(ftruncate(fd, number("limit") + 1), "ftruncate past the limit");
  unlink(own("big").c_str());
  return answer;
}
Answer raise_file_limit() {
  const rlimit wanted = {RLIM_INFINITY, RLIM_INFINITY};
  return by_result(setrlimit(RLIMIT_FSIZE, &wanted), "setrlimit");
}

Answer descriptor_bomb() {
  rlimit own = {};
  getrlimit(RLIMIT_NOFILE, &own);
  own.rlim_cur = own.rlim_max;
  setrlimit(RLIMIT_NOFILE, &own);
  const long limit = number("limit");
  for (long held = 0; held <= limit; ++held) {
    if (fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) < 0)
      return refused("dup after " + counted(held, "descriptors"));
  }
  return reached(counted(limit + 1, "descriptors"));
}

Answer scratch_flood() {
  const std::string path = scratch() + "/flood";
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return broken("open " + path);
  const std::string block(1 << 20, 'x');
  const long limit = number("limit");
  Answer answer = reached(counted(limit + 1, "MiB"));
  for (long mib = 0; mib <= limit; ++mib) {
    if (write(fd, block.data(), block.size()) < 0) {
      answer = refused("write after " + counted(mib, "MiB"));
      break;
    }
  }
  unlink(path.c_str());
  return answer;
}
Answer file_flood() {
  const std::string folder = scratch() + "/many";
  if (mkdir(folder.c_str(), 0700) != 0) return broken("mkdir " + folder);
  const long limit = number("limit");
  for (long made = 0; made <= limit; ++made) {
    const std::string path = folder + "/" + std::to_string(made);
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return refused("create after " + counted(made, "files"));
    close(fd);
  }
  return reached(counted(limit + 1, "files"));
}
Answer output_flood() {
  const std::string block(1 << 16, 'x');
  const long limit = number("limit");
  for (long written = 0; written <= limit;) {
    const ssize_t n = write(STDOUT_FILENO, block.data(), block.size());
    if (n < 0) return refused("write");
    written += n;
  }
  return tried("wrote past the limit");
}

Answer burn_cpu() {
  const pid_t child = fork();
  if (child < 0) return broken("fork");
  if (child == 0) {
    static_cast<void>(signal(SIGXCPU, SIG_IGN));
    const auto limit = static_cast<std::clock_t>(number("limit")) * CLOCKS_PER_SEC;
    while (std::clock() < limit) {
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? reached("burnt all it wanted") : refused_by(ETIME, "it was ended");
}

Answer dump_core() {
  if (chdir(param("own").c_str()) != 0) return broken("chdir");
  const rlimit wanted = {RLIM_INFINITY, RLIM_INFINITY};
  setrlimit(RLIMIT_CORE, &wanted);
  const pid_t child = fork();
  if (child < 0) return broken("fork");
  if (child == 0) {
    rlimit now = {};
    getrlimit(RLIMIT_CORE, &now);
    now.rlim_cur = now.rlim_max;
    setrlimit(RLIMIT_CORE, &now);
    abort();
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WCOREDUMP(status) ? reached("left a core") : refused_by(EPERM, "no core");
}

// Leaves its session and its parent, holds nothing, hears nothing polite.
[[noreturn]] void be_daemon(int ready) {
  setsid();
  if (fork() != 0) _exit(0);
  for (const int number : {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGPIPE})
    static_cast<void>(signal(number, SIG_IGN));
  for (int fd = 0; fd < 64; ++fd) {
    if (fd != ready) close(fd);
  }
  if (write(ready, "r", 1) != 1) _exit(1);
  close(ready);
  wait_forever();
}

// Never the same process for long: who looks for it finds one that has gone. It stops by itself
// after param seconds, for whoever is not rid of it otherwise.
[[noreturn]] void be_hopper(int ready) {
  const std::time_t end = std::time(nullptr) + number("seconds");
  setsid();
  static_cast<void>(!write(ready, "r", 1));
  for (int fd = 0; fd < 64; ++fd)
    close(fd);
  while (std::time(nullptr) < end) {
    const pid_t child = fork();
    if (child > 0) _exit(0);
    if (child == 0) setsid();
  }
  _exit(0);
}
Answer leave_hoppers() {
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) return broken("pipe2");
  const long count = number("count");
  for (long i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child < 0) return refused("fork");
    if (child == 0) be_hopper(ready[1]);
    char byte = 0;
    if (read(ready[0], &byte, 1) != 1) return broken("it did not start");
  }
  return tried(counted(count, "hoppers left behind"));
}

// With `stay` the attempt waits with them until somebody ends it.
Answer leave_daemons() {
  alarm(0);
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) return broken("pipe2");
  const long count = number("count");
  for (long i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child < 0) return refused("fork after " + counted(i, "daemons"));
    if (child == 0) be_daemon(ready[1]);
    waitpid(child, nullptr, 0);
  }
  close(ready[1]);
  char byte = 0;
  for (long i = 0; i < count; ++i) {
    if (read(ready[0], &byte, 1) != 1) return broken("only " + counted(i, "daemons"));
  }
  if (has_param("stay")) {
    const std::string line = "all there\n";
    if (write(STDOUT_FILENO, line.data(), line.size()) < 0) return broken("write");
    wait_forever();
  }
  return tried(counted(count, "daemons left behind"));
}

constexpr Attempt kAttempts[] = {
    {"fork_bomb", fork_bomb},
    {"thread_bomb", thread_bomb},
    {"memory_bomb", memory_bomb},
    {"memory_of_many", memory_of_many},
    {"file_bomb", file_bomb},
    {"file_stretch", file_stretch},
    {"raise_file_limit", raise_file_limit},
    {"descriptor_bomb", descriptor_bomb},
    {"scratch_flood", scratch_flood},
    {"file_flood", file_flood},
    {"output_flood", output_flood},
    {"burn_cpu", burn_cpu},
    {"dump_core", dump_core},
    {"leave_daemons", leave_daemons},
    {"leave_hoppers", leave_hoppers},
};

}  // namespace

const std::span<const Attempt> kBombs = kAttempts;

}  // namespace probe
