// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a name stands for. Asked in a process of its own each time, since it may wait for seconds
// and load what the host's nsswitch.conf(5) says.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "confine/address.h"
#include "confine/fd.h"

namespace aegis::confine {

struct Resolved {
  enum class Outcome : std::uint8_t { found, no_such_name, failed };
  Outcome outcome = Outcome::failed;
  std::vector<IpAddress> addresses = {};
};
/// May block. Runs in a fork of a process with one thread.
using ResolveName = std::function<Resolved(const std::string& name)>;

/// The host's own way: getaddrinfo(3).
Resolved resolve_by_system(const std::string& name);

/// Addresses of one answer that are looked at.
inline constexpr std::size_t kMaxResolved = 32;

/// A look-up under way. Ends its process when it is destroyed.
class LookUp {
 public:
  /// Nothing when no process or pipe can be had.
  static std::optional<LookUp> start(const ResolveName& resolve, const std::string& name);
  LookUp(LookUp&& other) noexcept;
  LookUp& operator=(LookUp&& other) noexcept;
  LookUp(const LookUp&) = delete;
  LookUp& operator=(const LookUp&) = delete;
  ~LookUp();

  /// Readable when take() will not wait.
  [[nodiscard]] int fd() const { return pipe_.get(); }
  [[nodiscard]] Resolved take() const;

 private:
  LookUp(pid_t worker, Fd pipe) noexcept;
  void end() noexcept;
  pid_t worker_ = -1;
  Fd pipe_;
};

}  // namespace aegis::confine
