// SPDX-License-Identifier: Apache-2.0 OR MIT
// Runs a command for which chosen system calls fail, as on an older kernel, in a container or at
// the worst moment: a kernel that refuses what confinement is made of.
//
//   refuse_calls [log=FILE] RULE... -- COMMAND
//   RULE: NAME[@DEPTH.NTH][:ARGUMENT(=|&)NUMBER]:ANSWER
//
// ANSWER is what the call gives: -ERRNO, or another number; or "kill", by which the caller dies
// before the call is made. Without @ every call of that name is answered; with it the NTH (from 1)
// of the processes at that DEPTH: 0 is the command, 1 what it has started, and so on. ARGUMENT
// (from 0) must equal NUMBER, or have its bits. With log=, "DEPTH NAME" of each call goes into
// FILE. Ends as the command does.
//
// It answers as a seccomp supervisor (seccomp_unotify(2)), so it needs no right but no_new_privs,
// which the command inherits, and there can be no second one below it.

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <seccomp.h>

namespace {

struct Rule {
  int number = -1;  // of the system call
  std::optional<int> depth = {};
  std::size_t nth = 0;
  std::optional<std::size_t> argument = {};
  bool is_mask = false;
  std::uint64_t value = 0;
  long answer = 0;
  bool is_kill = false;
};

[[noreturn]] void fail(std::string_view what) {
  static_cast<void>(std::fprintf(stderr,
                                 "refuse_calls: %.*s: %s\n",
                                 static_cast<int>(what.size()),
                                 what.data(),
                                 std::strerror(errno)));
  std::exit(99);
}

[[noreturn]] void misused(const std::string& word) {
  errno = EINVAL;
  fail(word);
}

std::string name_of(int number) {
  char* const name = ::seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
  if (name == nullptr) return std::to_string(number);
  std::string copy(name);
  std::free(name);
  return copy;
}

Rule parse_rule(const std::string& word) {
  Rule rule;
  const std::size_t last = word.rfind(':');
  if (last == std::string::npos) misused(word);
  rule.is_kill = word.compare(last + 1, std::string::npos, "kill") == 0;
  rule.answer = std::strtol(word.c_str() + last + 1, nullptr, 0);
  std::string head = word.substr(0, last);
  if (const std::size_t colon = head.find(':'); colon != std::string::npos) {
    const std::size_t sign = head.find_first_of("=&", colon);
    if (sign == std::string::npos) misused(word);
    rule.argument = std::strtoul(head.c_str() + colon + 1, nullptr, 0);
    rule.is_mask = head[sign] == '&';
    rule.value = std::strtoull(head.c_str() + sign + 1, nullptr, 0);
    head.resize(colon);
  }
  if (const std::size_t at = head.find('@'); at != std::string::npos) {
    const std::size_t dot = head.find('.', at);
    if (dot == std::string::npos) misused(word);
    rule.depth = std::atoi(head.c_str() + at + 1);
    rule.nth = std::strtoul(head.c_str() + dot + 1, nullptr, 0);
    head.resize(at);
  }
  rule.number = ::seccomp_syscall_resolve_name(head.c_str());
  if (rule.number < 0 || (rule.argument && *rule.argument >= 6)) misused(word);
  return rule;
}

/// Asks about the calls of `rules`, or about every call.
int install(const std::vector<Rule>& rules, bool is_all) {
  constexpr auto kNotify = static_cast<std::uint32_t>(SECCOMP_RET_USER_NOTIF);
  std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const Rule& rule : rules) {
    program.push_back(
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(rule.number), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, kNotify));
  }
  program.push_back(
      BPF_STMT(BPF_RET | BPF_K, is_all ? kNotify : static_cast<std::uint32_t>(SECCOMP_RET_ALLOW)));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return static_cast<int>(
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter));
}

bool is_met(const Rule& rule, const seccomp_data& call) {
  if (!rule.argument) return true;
  const std::uint64_t given = call.args[*rule.argument];
  return rule.is_mask ? (given & rule.value) == rule.value : given == rule.value;
}

/// 0 when it has ended.
pid_t parent_of(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  constexpr std::string_view kField = "PPid:";
  for (std::string line; std::getline(status, line);) {
    if (line.compare(0, kField.size(), kField) == 0) return std::atoi(line.c_str() + kField.size());
  }
  return 0;
}

class Supervisor {
 public:
  Supervisor(std::vector<Rule> rules, std::FILE* log, pid_t command)
      : rules_(std::move(rules)), log_(log), depths_{{command, 0}} {}

  /// Until nobody is left who could ask.
  void run(int listener) {
    for (;;) {
      pollfd watched{listener, POLLIN, 0};
      if (::poll(&watched, 1, -1) < 0 && errno != EINTR) fail("poll");
      if ((watched.revents & POLLIN) != 0) answer_one(listener);
      if ((watched.revents & POLLHUP) != 0) return;
    }
  }

 private:
  void answer_one(int listener) {
    seccomp_notif asked = {};
    if (::ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0)
      return;  // it was killed meanwhile
    seccomp_notif_resp reply = {};
    reply.id = asked.id;
    reply.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    if (const auto answer = decide(asked)) {
      reply.flags = 0;
      if (*answer < 0) reply.error = static_cast<int>(*answer);
      if (*answer > 0) reply.val = *answer;
    }
    static_cast<void>(::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &reply));
  }

  std::optional<long> decide(const seccomp_notif& asked) {
    const int depth = depth_of(static_cast<pid_t>(asked.pid));
    const std::size_t nth = ++counts_[{depth, asked.data.nr}];
    if (log_ != nullptr)
      static_cast<void>(std::fprintf(log_, "%d %s\n", depth, name_of(asked.data.nr).c_str()));
    for (const Rule& rule : rules_) {
      if (rule.number != asked.data.nr || !is_met(rule, asked.data)) continue;
      if (rule.depth && (*rule.depth != depth || rule.nth != nth)) continue;
      if (rule.is_kill) ::kill(static_cast<pid_t>(asked.pid), SIGKILL);
      return rule.answer;
    }
    return std::nullopt;
  }

  /// Kept, since a parent may end before its child.
  int depth_of(pid_t pid) {
    std::vector<pid_t> unknown;
    while (pid > 0 && depths_.count(pid) == 0) {
      unknown.push_back(pid);
      pid = parent_of(pid);
    }
    int depth = pid > 0 ? depths_.at(pid) : -1;
    for (auto each = unknown.rbegin(); each != unknown.rend(); ++each)
      depths_[*each] = ++depth;
    return depth;
  }

  std::vector<Rule> rules_;
  std::FILE* log_;
  std::map<pid_t, int> depths_;
  std::map<std::pair<int, int>, std::size_t> counts_;
};

using Shared = std::atomic<int>;
constexpr int kNotYet = -2;

/// With the descriptors shared, the child's listener is the parent's too until the child executes.
pid_t start(const std::vector<Rule>& rules, bool is_all, char** command, Shared& listener) {
  const auto child = static_cast<pid_t>(::syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0));
  if (child < 0) fail("clone");
  if (child > 0) return child;
  listener = install(rules, is_all);  // after this nothing but exec may be asked for
  ::execvp(command[0], command);
  ::_exit(127);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Rule> rules;
  std::FILE* log = nullptr;
  constexpr std::string_view kLog = "log=";
  int at = 1;
  for (; at < argc && std::string_view(argv[at]) != "--"; ++at) {
    const std::string word = argv[at];
    if (word.substr(0, kLog.size()) == kLog) {
      log = std::fopen(word.c_str() + kLog.size(), "we");
      if (log == nullptr) fail(word);
    } else {
      rules.push_back(parse_rule(word));
    }
  }
  if (at + 1 >= argc) misused("no command");
  void* const page =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) fail("mmap");
  auto* const listener = new (page) Shared(kNotYet);
  const pid_t child = start(rules, log != nullptr, argv + at + 1, *listener);
  while (*listener == kNotYet)
    ::sched_yield();
  if (*listener < 0) fail("seccomp");
  Supervisor(std::move(rules), log, child).run(*listener);
  if (log != nullptr && std::fclose(log) != 0) fail("log");
  int status = 0;
  if (::waitpid(child, &status, 0) != child) fail("wait");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
