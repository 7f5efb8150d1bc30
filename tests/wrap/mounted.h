// SPDX-License-Identifier: Apache-2.0 OR MIT
// A mount that only a forked child sees: in a user and a mount namespace of its own, both gone with
// it.
#pragma once

#include <sched.h>
#include <sys/mount.h>

#include <functional>
#include <string>

#include <doctest/doctest.h>

#include "tests/wrap/child.h"

namespace aegis::test {

struct Bind {
  std::string from;
  std::string to;
};

/// Runs `body`, which says whether all is well, where `bind.from` is mounted on `bind.to` too. A
/// counted skip where user namespaces cannot be had.
inline void check_where_bound(const Bind& bind, const std::function<bool()>& body) {
  constexpr int kSkipped = 77;
  const Ended ended = run_in_child([&] {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return kSkipped;
    if (::mount(bind.from.c_str(), bind.to.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
      return kSkipped;
    return body() ? 0 : 1;
  });
  if (ended.exit == kSkipped) {
    MESSAGE("skipped: 1: needs user namespaces in which to mount");
    return;
  }
  CHECK(ended.exit == 0);
}

}  // namespace aegis::test
