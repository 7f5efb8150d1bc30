// SPDX-License-Identifier: Apache-2.0 OR MIT
// The Landlock ruleset: made before the fork from what was granted, completed after it with what
// only exists in the private root, then enforced. Landlock says what is allowed; what exists is the
// root's (root.h).
#pragma once

#include <cstdint>
#include <vector>

#include "confine/fd.h"
#include "confine/grants.h"
#include "confine/result.h"
#include "confine/tier.h"

namespace aegis::confine {

/// The Landlock ABI of this kernel (landlock(7)): 0 when it has none or has it switched off.
int landlock_abi() noexcept;

class Ruleset {
 public:
  struct Options {
    int abi = 0;  // what landlock_abi() says; rights that it does not know are not asked for
    Network network = Network::none;
    enum class Files : std::uint8_t { ruled, mounted } files = Files::ruled;
  };
  using Files = Options::Files;
  /// Handles every right that `abi` has: what no rule allows is refused. Scopes (abstract unix
  /// sockets, signals; ABI 6) too. TCP bind and connect (ABI 4) are refused unless the network is
  /// unconfined. Of files that are ruled by their mounts only two rights are handled: to open
  /// for writing, since a mount that is read-only keeps nobody from writing to a FIFO in it, and to
  /// move to another folder, which every ruleset takes away unless it is allowed.
  static Result<Ruleset> make(const Options& options);
  /// Opens each path and allows its rights. A path that is no longer the file that was resolved is
  /// an error.
  Result<void> allow(const std::vector<PathGrant>& grants);

  /// What a file may get besides its Rights: ioctl(2) on a device (ABI 5).
  enum class Kind : std::uint8_t { directory, file, device };
  /// Allows `rights` on what `path_fd` is open on. Async-signal-safe. 0 or an errno.
  [[nodiscard]] int allow_fd(int path_fd, Rights rights, Kind kind) const noexcept;
  /// Allows the moving of files between the folders below `path_fd`. Likewise.
  [[nodiscard]] int allow_moves(int path_fd) const noexcept;
  /// Binds the calling thread for good. Async-signal-safe. 0 or an errno. no_new_privs must be set.
  [[nodiscard]] int enforce() const noexcept;
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

 private:
  Ruleset() = default;
  [[nodiscard]] int add(int path_fd, std::uint64_t access) const noexcept;
  Fd fd_;
  std::uint64_t handled_ = 0;         // LANDLOCK_ACCESS_FS_*
  std::uint32_t restrict_flags_ = 0;  // LANDLOCK_RESTRICT_SELF_*
};

}  // namespace aegis::confine
