// SPDX-License-Identifier: Apache-2.0 OR MIT
// Calls made in a child under a filter, with an older filter below it that stops each call which
// ours lets through (SECCOMP_RET_TRACE without a tracer is ENOSYS; an errno of ours outranks it):
// nothing dangerous is ever carried out.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "confine/seccomp.h"
#include "tests/confine/forked.h"

namespace aegis::test {

using aegis::confine::Filter;
using aegis::confine::FilterOptions;
using aegis::confine::Network;
using aegis::confine::Result;
using aegis::confine::syscall_name;
using aegis::confine::Tier;

constexpr int kStopped = ENOSYS;  // by the filter below ours
constexpr int kNotTried = -1;
constexpr std::uint64_t kUpperHalf = 0xabcdef0100000000;
constexpr FilterOptions kFull = {Tier::full, Network::none, 7};
constexpr FilterOptions kGranted = {Tier::full, Network::granted, 7};
constexpr FilterOptions kUnconfined = {Tier::full, Network::unconfined, 7};
constexpr FilterOptions kLandlock = {Tier::landlock, Network::none, 7};
constexpr FilterOptions kLandlockUnconfined = {Tier::landlock, Network::unconfined, 7};

struct Call {
  const char* what;
  long number;
  std::array<std::uint64_t, 6> arguments;
  int error;  // expected
};

inline Filter compiled(const FilterOptions& options) {
  Result<Filter> filter = Filter::compile(options);
  REQUIRE(filter.is_ok());
  return std::move(filter).value();
}

/// Stops every call but the end of the process and the loading of one more filter.
inline bool stop_all_calls() {
  std::array<sock_filter, 5> program = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog whole = {static_cast<unsigned short>(program.size()), program.data()};
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &whole) == 0;
}

inline int try_call(const Call& call) {
  const auto& a = call.arguments;
  errno = 0;
  const long got = ::syscall(call.number, a[0], a[1], a[2], a[3], a[4], a[5]);
  return got == -1 ? errno : 0;
}

/// What each of `calls` gives under the filter, with nothing carried out.
inline std::vector<int> errors_of(const FilterOptions& options, const std::vector<Call>& calls) {
  struct Errors {
    std::array<int, 40'000> before;
    std::array<int, 40'000> after;
  };
  REQUIRE(calls.size() <= std::tuple_size_v<decltype(Errors::after)>);
  const Filter filter = compiled(options);
  const Found<Errors> found = run_forked<Errors>([&](Errors& errors) {
    errors.after.fill(kNotTried);
    if (!set_no_new_privs() || !stop_all_calls()) return;
    for (std::size_t i = 0; i < calls.size(); ++i)
      errors.before[i] = try_call(calls[i]);
    if (filter.load() != 0) return;
    for (std::size_t i = 0; i < calls.size(); ++i)
      errors.after[i] = try_call(calls[i]);
  });
  REQUIRE(found.has_ended_well());
  const auto end = found.value.before.begin() + static_cast<std::ptrdiff_t>(calls.size());
  CHECK(std::all_of(found.value.before.begin(), end, [](int code) { return code == kStopped; }));
  return {found.value.after.begin(),
          found.value.after.begin() + static_cast<std::ptrdiff_t>(calls.size())};
}

inline void check_all(const FilterOptions& options, const std::vector<Call>& calls) {
  const std::vector<int> errors = errors_of(options, calls);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    CAPTURE(calls[i].what);
    CAPTURE(syscall_name(static_cast<int>(calls[i].number)));
    CHECK(errors[i] == calls[i].error);
  }
}

}  // namespace aegis::test
