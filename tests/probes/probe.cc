// SPDX-License-Identifier: Apache-2.0 OR MIT
// probe [NAME=VALUE]... ATTEMPT...
// Makes each attempt in a process of its own and says on a line what came of it:
//     <attempt> reached|refused|tried|broken <errno's name, or -> <words>
// With one attempt the exit status says it too: 0 reached, 10 refused, 11 tried, 99 broken.
// `probe --list` names all. report=FILE: the lines go there, for one whose stdout is the victim.
#include "tests/probes/probe.h"

#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

namespace probe {
namespace {

constexpr unsigned kPatience = 20;  // seconds that an attempt may take before SIGALRM ends it

std::map<std::string, std::string>& params() {
  static std::map<std::string, std::string> all;
  return all;
}

std::vector<int>& birth() {
  static std::vector<int> fds;
  return fds;
}

void note_birth() {
  for (int fd = 3; fd < 1024; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) birth().push_back(fd);
  }
}

std::string errno_name(int code) {
  const char* name = strerrorname_np(code);
  return name == nullptr ? std::to_string(code) : name;
}

std::string line_of(std::string_view attempt, const Answer& answer) {
  constexpr std::string_view kWords[] = {"reached", "refused", "tried", "broken"};
  std::string line(attempt);
  line += ' ';
  line += kWords[static_cast<std::size_t>(answer.verdict)];
  line += ' ';
  line += answer.verdict == Verdict::refused ? errno_name(answer.code) : "-";
  line += ' ';
  line += answer.words;
  line += '\n';
  return line;
}

int status_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::reached:
      return 0;
    case Verdict::refused:
      return 10;
    case Verdict::tried:
      return 11;
    case Verdict::broken:
      break;
  }
  return 99;
}

int report_fd = STDOUT_FILENO;

void say(std::string_view line) {
  if (write(report_fd, line.data(), line.size()) != static_cast<ssize_t>(line.size())) _exit(98);
}

[[noreturn]] void attempt_and_exit(const Attempt& attempt) {
  alarm(kPatience);
  const Answer answer = attempt.run();
  say(line_of(attempt.name, answer));
  _exit(status_of(answer.verdict));
}

// The attempt may end its process; it is to end nothing else.
int make(const Attempt& attempt) {
  const pid_t child = fork();
  if (child < 0) {
    say(line_of(attempt.name, broken(std::string("fork: ") + std::strerror(errno))));
    return 99;
  }
  if (child == 0) attempt_and_exit(attempt);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  const bool by_filter = WTERMSIG(status) == SIGSYS;
  std::string line(attempt.name);
  line += by_filter ? " refused SIG" : " broken - SIG";
  line += sigabbrev_np(WTERMSIG(status));
  line += " the kernel ended the process\n";
  say(line);
  return by_filter ? 10 : 99;
}

const Attempt* find(std::string_view name) {
  for (const auto group : {kFileAttempts,
                           kInheritedAttempts,
                           kProcessAttempts,
                           kIpcAttempts,
                           kKernelAttempts,
                           kMountAttempts,
                           kNetworkAttempts,
                           kWorkspaceAttempts,
                           kBombs,
                           kWorks}) {
    for (const Attempt& attempt : group) {
      if (attempt.name == name) return &attempt;
    }
  }
  return nullptr;
}

void list(std::string_view group, std::span<const Attempt> attempts) {
  for (const Attempt& attempt : attempts)
    std::printf("%.*s %.*s\n",
                static_cast<int>(group.size()),
                group.data(),
                static_cast<int>(attempt.name.size()),
                attempt.name.data());
}

void list_all() {
  list("files", kFileAttempts);
  list("inherited", kInheritedAttempts);
  list("processes", kProcessAttempts);
  list("ipc", kIpcAttempts);
  list("kernel", kKernelAttempts);
  list("mounts", kMountAttempts);
  list("network", kNetworkAttempts);
  list("workspace", kWorkspaceAttempts);
  list("bombs", kBombs);
  list("works", kWorks);
}

int run_all(const std::vector<std::string>& names) {
  int status = 99;
  for (const std::string& name : names) {
    const Attempt* attempt = find(name);
    if (attempt == nullptr) {
      say(line_of(name, broken("there is no such attempt")));
      return 99;
    }
    status = make(*attempt);
  }
  return names.size() == 1 ? status : 0;
}

}  // namespace

Answer reached(std::string words) {
  return {Verdict::reached, 0, std::move(words)};
}
Answer tried(std::string words) {
  return {Verdict::tried, 0, std::move(words)};
}
Answer broken(std::string words) {
  return {Verdict::broken, 0, std::move(words)};
}

Answer refused_by(int code, std::string_view doing) {
  return {Verdict::refused, code, std::string(doing)};
}

Answer refused(std::string_view doing) {
  return refused_by(errno, doing);
}

Answer by_result(long result, std::string_view doing) {
  return result < 0 ? refused(doing) : reached(std::string(doing));
}

Answer by_kernels_own(long result, std::string_view doing, std::initializer_list<int> own) {
  const int code = errno;
  if (result >= 0) return reached(std::string(doing));
  for (const int known : own) {
    if (code == known)
      return reached(std::string(doing) + " came to the kernel's own " + errno_name(code));
  }
  return refused_by(code, doing);
}

Answer reads_secret(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return refused("open " + path);
  std::string held;
  char buffer[4096];
  ssize_t n = 0;
  while ((n = read(fd, buffer, sizeof buffer)) > 0)
    held.append(buffer, static_cast<std::size_t>(n));
  const Answer failed = refused("read " + path);
  close(fd);
  if (held.find(kSecret) != std::string::npos) return reached("read the secret in " + path);
  return n < 0 ? failed : broken(path + " holds no secret");
}

int run(const std::string& path, std::initializer_list<std::string> arguments) {
  std::vector<std::string> words(arguments);
  std::vector<char*> argv{const_cast<char*>(path.c_str())};  // posix_spawn(3) does not write to it
  for (std::string& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int code = posix_spawn(&child, path.c_str(), nullptr, nullptr, argv.data(), environ);
  if (code != 0) {
    errno = code;
    return -1;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool has_param(const std::string& name) {
  return params().count(name) != 0;
}

const std::string& param(const std::string& name) {
  const auto found = params().find(name);
  if (found != params().end()) return found->second;
  say("- broken - it was not told " + name + "\n");
  _exit(99);
}

long number(const std::string& name) {
  return std::strtol(param(name).c_str(), nullptr, 0);
}

std::string victim(std::string_view name) {
  return param("dir") + "/" + std::string(name);
}
std::string own(std::string_view name) {
  return param("own") + "/" + std::string(name);
}
std::span<const int> born_with() {
  return birth();
}

}  // namespace probe

int main(int argc, char** argv) {
  probe::note_birth();
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t equals = word.find('=');
    if (word == "--list") {
      probe::list_all();
      return 0;
    }
    if (equals == std::string::npos)
      names.push_back(word);
    else
      probe::params()[word.substr(0, equals)] = word.substr(equals + 1);
  }
  if (probe::has_param("report")) {
    probe::report_fd =
        open(probe::param("report").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (probe::report_fd < 0) return 97;
  }
  return probe::run_all(names);
}
