// SPDX-License-Identifier: Apache-2.0 OR MIT
// A host to be attacked: files, a process, listeners, shared objects and a key that hold a secret,
// and afterwards the list of what became of them. probe_host.cc is the program.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace host {

/// As probe::kSecret: what none of the attackers may see.
constexpr std::string_view kSecret = "only-for-the-host";

/// Ends the program: a host that is not whole tests nothing.
[[noreturn]] void fail(const std::string& doing);
long check(long result, const std::string& doing);

/// What the attacker is told: NAME=VALUE words on its command line.
using Facts = std::map<std::string, std::string>;
/// What was done to the victims, a line each.
using Harm = std::vector<std::string>;

/// Files in a folder, made anew.
class Files {
 public:
  explicit Files(std::string folder) : folder_(std::move(folder)) {}
  void make();
  void tell(Facts& facts) const;
  void report(Harm& harm) const;

 private:
  std::string folder_;
  std::map<std::string, std::string> before_;  // name: what is known of it
};

/// A process with a secret in its memory, its environment and behind a descriptor. SIGURG is
/// blocked in it and in the caller, so that one that was sent is seen at the end.
class Sleeper {
 public:
  void start(const std::string& folder);
  void tell(Facts& facts) const;
  void report(Harm& harm) const;
  void end() const;

 private:
  pid_t pid_ = 0;
  int secret_fd_ = -1;
};

/// Listeners on loopback, on a path and on an abstract name.
class Listeners {
 public:
  void open(const std::string& folder, const std::string& shared_folder);
  void tell(Facts& facts) const;
  /// A connection that waits, or a datagram, is harm.
  void report(Harm& harm) const;

 private:
  struct Listener {
    std::string name;
    int fd = -1;
  };
  void open_inet(int type, const char* name);
  void open_unix(int type, const char* name, const std::string& address);
  std::vector<Listener> listeners_;
  Facts facts_;
};

/// System V and POSIX shared memory, queues and a semaphore, and a key in a session keyring of its
/// own. Removed at the end.
class Objects {
 public:
  void make();
  void tell(Facts& facts) const;
  void report(Harm& harm) const;
  void remove() const;

 private:
  key_t key_ = 0;
  int shared_memory_ = -1;
  int messages_ = -1;
  int semaphores_ = -1;
  long secret_key_ = -1;
  std::string name_;
};

}  // namespace host
