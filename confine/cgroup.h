// SPDX-License-Identifier: Apache-2.0 OR MIT
// Bounds on all processes of a sandbox together, where a cgroup can be had: memory and the number
// of processes. Changes no cgroup but those that it makes, not even to make more possible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "confine/bounds.h"
#include "confine/cgroup_place.h"
#include "confine/fd.h"
#include "confine/result.h"

namespace aegis::confine {

/// How memory is bounded.
enum class MemoryBound : std::uint8_t {
  per_process,  // each process's private memory, by RLIMIT_DATA: all together may use more
  cgroup_v1,
  cgroup_v2,
};
constexpr std::string_view to_string(MemoryBound bound) {
  switch (bound) {
    case MemoryBound::per_process:
      return "per_process";
    case MemoryBound::cgroup_v1:
      return "cgroup_v1";
    case MemoryBound::cgroup_v2:
      return "cgroup_v2";
  }
  return {};
}

/// One cgroup that was made here. Its end is the end of what is in it, in v2, and its removal.
class Cgroup {
 public:
  /// A file in it, and what is written there, in this order. One that is not there is an error
  /// unless it is optional.
  struct Setting {
    enum class Need : std::uint8_t { required, optional };
    std::string file;
    std::string value;
    Need need = Need::required;
  };
  /// Makes a folder in `parent`, and takes away what an aegis of this user that was killed as a
  /// whole has left there.
  static Result<Cgroup> make(CgroupVersion version,
                             const std::string& parent,
                             const std::vector<Setting>& settings);
  Cgroup(Cgroup&& other) noexcept;
  Cgroup& operator=(Cgroup&& other) noexcept;
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;
  ~Cgroup();

  /// v2: what clone_process() (process.h) is to be told. Owned by this.
  [[nodiscard]] std::optional<int> birthplace() const noexcept;
  /// v1, where no process can begin in a cgroup: puts the calling process, which has one thread,
  /// into it. Async-signal-safe. 0 or an errno. The kernel judges by the rights of who made it
  /// (CVE-2021-4197), so a new user namespace is no hindrance.
  [[nodiscard]] int enter() const noexcept;
  /// What the kernel has counted under `key` in `file` ("oom_kill 3"); 0 when it has not.
  [[nodiscard]] std::uint64_t count(const char* file, std::string_view key) const;
  /// What both need open.
  [[nodiscard]] int descriptor() const { return entrance_.get(); }
  [[nodiscard]] CgroupVersion version() const { return version_; }
  [[nodiscard]] const std::string& path() const { return path_; }

  /// Removes it, when all processes in it are gone; waits up to half a second for that. In v2 what
  /// is still in it is killed first. False: it is still there.
  bool remove();

 private:
  static Result<Cgroup> make_empty(CgroupVersion version, const std::string& parent);
  Cgroup(CgroupVersion version, std::string path) : version_(version), path_(std::move(path)) {}
  CgroupVersion version_;
  std::string path_;  // empty: none any more
  Fd entrance_;       // v1: its file tasks; v2: itself. Locked, which tells others that it is used
};

/// The cgroups of one sandbox: one in v2, or up to two in v1, or none.
class Cgroups {
 public:
  /// Makes what `bounds` asks for: nothing unless something is asked for. What cannot be had is in
  /// missing(), and is then held by the means of limits.h alone.
  static Cgroups make(const Bounds& bounds);

  /// Of the one in v2, if there is one: where the sandbox's first process is to begin.
  [[nodiscard]] std::optional<int> birthplace() const noexcept;
  /// To be the first thing that that process does. Async-signal-safe. 0 or an errno.
  [[nodiscard]] int enter() const noexcept;

  /// What both need open.
  [[nodiscard]] std::vector<int> descriptors() const;
  [[nodiscard]] MemoryBound memory() const { return memory_; }
  [[nodiscard]] bool has_processes() const { return has_processes_; }
  /// Why there is none, one error for each bound.
  [[nodiscard]] const std::vector<Error>& missing() const { return missing_; }
  /// How many processes the kernel has killed because all together wanted more memory.
  [[nodiscard]] std::uint64_t memory_kills() const;
  /// After the sandbox's end. An error names what is still there.
  Result<void> remove();

 private:
  void note(std::string_view controller, CgroupVersion version);

  std::vector<Cgroup> all_;
  std::vector<Error> missing_;
  MemoryBound memory_ = MemoryBound::per_process;
  bool has_processes_ = false;
};

}  // namespace aegis::confine
