// SPDX-License-Identifier: Apache-2.0 OR MIT
// Watches what a program and all that it starts do with files, by ptrace(2), for `--explain`. It
// changes no call and refuses none. Part of the first process of the sandbox, which has one thread
// and may allocate; it outlives the program, and nothing of aegis is in its reach but one file.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "confine/child.h"
#include "confine/traced_calls.h"
#include "confine/wish.h"

namespace aegis::confine {

class Tracer {
 public:
  /// `spec` (with a host_view) and `wishes`, which each wish is appended to as soon as it is known,
  /// outlive this.
  Tracer(const Spec& spec, int wishes);

  /// Makes the caller the tracer of `program`, of all that it will start, and their end when the
  /// caller's comes. 0 or an errno. Then the program's own calls may be loaded with the filter of
  /// Filter::compile_tracing().
  [[nodiscard]] static int seize(pid_t program) noexcept;

  /// For a status of waitpid(2) that is WIFSTOPPED: looks, and lets the task go on.
  void on_stop(pid_t task, int status);
  /// For any other: its number may come to be another's.
  void forget(pid_t task) { pending_.erase(task); }

 private:
  /// A file that a call has named and that is not the sandbox's own.
  struct Named {
    TracedCall::Act act;
    std::string path;  // absolute, as written
    std::uint64_t extra = 0;
  };

  void on_call(pid_t task);
  void on_return(pid_t task);
  void on_exec(pid_t task);
  void judge(const Named& named, int code);
  void judge_open(const Named& named, int code);
  void record(Wish::Need need, const Named& named);
  void record_hidden(const Named& named);
  void append(const Wish& wish);
  void append_cut();
  [[nodiscard]] std::optional<Wish> make_wish(Wish::Need need, const Named& named) const;
  [[nodiscard]] bool is_own(const std::string& path) const;
  [[nodiscard]] bool is_hidden(std::string path) const;

  const Spec& spec_;
  int wishes_;
  std::unordered_map<int, std::vector<TracedCall>> calls_;  // by number
  std::unordered_map<pid_t, std::vector<Named>> pending_;   // between a call and its return
  std::unordered_set<std::string> hidden_;
  std::unordered_set<std::string> seen_;
  std::size_t written_ = 0;  // bytes
  bool is_full_ = false;
  bool is_cut_ = false;  // and that has been said
};

}  // namespace aegis::confine
