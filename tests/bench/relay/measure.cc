// SPDX-License-Identifier: Apache-2.0 OR MIT
// The table of blocks and the loop over them.
#include "tests/bench/relay/measure.h"

#include <unistd.h>

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "tests/bench/relay/client.h"
#include "tests/bench/relay/clock.h"
#include "tests/bench/relay/floor.h"

namespace aegis::relay_bench {
namespace {

/// Longest that one round may take before the run is given up as hung (SIGALRM ends it).
constexpr unsigned kRoundSeconds = 120;
/// Before each block: what the subject before still does on the other core (giving back a large
/// buffer, say) must not be counted against this one.
constexpr useconds_t kSettleMicros = 20'000;
/// Long enough for aegis to have synced what it still owes and to be idle.
constexpr useconds_t kIdleMicros = 200'000;

enum class Pause : std::uint8_t { no, yes };

/// One workload's share of a round. The warm-up is done and dropped: other subjects have had the
/// caches since.
struct Block {
  Workload workload;
  Pause pause;
  int warm_up;
  int count;
  double (*once)(Client&);
  std::initializer_list<Subject> subjects;
};

double pipeline(Client& client) {
  constexpr std::size_t kCalls = 512;
  return client.calls_in_flight(kCalls, kWindow) / static_cast<double>(kCalls);
}

using S = Subject;
constexpr Block kBlocks[] = {
    {Workload::ping,
     Pause::no,
     20,
     200,
     [](Client& client) { return client.ping(); },
     {S::direct, S::bare, S::call}},
    {Workload::paused_call,
     Pause::yes,
     20,
     150,
     [](Client& client) { return client.call(); },
     {S::direct, S::bare, S::recording, S::off, S::policy, S::call}},
    {Workload::hot_call,
     Pause::no,
     20,
     150,
     [](Client& client) { return client.call(); },
     {S::direct, S::bare, S::off, S::policy}},
    {Workload::in_flight, Pause::no, 1, 4, pipeline, {S::direct, S::bare, S::call}},
    {Workload::answer_1m,
     Pause::no,
     2,
     8,
     [](Client& client) { return client.call_for(kMiB); },
     {S::direct, S::bare, S::call}},
    {Workload::answer_48m,
     Pause::no,
     0,
     1,
     [](Client& client) { return client.call_for(48 * kMiB); },
     {S::direct, S::bare, S::call}},
};

class Run {
 public:
  explicit Run(const Setup& setup) : setup_(setup), floor_(floor_program(setup)) {
    for (std::size_t i = 0; i < kSubjects; ++i) {
      clients_.emplace_back(program_of(setup, static_cast<Subject>(i)));
    }
    if (!setup.aegis.empty()) check_denies(client(Subject::policy));
  }

  void round(std::size_t number) {
    ::alarm(kRoundSeconds);
    for (const Block& block : kBlocks) {
      run_block(block, number);
      // Right beside the calls that it is the floor of: after the rest of a round the disk is
      // faster.
      if (block.workload == Workload::paused_call) run_floors();
    }
    run_starts(number);
  }

  Figures finish() {
    figures_.idle = idle_memory();
    ::usleep(kIdleMicros);
    figures_.after_large = memory_of(client(Subject::call).session().pid());
    floor_.end();
    for (Client& one : clients_)
      one.session().end();
    if (setup_.aegis.empty()) return std::move(figures_);
    for (const Subject subject : {Subject::off, Subject::policy, Subject::call}) {
      check_record(setup_, subject, client(subject).calls());
    }
    return std::move(figures_);
  }

 private:
  Client& client(Subject subject) { return clients_[static_cast<std::size_t>(subject)]; }
  Samples& samples(Workload workload, Subject subject) {
    return figures_.times[static_cast<std::size_t>(workload)][static_cast<std::size_t>(subject)];
  }

  /// Who runs after whom must not matter: each round begins with another subject, and every second
  /// one goes through them backwards.
  static std::size_t turn(std::size_t i, std::size_t count, std::size_t round) {
    return ((round % 2 == 0 ? i : count - 1 - i) + round) % count;
  }

  void run_block(const Block& block, std::size_t round) {
    for (std::size_t i = 0; i < block.subjects.size(); ++i) {
      const Subject subject = block.subjects.begin()[turn(i, block.subjects.size(), round)];
      Samples& into = samples(block.workload, subject);
      into.begin_round();
      ::usleep(kSettleMicros);
      for (int done = -block.warm_up; done < block.count; ++done) {
        if (block.pause == Pause::yes) spin(kPause);
        const double seconds = block.once(client(subject));
        if (done >= 0) into.add(seconds);
      }
    }
  }

  void run_starts(std::size_t round) {
    constexpr int kStarts = 4;
    const std::vector<Program> programs{
        program_of(setup_, Subject::direct), program_of(setup_, Subject::bare), plain_wrap(setup_)};
    constexpr Subject kAs[] = {Subject::direct, Subject::bare, Subject::call};
    for (std::size_t i = 0; i < programs.size(); ++i) {
      const std::size_t at = turn(i, programs.size(), round);
      Samples& into = samples(Workload::start, kAs[at]);
      into.begin_round();
      // The first one ever makes the signing key; warm-up drops it.
      for (int done = -1; done < kStarts; ++done) {
        const double start = now();
        Client fresh(programs[at]);
        fresh.ping();
        const double seconds = now() - start;
        if (done >= 0) into.add(seconds);
        fresh.session().end();
      }
    }
  }

  void run_floors() {
    constexpr int kWarmUp = 10;
    constexpr int kSyncs = 100;
    figures_.sign.begin_round();
    floor_.sign(figures_.sign);
    figures_.sync.begin_round();
    for (int done = -kWarmUp; done < kSyncs; ++done) {
      // A relayed call lies between two syncs of aegis as well: without it the disk and the core
      // would have rested a quarter less, and be the faster for it.
      client(Subject::bare).call();
      spin(kPause);
      const double seconds = floor_.sync();
      if (done >= 0) figures_.sync.add(seconds);
    }
  }

  Memory idle_memory() {
    constexpr int kCalls = 100;
    Client fresh(plain_wrap(setup_));
    for (int i = 0; i < kCalls; ++i)
      fresh.call();
    ::usleep(kIdleMicros);
    const Memory memory = memory_of(fresh.session().pid());
    fresh.session().end();
    return memory;
  }

  const Setup& setup_;
  Floor floor_;
  std::vector<Client> clients_;  // by Subject
  Figures figures_;
};

}  // namespace

Figures measure(const Setup& setup) {
  const double start = now();
  pin_to(setup.client_core);
  prepare(setup);
  Run run(setup);
  for (int i = 0; i < setup.rounds; ++i)
    run.round(static_cast<std::size_t>(i));
  Figures figures = run.finish();
  figures.seconds = now() - start;
  return figures;
}

}  // namespace aegis::relay_bench
