// SPDX-License-Identifier: Apache-2.0 OR MIT
// Aegis's side of the server: the other ends of its pipes, and the keeper that starts and ends it.
// It watches passively; the loop polls its descriptors.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "confine/fd.h"
#include "confine/result.h"
#include "wrap/keeper.h"

namespace aegis::wrap {

/// Owns the keeper's process: its end kills the server and every descendant.
class Server {
 public:
  /// Forks the keeper, which then waits. Nothing runs yet. Call it while this process has one
  /// thread and no secret in its memory. `argv` is copied; `confined`, when not null, is what runs
  /// instead of it, and only has to live as long as the call.
  static confine::Result<Server> prepare(const std::vector<std::string>& argv,
                                         confine::Prepared* confined = nullptr);
  /// The same with a part of aegis in the program's place.
  static confine::Result<Server> prepare(Builtin builtin);
  /// Without a keeper, for a process that never holds a secret, in tier full, whose first process
  /// does what a keeper does: it saves a fork. `confined` outlives start().
  static confine::Result<Server> prepare_unkept(const confine::Prepared& confined);

  Server(Server&& other) noexcept;
  Server& operator=(Server&&) = delete;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  /// Runs the program. What it gives is all that is known of a confined one. The error's code is
  /// execve's errno; of a confined program it may be that of an earlier stage, which
  /// failed_set_up() then names.
  confine::Result<confine::Enforced> start();
  [[nodiscard]] const confine::SetUp& failed_set_up() const { return failed_set_up_; }

  /// The pipes' ends, non-blocking; reset the first to give the server its end of input.
  confine::Fd& input() { return input_; }
  confine::Fd& output() { return output_; }
  confine::Fd& errors() { return errors_; }
  /// Where a confined server's supervisor reports (confine/net_report.h); open only when there is
  /// one.
  [[nodiscard]] const confine::Fd& net_reports() const { return net_reports_; }
  /// Readable when next_report has something to say.
  [[nodiscard]] int control_fd() const { return child_ ? child_->end_fd() : control_.get(); }

  struct Ended {
    std::optional<int> wait_status;  // waitpid's; empty when the keeper itself was killed
  };
  /// The server's own end, once; does not wait.
  std::optional<Ended> next_report();

  /// SIGTERM to its process group.
  void terminate();
  /// SIGKILL to all that it started. Its pipes reach their end soon after.
  void kill();
  /// Waits until the keeper has left, as long as `most`. Says whether it has.
  bool wait_for_keeper(std::chrono::milliseconds most);

 private:
  Server() = default;
  struct Ends;
  static confine::Result<Ends> make_ends(const confine::Prepared* confined);
  static confine::Result<Server> prepare(const KeeperProgram& program);
  void take(Ends& ends);
  confine::Result<confine::Enforced> start_child();
  void order(KeeperOrder order);

  pid_t keeper_ = -1;
  confine::Fd control_;
  confine::Fd input_;
  confine::Fd output_;
  confine::Fd errors_;
  confine::Fd net_reports_;
  confine::SetUp failed_set_up_ = {};
  // Without a keeper: what is to be started, and what runs.
  const confine::Prepared* unkept_ = nullptr;
  KeeperEnds ends_;
  std::optional<confine::Child> child_;
  bool is_child_told_ = false;  // its end is known
};

/// The file that execvp(3) would run for `command`: itself when it holds a '/', else the first in
/// PATH. An error says 127 (ENOENT) or 126 (anything else) by its code, and names the PATH that was
/// searched.
confine::Result<std::string> find_program(const std::string& command);

}  // namespace aegis::wrap
