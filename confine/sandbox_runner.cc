// SPDX-License-Identifier: Apache-2.0 OR MIT
// See sandbox_runner.h.
#include "confine/sandbox_runner.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "confine/child.h"
#include "confine/landlock.h"
#include "confine/process.h"
#include "confine/sandbox_answer.h"
#include "confine/sandbox_plan.h"
#include "confine/sandbox_watch.h"
#include "confine/support.h"

namespace aegis::confine {
namespace {

constexpr int kLeastAbi = 3;  // from here on truncating can be refused (landlock(7))

/// A session of its own: what a terminal sends to its owner's group is the owner's to judge.
void leave_owner(const SandboxOrder& order, const RunnerEnds& ends) noexcept {
  ::prctl(PR_SET_NAME, "aegis-run");
  reset_signals();
  static_cast<void>(::signal(SIGPIPE, SIG_IGN));
  ::setsid();
  // The client waits for the end of what was 0 to 2.
  const int kept[] = {ends.control.get(), ends.result.get(), order.workspace->descriptor()};
  close_all_but(kept);
  // A payload expects these to be taken (payload.cc).
  for (int i = 0; i <= STDERR_FILENO; ++i) {
    if (::open("/dev/null", O_RDWR | O_CLOEXEC) != i) ::_exit(1);
  }
}

/// As long as there is nothing to be tidied up, the owner's end or word ends this process by itself
/// (SIGIO, fcntl(2)): reading a workspace may take long.
class Interruptible {
 public:
  explicit Interruptible(int control) noexcept : control_(control) {
    ::fcntl(control, F_SETOWN, ::getpid());
    ::fcntl(control, F_SETFL, O_ASYNC);
    pollfd watched{control, POLLIN, 0};
    if (::poll(&watched, 1, 0) != 0) ::_exit(0);
  }
  ~Interruptible() { ::fcntl(control_, F_SETFL, 0); }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  int control_;
};

SandboxEnd unbuilt(std::string why) {
  SandboxEnd end;
  end.why = std::move(why);
  return end;
}

/// Its last word was that nothing is left but execve, so whether that happened nobody knows.
SandboxEnd killed_at_start() {
  SandboxEnd end;
  end.how = SandboxEnd::How::cancelled;
  end.why = "it was killed as it began, so it may have run";
  return end;
}

/// What is missing here for the sandbox, and what to do about it.
std::string remedies() {
  return probe_support().remedies_for(Tier::full);
}

bool make_pipe(Fd& read_end, Fd& write_end) noexcept {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  read_end = Fd(ends[0]);
  write_end = Fd(ends[1]);
  return true;
}

bool make_nonblocking(const Fd& fd) noexcept {
  return ::fcntl(fd.get(), F_SETFL, O_NONBLOCK) == 0;
}

/// The program's ends; they close in this process when it has started.
struct Theirs {
  Fd input;
  Fd output;
  Fd errors;
};

bool make_pipes(bool is_fed, SandboxPipes& ours, Theirs& theirs) noexcept {
  if (is_fed) {
    if (!make_pipe(theirs.input, ours.input) || !make_nonblocking(ours.input)) return false;
  } else {
    theirs.input = Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!theirs.input.is_open()) return false;
  }
  return make_pipe(ours.output, theirs.output) && make_pipe(ours.errors, theirs.errors) &&
         make_nonblocking(ours.output) && make_nonblocking(ours.errors);
}

/// Of something that is to be written: it was there when it was looked at.
SandboxEnd changed_meanwhile() {
  SandboxEnd end = unbuilt("what is to be written was exchanged meanwhile; try again");
  end.writable_fault = PathFault::linked;
  return end;
}

/// The kernel's words for a place that is another's by now.
bool is_exchanged(int code) noexcept {
  return code == ESTALE || code == ENOENT || code == ELOOP || code == ENOTDIR;
}

/// The same of what was asked before the program's process was there.
bool is_exchanged(const Error& error, const SandboxOrder& order) {
  const std::string& root = order.workspace->root();
  return !order.writable.empty() && error.doing.find(root) != std::string::npos;
}

void tell(int result, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t size = ::write(result, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;  // nobody is there any more
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
}

/// What goes into an answer names the workspace, not where on the host it lies.
void hide_place(std::string& why, const std::string& root) {
  constexpr std::string_view kLabel = "workspace";
  for (std::size_t at = why.find(root); at != std::string::npos; at = why.find(root, at)) {
    why.replace(at, root.size(), kLabel);
    at += kLabel.size();
  }
}

class Runner {
 public:
  Runner(const SandboxOrder& order, const Filter& filter, const RunnerEnds& ends)
      : order_(order), filter_(filter), ends_(ends) {}

  void run() {
    SandboxEnd end = run_order();
    hide_place(end.why, order_.workspace->root());
    if (!has_begun_) tell(ends_.result.get(), kNotBegun);
    tell(ends_.result.get(), encode_end(end));
  }

 private:
  SandboxEnd run_order() {
    if (landlock_abi() < kLeastAbi)
      return unbuilt("a sandbox for the broker cannot be had here" + remedies());
    std::variant<SandboxPlan, PathFault, Error> planned;
    {
      const Interruptible interruptible(ends_.control.get());
      planned = plan_sandbox(order_);
    }
    if (const Error* error = std::get_if<Error>(&planned)) return unbuilt(describe(*error));
    if (const PathFault* fault = std::get_if<PathFault>(&planned)) {
      SandboxEnd end = unbuilt("a path that is to be written cannot be opened");
      end.writable_fault = *fault;
      return end;
    }
    return run_planned(std::get<SandboxPlan>(std::move(planned)));
  }

  SandboxEnd run_planned(SandboxPlan plan) {
    auto guards = SandboxGuards::plan(order_.home, plan.spec);
    if (!guards && is_exchanged(guards.error().code)) return changed_meanwhile();
    if (!guards) return unbuilt(describe(guards.error()));
    if (const auto watched = guards->watch(order_.quarantine); !watched)
      return unbuilt(describe(watched.error()));
    auto prepared = Prepared::make_with(filter_, std::move(plan.spec));
    if (!prepared && is_exchanged(prepared.error(), order_)) return changed_meanwhile();
    if (!prepared) return unbuilt(describe(prepared.error()) + remedies());
    SandboxEnd end = run_prepared(*prepared, *guards);
    guards->finish(end.notes);
    end.snapshot_left_out = plan.left_out;
    static_cast<void>(prepared->finish());  // of a cgroup that stays nobody can be told here
    return end;
  }

  SandboxEnd run_prepared(const Prepared& prepared, SandboxGuards& guards) {
    SandboxPipes ours;
    std::optional<Theirs> theirs(std::in_place);
    if (!make_pipes(!order_.input.empty(), ours, *theirs))
      return unbuilt(describe(errno_error("make the program's pipes")));
    // From here on nobody can say that nothing was run but who has seen it.
    has_begun_ = true;
    tell(ends_.result.get(), kBegun);
    SetUp failed;
    std::optional<Child> child = Child::start(
        prepared, {theirs->input.get(), theirs->output.get(), theirs->errors.get()}, failed);
    theirs.reset();
    if (!child && failed.stage == Stage::bind && is_exchanged(failed.code))
      return changed_meanwhile();
    if (!child && failed.stage == Stage::exec && failed.code == ECHILD) return killed_at_start();
    if (!child) return unbuilt(describe_failure(failed, prepared.spec()) + remedies());
    SandboxEnd end = watch_run(
        *child, {std::move(ours), order_.input, order_.bounds, ends_.control.get(), guards});
    end.memory_kills = prepared.memory_kills();
    return end;
  }

  const SandboxOrder& order_;
  const Filter& filter_;
  const RunnerEnds& ends_;
  bool has_begun_ = false;
};

}  // namespace

void run_sandbox(const SandboxOrder& order, const Filter& filter, RunnerEnds ends) noexcept {
  leave_owner(order, ends);
  Runner(order, filter, ends).run();
  ::_exit(0);
}

}  // namespace aegis::confine
