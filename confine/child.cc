// SPDX-License-Identifier: Apache-2.0 OR MIT
// The owner's side: making everything ready, clone(2), and believing only what the child has shown.
#include "confine/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "confine/parts.h"
#include "confine/process.h"
#include "confine/resolve.h"
#include "confine/supervisor.h"

namespace aegis::confine {
namespace {

constexpr int kNewNamespaces =
    CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> made;
  made.reserve(words.size() + 1);
  for (std::string& word : words)
    made.push_back(word.data());
  made.push_back(nullptr);
  return made;
}

std::string own_map(unsigned id) {
  return std::to_string(id) + " " + std::to_string(id) + " 1\n";
}

struct Channel {
  Fd ours;
  Fd theirs;
};

bool make_pipe(Channel& made) noexcept {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  made = {Fd(ends[0]), Fd(ends[1])};
  return true;
}

bool make_socket(Channel& made) noexcept {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return false;
  made = {Fd(ends[0]), Fd(ends[1])};
  return true;
}

/// The process that connects for the program. Nothing of the child's exists yet that it could hold.
bool start_supervisor(const std::vector<NetGrant>& grants,
                      int reports,
                      Channel& inlet,
                      Fd& control) noexcept {
  Channel control_ends;
  if (!make_socket(inlet) || !make_socket(control_ends)) return false;
  const pid_t pid = ::fork();
  if (pid < 0) return false;
  if (pid == 0) {
    control_ends.ours.reset();
    inlet.theirs.reset();
    run_supervisor({std::move(inlet.ours), Fd(reports), std::move(control_ends.theirs)},
                   grants,
                   resolve_by_system);
  }
  inlet.ours.reset();
  control = std::move(control_ends.ours);
  return true;
}

Result<Prepared::Parts::Tracing> make_tracing(const Spec& spec) {
  if (spec.tier != Tier::full || spec.network != Network::granted || !spec.net.empty())
    return refusal("watch a program", "with the host's files", "it needs tier full and no network");
  Prepared::Parts::Tracing tracing{AEGIS_TRY(Filter::compile_tracing()),
                                   Fd(::memfd_create("wishes", MFD_CLOEXEC))};
  if (!tracing.wishes.is_open()) return errno_error("memfd_create");
  return tracing;
}

Result<Filter> filter_for(const Spec& spec) {
  if (spec.worker) return Filter::compile_worker();
  // What the listener sees, it can report; what the filter refuses, nobody hears of.
  const auto sockets = spec.network == Network::granted ? FilterOptions::Sockets::leave_to_listener
                                                        : FilterOptions::Sockets::refuse;
  return Filter::make({spec.tier, spec.network, confine::landlock_abi(), sockets});
}

std::vector<PathGrant> sources_of(const WorkerFiles& worker) {
  std::vector<PathGrant> grants;
  for (const WorkerFiles::Bind& each : worker.binds)
    grants.push_back(each.source);
  return grants;
}

Result<Ruleset> ruleset_for(const Spec& spec, int abi) {
  const auto files = spec.host_view ? Ruleset::Files::mounted : Ruleset::Files::ruled;
  Ruleset ruleset = AEGIS_TRY(Ruleset::make({abi, spec.network, files}));
  AEGIS_TRY(ruleset.allow(spec.paths.paths));
  if (spec.worker) AEGIS_TRY(ruleset.allow(sources_of(*spec.worker)));
  return ruleset;
}

/// Only in tier landlock is exec believed on the word of the owner's /proc (await_exec).
Result<void> check_proc(Tier tier) {
  if (tier == Tier::full || has_own_proc()) return {};
  return refusal("confine in tier landlock",
                 "/proc",
                 "it is missing, or tells of another pid namespace, and so cannot tell whether the "
                 "program runs; mount -t proc proc /proc");
}

/// The whole of what the child says. Only "running" after everything means that the program runs:
/// the end of the pipe after "execute" alone can be a death on the way.
bool await_exec(const Child& child, int set_up, SetUp& last, Enforced& enforced) noexcept {
  last = {};
  last.stage = Stage::clone;
  last.code = ECHILD;  // it ended before it said anything
  SetUp said;
  for (;;) {
    const ssize_t size = ::read(set_up, &said, sizeof said);
    if (size < 0 && errno == EINTR) continue;
    if (size != sizeof said) break;
    last = said;
    if (said.code != 0) return false;
    if (said.stage == Stage::bounds) enforced.process_bound = said.process_bound;
  }
  if (last.code == 0 && last.stage == Stage::running) return true;
  // In tier landlock nobody stands between, so nobody but this process can have seen it.
  const bool is_alone = child.tier() == Tier::landlock;
  if (is_alone && last.code == 0 && last.stage == Stage::exec && has_executed(child.pid()))
    return true;
  if (last.code == 0) last.code = ECHILD;
  return false;
}

}  // namespace

Prepared::Prepared(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Prepared::Prepared(Prepared&&) noexcept = default;
Prepared::~Prepared() = default;
const Spec& Prepared::spec() const {
  return parts_->spec;
}
int Prepared::landlock_abi() const {
  return parts_->landlock_abi;
}

std::vector<int> Prepared::descriptors() const {
  std::vector<int> numbers = parts_->cgroups.descriptors();
  numbers.push_back(parts_->ruleset.fd());
  if (parts_->tracing) numbers.push_back(parts_->tracing->wishes.get());
  return numbers;
}

bool Prepared::has_cgroups() const {
  return !parts_->cgroups.descriptors().empty();
}

std::vector<std::string> Prepared::shortfalls() const {
  std::vector<std::string> lines;
  for (const Error& each : parts_->cgroups.missing())
    lines.push_back(confine::describe(each) + "; each process is bounded instead");
  return lines;
}

std::uint64_t Prepared::memory_kills() const {
  return parts_->cgroups.memory_kills();
}

std::vector<std::string> Prepared::finish() {
  std::vector<std::string> lines;
  if (const std::uint64_t kills = memory_kills()) {
    lines.push_back("the kernel ended " + std::to_string(kills) +
                    " processes: all together wanted more than --max-memory");
  }
  if (const auto removed = parts_->cgroups.remove(); !removed)
    lines.push_back(confine::describe(removed.error()));
  std::error_code ignored;  // what cannot be removed is somebody else's by now
  if (!parts_->spec.scratch.empty()) std::filesystem::remove_all(parts_->spec.scratch, ignored);
  return lines;
}

Wishes Prepared::wishes() const {
  if (!parts_->tracing) return {};
  std::string bytes(kMaxWishBytes + kMaxWishBytes / 2, '\0');
  const ssize_t size = ::pread(parts_->tracing->wishes.get(), bytes.data(), bytes.size(), 0);
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return decode_wishes(bytes);
}

Result<Prepared> Prepared::make(Spec spec) {
  Filter filter = AEGIS_TRY(filter_for(spec));
  return make_with(std::move(filter), std::move(spec));
}

Result<Prepared> Prepared::make_with(Filter filter, Spec spec) {
  AEGIS_TRY(check_proc(spec.tier));
  const int abi = confine::landlock_abi();
  Ruleset ruleset = AEGIS_TRY(ruleset_for(spec, abi));
  Cgroups cgroups = Cgroups::make(spec.bounds);
  auto parts = std::make_unique<Parts>(
      Parts{std::move(spec), abi, std::move(ruleset), std::move(filter), std::move(cgroups)});
  parts->user_map = own_map(::geteuid());
  parts->group_map = own_map(::getegid());
  if (parts->spec.host_view) parts->tracing.emplace(AEGIS_TRY(make_tracing(parts->spec)));
  if (parts->spec.tier == Tier::full)
    parts->root.emplace(parts->spec, RootPlan::User{::geteuid(), ::getegid()});
  parts->argv = pointers(parts->spec.argv);
  parts->environment = pointers(parts->spec.environment);
  return Prepared(std::move(parts));
}

std::optional<Child> Child::start(const Prepared& prepared, const Stdio& stdio, SetUp& failed) {
  const Prepared::Parts& parts = prepared.parts();
  failed = {};
  failed.stage = Stage::clone;
  Channel inlet;
  Fd supervisor_control;
  Channel set_up;
  Channel control;
  const bool is_supervised = parts.spec.network == Network::granted;
  if ((is_supervised &&
       !start_supervisor(parts.spec.net, stdio.net_reports, inlet, supervisor_control)) ||
      !make_pipe(set_up) || !make_socket(control)) {
    failed.code = errno;
    return std::nullopt;
  }
  const ChildEnds ends{
      stdio, set_up.theirs.get(), control.theirs.get(), inlet.theirs.get(), ::getpid()};
  const Tier tier = parts.spec.tier;
  std::uint64_t flags = 0;
  if (tier == Tier::full) {
    flags = kNewNamespaces;
    if (parts.spec.network != Network::unconfined) flags |= CLONE_NEWNET;
  }
  const pid_t pid = clone_process(flags, parts.cgroups.birthplace());
  if (pid < 0) {
    failed.code = errno;
    return std::nullopt;
  }
  if (pid == 0) {
    if (tier == Tier::full) run_init(parts, ends);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != ends.owner) ::_exit(127);
    run_payload(parts, ends);
  }
  Child child(tier, pid);
  set_up.theirs.reset();
  control.theirs.reset();
  inlet.theirs.reset();
  child.control_ = std::move(control.ours);
  child.supervisor_control_ = std::move(supervisor_control);
  // pidfd_open(2), Linux 5.3: not reaped, so the number is still this child's.
  if (tier == Tier::landlock) child.end_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!await_exec(child, set_up.ours.get(), failed, child.enforced_)) return std::nullopt;
  child.enforced_.memory_bound = parts.cgroups.memory();
  if (parts.cgroups.has_processes()) child.enforced_.process_bound = ProcessBound::cgroup;
  return child;
}

Child::Child(Child&& other) noexcept
    : tier_(other.tier_),
      pid_(std::exchange(other.pid_, -1)),
      control_(std::move(other.control_)),
      supervisor_control_(std::move(other.supervisor_control_)),
      end_(std::move(other.end_)),
      enforced_(other.enforced_) {}

Child::~Child() {
  if (pid_ < 0) return;
  kill();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::optional<int> Child::wait() {
  int status = 0;
  if (tier_ == Tier::full) {
    ssize_t size = 0;
    do {
      size = ::recv(control_.get(), &status, sizeof status, 0);
    } while (size < 0 && errno == EINTR);
    // Only the first process is left, on its way: reaped at the end of this.
    if (size == sizeof status) return status;
  }
  pid_t reaped = 0;
  do {
    reaped = ::waitpid(pid_, &status, 0);
  } while (reaped < 0 && errno == EINTR);
  return ended(status);
}

std::optional<int> Child::ended(int wait_status) {
  pid_ = -1;
  if (tier_ == Tier::landlock) return wait_status;
  int status = 0;
  if (::recv(control_.get(), &status, sizeof status, MSG_DONTWAIT) != sizeof status)
    return std::nullopt;
  return status;
}

void Child::terminate() {
  if (pid_ < 0) return;
  ::kill(tier_ == Tier::full ? pid_ : -pid_, SIGTERM);
}

void Child::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
}

}  // namespace aegis::confine
