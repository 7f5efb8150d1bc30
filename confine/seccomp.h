// SPDX-License-Identifier: Apache-2.0 OR MIT
// The system-call filter: made with libseccomp before the fork, loaded after it by one call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "confine/result.h"
#include "confine/tier.h"

struct sock_filter;

namespace aegis::confine {

struct FilterOptions {
  Tier tier = Tier::full;
  Network network = Network::none;
  /// From ABI 6 on Landlock keeps a program from the host's abstract unix sockets. Below it, or
  /// when it is not said, an unconfined network means no unix sockets at all.
  int landlock_abi = 0;
  /// With a granted network the listener's filter (net_child.h) may refuse sockets itself, and note
  /// each. An errno from here would come before its notification (seccomp(2)), so they are then
  /// left to it: only for who loads both.
  enum class Sockets : std::uint8_t { refuse, leave_to_listener };
  Sockets sockets = Sockets::refuse;
};

/// What the kernel is given (seccomp(2)): a classic BPF program.
class Filter {
 public:
  /// Everything is allowed but what the table in seccomp.cc refuses. The errors are libseccomp's.
  static Result<Filter> compile(const FilterOptions& options);
  /// Refuses nothing but unix sockets, which would reach every service of the host whose socket can
  /// be seen, and shows a tracer what tracer.h looks at. Beside the other one.
  static Result<Filter> compile_tracing();
  /// For the broker's workers (sandbox.h): nothing is allowed but what the table in
  /// worker_calls.cc lists, all else is no such call (ENOSYS). No sockets but pairs.
  static Result<Filter> compile_worker();

  /// Puts it on the calling thread for good. Async-signal-safe. 0, or the errno of seccomp(2).
  /// no_new_privs must be set.
  [[nodiscard]] int load() const noexcept;
  [[nodiscard]] std::size_t size() const { return instructions_; }  // BPF instructions

 private:
  Filter() = default;
  std::vector<std::uint64_t> program_;  // sock_filter is 8 bytes
  std::size_t instructions_ = 0;
};

/// The name of system call `number` of this architecture, for a message; "system call <n>" when
/// libseccomp knows none.
std::string syscall_name(int number);

}  // namespace aegis::confine
