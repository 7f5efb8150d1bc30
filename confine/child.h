// SPDX-License-Identifier: Apache-2.0 OR MIT
// A confined child: from what was decided to a running program, and what was enforced on it. The
// order in which the layers are laid is payload.cc's and init.cc's; each layer has a file of its
// own.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "confine/bounds.h"
#include "confine/cgroup.h"
#include "confine/egress.h"
#include "confine/fd.h"
#include "confine/grants.h"
#include "confine/limits.h"
#include "confine/result.h"
#include "confine/tier.h"
#include "confine/wish.h"
#include "confine/workspace.h"

namespace aegis::confine {

class Filter;

/// Instead of a private root: the host's files, read-only but for what is writable in Spec::paths,
/// for a program that is watched (tracer.h). It is not confined: what it reads it may send to where
/// its output goes. The network it has none of, whatever is granted.
struct HostView {
  std::vector<std::string> hidden = {};  // files and folders that are empty in it; without links
  std::string resolver = {};             // what /etc/resolv.conf is, without links, or empty
};

/// For a worker of the broker's (sandbox.h): what its working directory holds, a filter that lists
/// what is allowed (Filter::compile_worker), and nothing executable but what is granted so: not in
/// /tmp either. Tier full without a network.
struct WorkerFiles {
  Snapshot copy = {};  // there; cannot be written
  struct Bind {
    PathGrant source;   // of the host; not executable whatever its rights
    std::string place;  // absolute; there is such a file or folder in `copy`
  };
  std::vector<Bind> binds = {};
  std::vector<std::string> hidden = {};  // files and folders that are empty there; absolute
};

/// Decided and resolved: nothing here is asked of the host again.
struct Spec {
  Tier tier = Tier::full;
  std::vector<std::string> argv;         // at least one word
  std::string program;                   // absolute: what is executed
  std::vector<std::string> environment;  // "NAME=value"
  std::string working_directory = "/";   // absolute; made, empty, when no grant holds it
  std::string home = {};                 // absolute or empty; likewise
  PathGrants paths = {};
  std::vector<std::string> self_bound = {};  // folders in writable grants that cannot be renamed
  std::vector<std::string> read_only = {};   // in writable grants; after the self-bound ones
  Network network = Network::none;
  std::vector<NetGrant> net = {};  // with Network::granted
  Bounds bounds = {};
  std::optional<HostView> host_view = {};  // tier full and Network::granted only
  std::optional<WorkerFiles> worker = {};  // tier full and Network::none only
  std::string scratch = {};  // tier landlock's private folder, removed by finish(); may be empty
};

/// The steps between clone and the program, in their order. One that fails is named to the user.
enum class Stage : std::uint8_t {
  clone,
  user_map,
  private_mounts,
  new_root,
  grant,      // `which` is the index in Spec::paths.paths
  copy,       // `which` is the index in WorkerFiles::copy.entries, or 0xffff
  bind,       // `which` is the index in WorkerFiles::binds
  self_bind,  // `which` is the index in Spec::self_bound
  read_only,  // `which` is the index in Spec::read_only
  devices,
  proc,
  scratch,
  host_view,
  hide,  // `which` is the index in HostView::hidden or WorkerFiles::hidden
  pivot,
  network,
  bounds,
  session,
  fork,
  tracing,
  stdio,
  rlimits,
  working_directory,
  capabilities,
  no_new_privs,
  landlock,
  supervision,
  seccomp,
  exec,
  running,
};
/// What was being done, for a message: "enter the private root".
std::string_view describe(Stage stage);

/// What a child says of its setting up, whole in one write(2).
struct SetUp {
  Stage stage = Stage::exec;
  ProcessBound process_bound = ProcessBound::none;
  std::uint16_t which = 0;
  std::int32_t code = 0;  // errno
};
constexpr SetUp failed_at(Stage stage, int code, std::uint16_t which = 0) noexcept {
  return {stage, ProcessBound::none, which, code};
}

/// The pipes' ends that become the program's 0, 1 and 2, and where reports of the network go.
struct Stdio {
  int input = -1;
  int output = -1;
  int errors = -1;
  int net_reports = -1;  // SupervisorEnds::reports; with Network::granted
};

/// What was enforced; exists only once the program runs.
struct Enforced {
  ProcessBound process_bound = ProcessBound::none;
  MemoryBound memory_bound = MemoryBound::per_process;
};

/// All that can be made before the fork: the ruleset, the compiled filter, the words of the
/// program.
class Prepared {
 public:
  /// Takes about a millisecond, most of it the filter.
  static Result<Prepared> make(Spec spec);
  /// The same with a filter that was compiled before, for who starts the like again and again.
  static Result<Prepared> make_with(Filter filter, Spec spec);
  Prepared(Prepared&&) noexcept;
  Prepared& operator=(Prepared&&) = delete;
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;
  ~Prepared();

  [[nodiscard]] const Spec& spec() const;
  [[nodiscard]] int landlock_abi() const;
  /// Descriptors that start() needs: who closes others must keep them.
  [[nodiscard]] std::vector<int> descriptors() const;
  [[nodiscard]] bool has_cgroups() const;
  /// Bounds that were asked for and are held by lesser means, one line each.
  [[nodiscard]] std::vector<std::string> shortfalls() const;
  /// How many processes the kernel has ended because all together wanted more memory; before
  /// finish().
  [[nodiscard]] std::uint64_t memory_kills() const;
  /// After the child's end: nothing is left of the cgroups and of the scratch folder. What there is
  /// to be said of it, one line each; mostly none. May be called again, and by a fork too.
  [[nodiscard]] std::vector<std::string> finish();

  /// What a program with a HostView has wanted by now.
  [[nodiscard]] Wishes wishes() const;

  struct Parts;  // child.cc's and its neighbours' alone
  [[nodiscard]] const Parts& parts() const { return *parts_; }

 private:
  explicit Prepared(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

/// Owns the first process of the sandbox. In tier full its end is the end of everything in there;
/// in tier landlock it is the program itself, and what else it has started is its owner's to find.
class Child {
 public:
  /// Starts the program and waits until it runs or cannot. The caller has one thread. Does not
  /// allocate after the fork. `failed` is what failed, for describe_failure(). With
  /// Network::granted it forks the supervisor too (supervisor.h), which the caller may have to
  /// reap.
  static std::optional<Child> start(const Prepared& prepared, const Stdio& stdio, SetUp& failed);

  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  /// Kills and reaps the first process.
  ~Child();
  /// The owner ends at once, so somebody else may reap what wait() has seen the end of: taking
  /// namespaces down costs the first process a millisecond.
  void abandon() { pid_ = -1; }

  [[nodiscard]] const Enforced& enforced() const { return enforced_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] Tier tier() const { return tier_; }
  /// Readable when the program and, in tier full, all that it has started have ended: then wait()
  /// does not block.
  [[nodiscard]] int end_fd() const { return tier_ == Tier::full ? control_.get() : end_.get(); }
  /// The program's wait status (waitpid(2)); nothing when the first process was killed before it
  /// could tell. Blocks until then. Once.
  std::optional<int> wait();
  /// The same for an owner who has reaped pid() itself and got `wait_status`.
  std::optional<int> ended(int wait_status);
  /// SIGTERM to the program's process group.
  void terminate();
  /// SIGKILL to the first process.
  void kill();

 private:
  Child(Tier tier, pid_t pid) : tier_(tier), pid_(pid) {}
  Tier tier_;
  pid_t pid_;
  Fd control_;             // its closing, however this process ends, ends the first process
  Fd supervisor_control_;  // likewise of the network's supervisor, when there is one
  Fd end_;                 // a pidfd, in tier landlock
  Enforced enforced_;
};

/// One line without a newline: what could not be done to what, and why. For a failed exec the code
/// says more to the caller (ENOENT, EACCES).
std::string describe_failure(const SetUp& failed, const Spec& spec);

}  // namespace aegis::confine
