// SPDX-License-Identifier: Apache-2.0 OR MIT
// A confined program as far as its network goes: its own user, network and pid namespaces,
// Landlock's refusal of TCP, the listener, and a supervisor. And a server on the host's loopback
// for it.
#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "confine/egress.h"
#include "confine/net_report.h"
#include "confine/resolve.h"

namespace aegis::test {

/// Shared with forks of this process. Zero at first.
template <class T>
class Shared {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  Shared()
      : at_(static_cast<T*>(::mmap(
            nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { ::munmap(at_, sizeof(T)); }
  T* operator->() const { return at_; }
  T& operator*() const { return *at_; }

 private:
  T* at_;
};

/// Says back what it hears, in a process of its own.
class EchoServer {
 public:
  explicit EchoServer(const char* address = "127.0.0.1");
  EchoServer(const EchoServer&) = delete;
  EchoServer& operator=(const EchoServer&) = delete;
  ~EchoServer();
  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// Connections so far, those that still wait in its queue among them. -1: it does not answer.
  [[nodiscard]] int count() const;

 private:
  std::string address_;
  mutable int own_ = 0;  // connections of count() itself
  std::uint16_t port_ = 0;
  pid_t process_ = -1;
  Shared<std::atomic<int>> accepted_;
};

/// A port of the host's loopback where the next connect gets no answer: its queue is full.
class FullServer {
 public:
  FullServer();
  FullServer(const FullServer&) = delete;
  FullServer& operator=(const FullServer&) = delete;
  ~FullServer();
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  std::uint16_t port_ = 0;
  std::vector<int> sockets_;
};

class NetWorld {
 public:
  /// Whether this kernel and user can have such a world; says on stdout when not and why.
  static bool is_possible();

  explicit NetWorld(const std::vector<confine::NetGrant>& grants,
                    const confine::ResolveName& resolve = nothing_resolves);
  NetWorld(const NetWorld&) = delete;
  NetWorld& operator=(const NetWorld&) = delete;
  ~NetWorld();

  /// Runs `program` confined, to its end. Its exit code; -1 when it was killed or hung for 30 s.
  int run(const std::function<int()>& program);
  /// Those that have come so far, in their order.
  std::vector<confine::NetReport> reports();
  [[nodiscard]] int count(confine::NetReport::Kind kind);
  [[nodiscard]] pid_t supervisor() const { return supervisor_; }

  static confine::Resolved nothing_resolves(const std::string&) { return {}; }

 private:
  [[noreturn]] void confine_and_run(int inlet, const std::function<int()>& program);
  pid_t supervisor_ = -1;
  int inlet_ = -1;
  int reports_ = -1;
  int control_ = -1;
  std::vector<confine::NetReport> received_;
};

/// Runs `body` as root of a user and network namespace of its own, to its end. Its pid; -1 on
/// failure.
pid_t run_as_host(const std::function<void()>& body);

/// -errno, or 0.
int connect_v4(int socket, const char* address, std::uint16_t port);
int connect_v6(int socket, const char* address, std::uint16_t port);
int tcp_socket(int family = 2, int flags = 0);
/// Sends and gets back a word. Waits for it up to 5 s also on a non-blocking socket.
bool is_echoed(int socket);
/// Waits up to 5 s. SO_ERROR afterwards, or ETIMEDOUT.
int await_connect(int socket);

}  // namespace aegis::test
