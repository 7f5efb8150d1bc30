// SPDX-License-Identifier: Apache-2.0 OR MIT
// The system-call filter: made with libseccomp before the fork, loaded after it by one call.
#pragma once

#include <cstdint>
#include <span>
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

  /// Otherwise a path or a name in the abstract space would reach the host's unix sockets
  /// (unix(7)).
  [[nodiscard]] constexpr bool are_unix_sockets_own() const {
    constexpr int kAbiWithScopes = 6;
    return network != Network::unconfined || landlock_abi >= kAbiWithScopes;
  }
  /// The filters of both are the same.
  [[nodiscard]] constexpr bool is_like(const FilterOptions& other) const {
    return tier == other.tier && network == other.network && sockets == other.sockets &&
           are_unix_sockets_own() == other.are_unix_sockets_own();
  }
};

/// What the kernel is given (seccomp(2)): a classic BPF program.
class Filter {
 public:
  /// Everything is allowed but what the table in seccomp.cc refuses: taken from what was compiled
  /// with aegis (ready_filters.h), or compiled now. The errors are libseccomp's.
  static Result<Filter> make(const FilterOptions& options);
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
  [[nodiscard]] std::span<const std::uint64_t> program() const { return program_; }

 private:
  Filter() = default;
  std::vector<std::uint64_t> program_;  // sock_filter is 8 bytes
  std::size_t instructions_ = 0;
};

/// The name of system call `number` of this architecture, for a message; "system call <n>" when
/// libseccomp knows none.
std::string syscall_name(int number);

}  // namespace aegis::confine
