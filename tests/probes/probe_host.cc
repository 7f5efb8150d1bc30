// SPDX-License-Identifier: Apache-2.0 OR MIT
// probe_host [--throwaway] FOLDER OWN COMMAND...
// Sets up a host to be attacked in FOLDER (made), runs COMMAND with what there is to attack put in
// the place of its word `@`, waits for its end, and prints `harm <what>` for each thing that became
// of the victims; exits as COMMAND did. OWN is the folder that the attacker is given.
// --throwaway: this is process 1 of namespaces of its own, where the loopback may be raised and
// /dev/shm covered. Without it nothing of the machine is changed.
#include <fcntl.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/probes/host.h"

namespace host {

void fail(const std::string& doing) {
  static_cast<void>(
      std::fprintf(stderr, "probe_host: %s: %s\n", doing.c_str(), std::strerror(errno)));
  std::_Exit(96);
}

long check(long result, const std::string& doing) {
  if (result < 0) fail(doing);
  return result;
}

namespace {

void settle_in_throwaway() {
  if (getpid() != 1) fail("--throwaway, but this is not process 1");
  const auto fd = static_cast<int>(check(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket"));
  ifreq loopback = {};
  std::strncpy(loopback.ifr_name, "lo", sizeof loopback.ifr_name - 1);
  loopback.ifr_flags = IFF_UP | IFF_RUNNING;
  check(ioctl(fd, SIOCSIFFLAGS, &loopback), "raise the loopback");
  close(fd);
  // Who may ping (icmp(7)): nobody in a new network namespace.
  const int range = open("/proc/sys/net/ipv4/ping_group_range", O_WRONLY | O_CLOEXEC);
  check(write(range, "0 0", 3), "let the group ping");
  close(range);
  check(mount("none", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777"), "cover /dev/shm");
}

std::vector<std::string> with_facts(char** words, const Facts& facts) {
  std::vector<std::string> command;
  for (; *words != nullptr; ++words) {
    if (std::strcmp(*words, "@") != 0) {
      command.emplace_back(*words);
      continue;
    }
    for (const auto& [name, value] : facts)
      command.push_back(std::string(name).append("=").append(value));
  }
  return command;
}

[[noreturn]] void become(std::vector<std::string> command) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (std::string& word : command)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  fail("exec " + command[0]);
}

// Waits for COMMAND alone: what it leaves behind comes to this process when it is process 1.
int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) fail("waitpid");
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int attacked(const std::string& folder, const std::string& own, char** words) {
  Files files(folder);
  Sleeper sleeper;
  Listeners listeners;
  Objects objects;
  Facts facts;
  check(mkdir(folder.c_str(), 0755), "mkdir " + folder);
  objects.make();
  listeners.open(folder, own);
  files.make();
  sleeper.start(folder);
  facts["own"] = own;
  files.tell(facts);
  sleeper.tell(facts);
  listeners.tell(facts);
  objects.tell(facts);

  const auto child = static_cast<pid_t>(check(fork(), "fork"));
  if (child == 0) {
    facts["runner"] = std::to_string(getpid());
    become(with_facts(words, facts));
  }
  const int status = wait_for(child);

  Harm harm;
  files.report(harm);
  sleeper.report(harm);
  listeners.report(harm);
  objects.report(harm);
  objects.remove();
  sleeper.end();
  for (const std::string& what : harm)
    std::printf("harm %s\n", what.c_str());
  return status;
}

}  // namespace
}  // namespace host

int main(int argc, char** argv) {
  int at = 1;
  if (argc > 1 && std::strcmp(argv[1], "--throwaway") == 0) {
    host::settle_in_throwaway();
    ++at;
  }
  if (argc - at < 3) {
    static_cast<void>(
        std::fputs("usage: probe_host [--throwaway] FOLDER OWN COMMAND...\n", stderr));
    return 96;
  }
  return host::attacked(argv[at], argv[at + 1], argv + at + 2);
}
