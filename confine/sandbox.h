// SPDX-License-Identifier: Apache-2.0 OR MIT
// One bounded run of a program in the broker's own sandbox: tier full with a filter that lists what
// is allowed, no network, a private root that holds the listed programs, libraries and a copy of
// the workspace. No weaker tier: what cannot be built is not run. Its owner only polls: all that
// takes time happens in a process of the run's own, which ends with the owner.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "confine/fd.h"
#include "confine/grants.h"
#include "confine/result.h"
#include "confine/workspace.h"

namespace aegis::confine {

/// Where the copy of the workspace is, and where the program starts.
inline constexpr const char* kWorkspacePlace = "/workspace";

struct SandboxBounds {
  std::chrono::milliseconds time{15'000};  // from its start
  std::uint64_t output = 64ULL << 10U;     // bytes of stdout and stderr together
  std::uint64_t memory = 256ULL << 20U;    // bytes
  std::uint64_t processes = 64;
};

/// What is to be run. The run copies what it needs.
struct SandboxOrder {
  std::vector<std::string> argv;       // at least one word; the first as the program shall see it
  std::string program;                 // absolute, without links: one of `binaries`
  std::vector<ResolvedPath> binaries;  // all that can be executed besides what library folders hold
  const Workspace* workspace = nullptr;
  Workspace::SnapshotBounds snapshot = {};
  Workspace::IsHidden is_left_out = {};    // of the snapshot
  std::vector<std::string> writable = {};  // relative paths of the workspace: the real ones
  /// For the guard of what may be written (guard.h): the user's home folder, absolute and without
  /// links, or empty; and where what appears under a guarded name is moved: without it, nowhere.
  std::string home = {};
  std::string quarantine = {};
  std::string input = {};  // its stdin, then end of file
  SandboxBounds bounds = {};
};

struct SandboxEnd {
  enum class How : std::uint8_t {
    ended,  // by itself
    timeout,
    output,     // more than it may write
    cancelled,  // or, with `why`, ended by something else than its owner: it may have run
    unbuilt,    // never started: `why`
  };
  How how = How::unbuilt;
  std::optional<int> wait_status = {};  // waitpid(2)'s; nothing when aegis ended it
  std::string out = {};
  std::string err = {};
  bool is_truncated = false;
  std::uint64_t memory_kills = 0;  // processes the kernel ended: all together wanted more memory
  std::chrono::milliseconds duration{0};
  std::uint64_t snapshot_left_out = 0;
  std::string why = {};                          // of what could not be built: what to do about it
  std::vector<std::string> notes = {};           // of the guard, for aegis's user: name host paths
  std::optional<PathFault> writable_fault = {};  // one of `writable` was not there, a link, ...
};

/// Owns the run's process: its end ends the program and all that it has started.
class SandboxRun {
 public:
  /// Forks. The caller has one thread; the fork holds none of the caller's descriptors but those it
  /// needs.
  static Result<SandboxRun> start(const SandboxOrder& order);
  SandboxRun(SandboxRun&& other) noexcept;
  SandboxRun& operator=(SandboxRun&&) = delete;
  SandboxRun(const SandboxRun&) = delete;
  SandboxRun& operator=(const SandboxRun&) = delete;
  /// Ends it and waits for that: some milliseconds.
  ~SandboxRun();

  /// Readable when on_ready() has something to do.
  [[nodiscard]] int fd() const { return result_.get(); }
  /// Takes in what has come; does not wait. The end, once everything of the run is gone.
  std::optional<SandboxEnd> on_ready();
  /// Asks for its end, which comes as How::cancelled.
  void cancel();
  /// Blocks until the end.
  SandboxEnd wait();

 private:
  SandboxRun(pid_t runner, Fd control, Fd result);
  pid_t runner_;  // -1: reaped, or moved
  Fd control_;    // its closing ends the run too
  Fd result_;
  std::string received_;
  bool is_cancelled_ = false;
};

}  // namespace aegis::confine
