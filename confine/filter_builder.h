// SPDX-License-Identifier: Apache-2.0 OR MIT
// A system-call filter in the making: libseccomp behind a type of our own. Knows nothing of which
// calls are good or bad (seccomp.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "confine/result.h"

namespace aegis::confine {

/// A condition on one argument of a system call. The kernel cuts an int argument to the low 32 bits
/// of its register: `low_bits` does the same. The others compare all 64 bits, so that a number with
/// anything in the upper half is not the small one that the kernel will see; they are for refusing
/// what is not a known good value.
struct Comparison {
  enum class Test : std::uint8_t { low_bits, equal, not_equal, greater };
  unsigned index = 0;  // of the argument, from 0
  Test test = Test::equal;
  std::uint32_t value = 0;
  std::uint32_t mask = 0xffffffff;  // low_bits only: which of them are compared
};

class FilterBuilder {
 public:
  /// What happens to a call that no rule matches. ENOSYS is what libraries take another way on.
  enum class Otherwise : std::uint8_t { allow, enosys, kill_process };

  /// Calls of another architecture (int 0x80, x32) end the process. Errors are libseccomp's.
  static Result<FilterBuilder> make(Otherwise otherwise);

  /// `call` fails with `error` when all of `when` is true. Not ENOSYS where that happens anyway. At
  /// most one condition an argument. A call that this architecture does not have needs no rule and
  /// gets none.
  Result<void> refuse(int call, int error, std::span<const Comparison> when = {});
  /// A tracer is told before `call` is made (ptrace(2), PTRACE_EVENT_SECCOMP); without one it fails
  /// with ENOSYS. Another filter's refusal comes first.
  Result<void> trace(int call, std::span<const Comparison> when = {});
  /// For a filter that lists what is allowed.
  Result<void> allow(int call, std::span<const Comparison> when = {});

  /// As the kernel takes it: struct sock_filter, eight bytes each.
  [[nodiscard]] Result<std::vector<std::uint64_t>> program() const;

 private:
  struct Release {
    void operator()(void* context) const;
  };
  FilterBuilder() = default;
  Result<void> add(std::uint32_t action, int call, std::span<const Comparison> when);
  std::unique_ptr<void, Release> context_;  // scmp_filter_ctx
};

}  // namespace aegis::confine
