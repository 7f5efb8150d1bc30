// SPDX-License-Identifier: Apache-2.0 OR MIT
// The queue of what waits, what runs and what is done. What may be done is broker_world.h's, what
// is run broker_order.h's, how it is told broker_answers.h's.
#include "wrap/broker.h"

#include <algorithm>
#include <deque>
#include <list>
#include <utility>
#include <variant>

#include "confine/sandbox.h"
#include "wrap/broker_answers.h"
#include "wrap/broker_order.h"
#include "wrap/broker_world.h"
#include "wrap/log.h"
#include "wrap/places.h"

namespace aegis::wrap {
namespace {

using Clock = std::chrono::steady_clock;
using confine::SandboxOrder;
using confine::SandboxRun;
using mcp::BrokerAnswer;
using mcp::BrokerCode;
using mcp::Operation;
using mcp::Refused;

/// What is known of a request from its beginning.
struct Case {
  Broker::Ticket ticket;
  Clock::time_point begun;
  BrokerGrant grant = {};
  std::optional<std::string> path = {};
  std::string ended_why = {};
};

struct Waiting {
  Case about;
  SandboxOrder order;
};

struct Running {
  Case about;
  SandboxRun run;
};

BrokerGrant grant_of_run(const BrokerWorld& world, Operation operation, const SandboxOrder& order) {
  BrokerGrant grant;
  grant.read_paths = world.readable(operation);
  for (const std::string& path : order.writable)
    grant.write_paths.push_back(in_workspace(path));
  grant.read_paths.insert(
      grant.read_paths.end(), grant.write_paths.begin(), grant.write_paths.end());
  std::sort(grant.read_paths.begin(), grant.read_paths.end());
  grant.read_paths.erase(std::unique(grant.read_paths.begin(), grant.read_paths.end()),
                         grant.read_paths.end());
  grant.max_memory_bytes = order.bounds.memory;
  grant.max_wall_ms = static_cast<std::uint64_t>(order.bounds.time.count());
  grant.max_output_bytes = order.bounds.output;
  return grant;
}

BrokerAnswer cancelled() {
  mcp::RunEnd end;
  end.status = mcp::RunEnd::Status::cancelled;
  return end;
}

BrokerAnswer do_read(const BrokerWorld& world,
                     const mcp::ReadText& request,
                     const policy::Permit& permit) {
  auto read = world.workspace().read(permit.path, permit.max_bytes);
  if (const auto* fault = std::get_if<confine::PathFault>(&read))
    return world.refuse(permit.path, *fault, Wanted::text);
  return answer_text(request.path, std::get<confine::ReadFile>(std::move(read)));
}

BrokerAnswer do_list(const BrokerWorld& world,
                     const mcp::ListDir& request,
                     const policy::Permit& permit) {
  confine::Workspace::ListOptions options;
  options.max_depth = permit.max_depth;
  if (request.includes_hidden) options.dotted = confine::Workspace::ListOptions::Dotted::shown;
  auto listed = world.workspace().list(
      permit.path, options, [&world](std::string_view path) { return world.is_hidden(path); });
  if (const auto* fault = std::get_if<confine::PathFault>(&listed))
    return world.refuse(permit.path, *fault, Wanted::folder);
  return answer_list(request.path, std::get<confine::FolderList>(std::move(listed)));
}

std::vector<Operation> offered_by(const policy::BrokerPolicy& policy) {
  std::vector<Operation> offered;
  for (const Operation operation : mcp::kOperations) {
    const bool is_held = policy.needs_approval[static_cast<std::size_t>(operation)];
    if (policy.allows(operation) && !is_held) offered.push_back(operation);
  }
  return offered;
}

}  // namespace

struct Broker::State {
  State(std::unique_ptr<const BrokerWorld> loaded, std::string_view verb)
      : world(std::move(loaded)), offered(offered_by(world->policy())), doing(verb) {}

  void finish(Case about, BrokerAnswer answer);
  void look(Case about, const mcp::BrokerRequest& request, const policy::Permit& permit);
  void enqueue(Case about, Operation operation, Ordered ordered);
  void start_waiting();
  void note_descriptors();

  std::unique_ptr<const BrokerWorld> world;
  std::vector<Operation> offered;
  std::string doing;       // for messages
  std::uint64_t runs = 0;  // begun so far
  std::deque<Waiting> waiting;
  std::list<Running> running;    // a SandboxRun cannot be assigned to
  std::vector<int> descriptors;  // of `running`, in its order
  std::vector<Done> done;
};

void Broker::State::finish(Case about, BrokerAnswer answer) {
  const auto taken =
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - about.begun);
  Done end{about.ticket, std::move(answer), {}, {}, taken, std::move(about.ended_why)};
  if (!std::holds_alternative<Refused>(end.answer)) {
    end.grant = std::move(about.grant);
    end.path = std::move(about.path);
  }
  done.push_back(std::move(end));
}

void Broker::State::look(Case about,
                         const mcp::BrokerRequest& request,
                         const policy::Permit& permit) {
  about.path = in_workspace(permit.path);
  about.grant.read_paths = {*about.path};
  if (const auto* read = std::get_if<mcp::ReadText>(&request.parameters)) {
    about.grant.max_output_bytes = permit.max_bytes;
    return finish(std::move(about), do_read(*world, *read, permit));
  }
  finish(std::move(about), do_list(*world, std::get<mcp::ListDir>(request.parameters), permit));
}

void Broker::State::enqueue(Case about, Operation operation, Ordered ordered) {
  if (auto* refused = std::get_if<Refused>(&ordered))
    return finish(std::move(about), std::move(*refused));
  if (waiting.size() >= kMaxWaiting) {
    return finish(std::move(about),
                  Refused{BrokerCode::operation_not_permitted,
                          std::to_string(kMaxWaiting) +
                              " runs are waiting for their turn already; send it again when some "
                              "of them are done"});
  }
  auto& order = std::get<SandboxOrder>(ordered);
  about.grant = grant_of_run(*world, operation, order);
  waiting.push_back({std::move(about), std::move(order)});
  start_waiting();
}

void Broker::State::start_waiting() {
  while (!waiting.empty() && running.size() < kMaxRuns) {
    Waiting next = std::move(waiting.front());
    waiting.pop_front();
    ++runs;
    if (!next.order.home.empty()) next.order.quarantine = quarantine_of_run(next.order.home, runs);
    auto run = SandboxRun::start(next.order);
    if (run) {
      running.push_back({std::move(next.about), std::move(run).value()});
    } else {
      finish(std::move(next.about), refuse_unbuilt(confine::describe(run.error())));
    }
  }
  note_descriptors();
}

void Broker::State::note_descriptors() {
  descriptors.clear();
  for (const Running& each : running)
    descriptors.push_back(each.run.fd());
}

confine::Result<Broker> Broker::make(const BrokerOptions& options, std::string_view doing) {
  auto world = AEGIS_TRY(BrokerWorld::load(options, doing));
  return Broker(std::make_unique<State>(std::move(world), doing));
}

Broker::Broker(std::unique_ptr<State> state) : state_(std::move(state)) {}
Broker::Broker(Broker&&) noexcept = default;
Broker::~Broker() = default;

std::span<const Operation> Broker::offered() const {
  return state_->offered;
}

const mcp::CatalogueBounds& Broker::bounds() const {
  return state_->world->bounds();
}

const audit::PolicySetHash& Broker::policy_hash() const {
  return state_->world->policy_hash();
}

std::span<const std::string> Broker::revealed() const {
  return state_->world->revealed();
}

const confine::PathGrants& Broker::reach() const {
  return state_->world->reach();
}

std::vector<std::string> Broker::programs() const {
  return state_->world->programs();
}

std::string Broker::describe() const {
  return state_->world->describe();
}

std::optional<Refused> Broker::judge(const mcp::BrokerRequest& request) const {
  policy::Judgement judgement = state_->world->judge(request);
  if (auto* refused = std::get_if<Refused>(&judgement)) return std::move(*refused);
  return std::nullopt;
}

void Broker::begin(Ticket ticket, const mcp::BrokerRequest& request) {
  Case about{ticket, Clock::now()};
  policy::Judgement judgement = state_->world->judge(request);
  if (auto* refused = std::get_if<Refused>(&judgement))
    return state_->finish(std::move(about), std::move(*refused));
  const auto& permit = std::get<policy::Permit>(judgement);
  if (const auto* python = std::get_if<mcp::RunPython>(&request.parameters)) {
    if (python->script_path) about.path = in_workspace(permit.path);
    return state_->enqueue(
        std::move(about), request.operation, order_python(*state_->world, *python, permit));
  }
  if (const auto* command = std::get_if<mcp::RunCommand>(&request.parameters))
    return state_->enqueue(
        std::move(about), request.operation, order_command(*state_->world, *command, permit));
  if (std::holds_alternative<mcp::ShellCommand>(request.parameters)) {
    return state_->finish(std::move(about),
                          Refused{BrokerCode::schema_validation_failure,
                                  "a shell string is only judged (aegis check), never run; give "
                                  "the words in argv",
                                  "parameters.command"});
  }
  state_->look(std::move(about), request, permit);
}

void Broker::cancel(Ticket ticket) {
  auto& waiting = state_->waiting;
  const auto is_it = [ticket](const auto& each) { return each.about.ticket == ticket; };
  if (const auto found = std::find_if(waiting.begin(), waiting.end(), is_it);
      found != waiting.end()) {
    Case about = std::move(found->about);
    waiting.erase(found);
    return state_->finish(std::move(about), cancelled());
  }
  auto& running = state_->running;
  if (const auto found = std::find_if(running.begin(), running.end(), is_it);
      found != running.end())
    found->run.cancel();
}

void Broker::cancel_all() {
  for (Waiting& each : std::exchange(state_->waiting, {}))
    state_->finish(std::move(each.about), cancelled());
  for (Running& each : state_->running)
    each.run.cancel();
}

std::size_t Broker::under_way() const {
  return state_->waiting.size() + state_->running.size();
}

std::span<const int> Broker::descriptors() const {
  return state_->descriptors;
}

void Broker::on_ready(int descriptor) {
  auto& running = state_->running;
  const auto found =
      std::find_if(running.begin(), running.end(), [descriptor](const Running& each) {
        return each.run.fd() == descriptor;
      });
  if (found == running.end()) return;
  auto end = found->run.on_ready();
  if (!end) return;
  Case about = std::move(found->about);
  running.erase(found);
  for (const std::string& note : end->notes)
    log(state_->doing + ": " + note);
  if (end->how == confine::SandboxEnd::How::cancelled) about.ended_why = end->why;
  state_->finish(std::move(about), answer_end(*std::move(end)));
  state_->start_waiting();
}

std::vector<Broker::Done> Broker::take_done() {
  return std::exchange(state_->done, {});
}

}  // namespace aegis::wrap
