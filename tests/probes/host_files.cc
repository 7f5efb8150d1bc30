// SPDX-License-Identifier: Apache-2.0 OR MIT
// The host's files and its process.
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "tests/probes/host.h"

namespace host {
namespace {

void write_file(const std::string& path, std::string_view text, mode_t mode) {
  const auto fd = static_cast<int>(
      check(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode), "open " + path));
  check(write(fd, text.data(), text.size()), "write " + path);
  check(fchmod(fd, mode), "chmod " + path);
  close(fd);
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Whatever an attacker could have changed.
std::string known_of(const std::string& path) {
  struct stat found = {};
  check(lstat(path.c_str(), &found), "lstat " + path);
  std::string known = "mode " + std::to_string(found.st_mode) + " owner " +
                      std::to_string(found.st_uid) + " links " + std::to_string(found.st_nlink) +
                      " modified " + std::to_string(found.st_mtim.tv_sec) + "." +
                      std::to_string(found.st_mtim.tv_nsec);
  char names[1024];
  const ssize_t size = llistxattr(path.c_str(), names, sizeof names);
  for (ssize_t at = 0; at < size; at += static_cast<ssize_t>(std::strlen(names + at)) + 1)
    known.append(" attribute ").append(names + at);
  return S_ISREG(found.st_mode) ? known + " holds " + contents(path) : known;
}

std::map<std::string, std::string> known_of_all(const std::string& folder) {
  std::map<std::string, std::string> known;
  DIR* entries = opendir(folder.c_str());
  if (entries == nullptr) fail("opendir " + folder);
  while (const dirent* entry = readdir(entries)) {
    const std::string name = entry->d_name;
    if (name != "..") known[name] = known_of(std::string(folder).append("/").append(name));
  }
  closedir(entries);
  return known;
}

}  // namespace

void Files::make() {
  const auto path = [this](const char* name) { return folder_ + "/" + name; };
  const std::string secret = std::string(kSecret) + "\n";
  write_file(path("secret"), secret, 0644);
  write_file(path("file"), "as it was\n", 0644);
  write_file(path("doomed"), secret, 0644);
  write_file(path("program"), "#!/bin/sh\nexit 0\n", 0755);
  std::ifstream from("/bin/true", std::ios::binary);
  write_file(path("binary"), std::string(std::istreambuf_iterator<char>(from), {}), 0755);
  check(mkdir(path("empty").c_str(), 0755), "mkdir");
  check(symlink("secret", path("link").c_str()), "symlink");
  check(setxattr(path("file").c_str(), "user.probe", "x", 1, 0), "setxattr (no user attributes?)");
  before_ = known_of_all(folder_);
}

void Files::tell(Facts& facts) const {
  facts["dir"] = folder_;
}

void Files::report(Harm& harm) const {
  const auto after = known_of_all(folder_);
  for (const auto& [name, known] : before_) {
    const auto found = after.find(name);
    if (found == after.end())
      harm.push_back(name + " is gone");
    else if (found->second != known)
      harm.push_back(
          std::string(name).append(" was: ").append(known).append("; is: ").append(found->second));
  }
  for (const auto& [name, known] : after) {
    if (before_.count(name) == 0) harm.push_back(name + " is new");
  }
}

// --- The process
// ----------------------------------------------------------------------------------

namespace {

alignas(4096) char memory[4096];  // each process has its own copy

// A signal that is blocked stays pending, and so cannot be missed, nor be seen too early.
bool is_pending(const std::string& status_path) {
  std::ifstream status(status_path);
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("SigPnd:", 0) != 0 && line.rfind("ShdPnd:", 0) != 0) continue;
    const unsigned long set = std::strtoul(line.c_str() + 7, nullptr, 16);
    if ((set >> (SIGURG - 1) & 1U) != 0) return true;
  }
  return false;
}

}  // namespace

void Sleeper::start(const std::string& folder) {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGURG);
  check(sigprocmask(SIG_BLOCK, &blocked, nullptr), "sigprocmask");
  secret_fd_ = static_cast<int>(
      check(open((folder + "/secret").c_str(), O_RDONLY | O_CLOEXEC), "open secret"));
  std::memcpy(memory, kSecret.data(), kSecret.size());
  pid_ = static_cast<pid_t>(check(fork(), "fork"));
  if (pid_ > 0) {
    check(setpgid(pid_, pid_), "setpgid");
    return;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (chdir(folder.c_str()) != 0) _exit(1);
  while (true)
    pause();
}

void Sleeper::tell(Facts& facts) const {
  facts["pid"] = std::to_string(pid_);
  facts["group"] = std::to_string(getpgid(pid_));
  facts["address"] = std::to_string(reinterpret_cast<std::uintptr_t>(memory));
  facts["secret_fd"] = std::to_string(secret_fd_);
}

void Sleeper::report(Harm& harm) const {
  if (is_pending("/proc/self/status")) harm.push_back("its parent was signalled");
  if (waitpid(pid_, nullptr, WNOHANG) != 0) {
    harm.push_back("the process was ended");
    return;
  }
  if (is_pending("/proc/" + std::to_string(pid_) + "/status"))
    harm.push_back("the process was signalled");
  rlimit limits = {};
  prlimit(pid_, RLIMIT_MSGQUEUE, nullptr, &limits);
  if (limits.rlim_cur == 123) harm.push_back("its limits were changed");
  if (getpriority(PRIO_PROCESS, static_cast<id_t>(pid_)) != getpriority(PRIO_PROCESS, 0))
    harm.push_back("its priority was changed");
  if (sched_getscheduler(pid_) != sched_getscheduler(0))
    harm.push_back("its scheduler was changed");
  const std::string path = "/proc/" + std::to_string(pid_) + "/mem";
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  char held[kSecret.size()];
  const ssize_t n =
      pread(fd, held, sizeof held, static_cast<off_t>(reinterpret_cast<std::uintptr_t>(memory)));
  close(fd);
  if (n != sizeof held || std::memcmp(held, kSecret.data(), sizeof held) != 0)
    harm.push_back("its memory was changed");
}

void Sleeper::end() const {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

}  // namespace host
