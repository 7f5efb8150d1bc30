// SPDX-License-Identifier: Apache-2.0 OR MIT
// The table of bars.
#include "tests/bench/relay/rows.h"

#include <algorithm>

namespace aegis::relay_bench {
namespace {

/// Medians in seconds, of a whole run or of one round.
struct Medians {
  double direct;
  double bare;
  double aegis;
  double sign;
  double sync;
};

/// What a bar compares, and its name behind the number.
struct Comparison {
  const char* words;
  double (*of)(const Medians&);
};
constexpr Comparison kTimesBare{"x bare", [](const Medians& m) { return m.aegis / m.bare; }};
constexpr Comparison kSignaturesOverBare{
    "signatures over bare", [](const Medians& m) { return (m.aegis - m.bare) / m.sign; }};
constexpr Comparison kSyncsOverBare{"syncs over bare",
                                    [](const Medians& m) { return (m.aegis - m.bare) / m.sync; }};
constexpr Comparison kOfSigningRate{"of the signing rate",
                                    [](const Medians& m) { return m.sign / m.aegis; }};
constexpr Comparison kOfBareRate{"of bare's rate",
                                 [](const Medians& m) { return m.bare / m.aegis; }};
constexpr Comparison kMillisecondsOverDirect{
    "ms over direct", [](const Medians& m) { return (m.aegis - m.direct) * 1e3; }};

struct Unit {
  const char* name;
  double per_second;  // a time is seconds * this; a rate is this / seconds
  bool is_rate;
};
constexpr Unit kMicros{"us", 1e6, false};
constexpr Unit kMillis{"ms", 1e3, false};
constexpr Unit kThousandCalls{"1000/s", 1e-3, true};
constexpr Unit kMegabytes1{"MB/s", kMiB * 1e-6, true};
constexpr Unit kMegabytes48{"MB/s", 48 * kMiB * 1e-6, true};

constexpr Bar at_most(double value) {
  return {value, Sense::at_most};
}
constexpr Bar at_least(double value) {
  return {value, Sense::at_least};
}

struct Spec {
  const char* name;
  Unit unit;
  Comparison comparison;
  Bar bar;
  Workload workload;
  Subject aegis;
};

using W = Workload;
using S = Subject;
constexpr Spec kSpecs[] = {
    {"relayed message, back to back", kMicros, kTimesBare, at_most(1.25), W::ping, S::call},
    {"recorded call, off, paused", kMicros, kTimesBare, at_most(1.5), W::paused_call, S::off},
    {"  with 200 rules", kMicros, kTimesBare, at_most(1.6), W::paused_call, S::policy},
    {"recorded call, off, back to back",
     kMicros,
     kSignaturesOverBare,
     at_most(1.3),
     W::hot_call,
     S::off},
    {"  with 200 rules", kMicros, kSignaturesOverBare, at_most(1.3), W::hot_call, S::policy},
    {"recorded call, call, paused",
     kMicros,
     kSyncsOverBare,
     at_most(1.25),
     W::paused_call,
     S::call},
    {"64 calls in flight, call",
     kThousandCalls,
     kOfSigningRate,
     at_least(0.5),
     W::in_flight,
     S::call},
    {"1 MiB answer, call", kMegabytes1, kOfBareRate, at_least(0.25), W::answer_1m, S::call},
    {"48 MiB answer, call", kMegabytes48, kOfBareRate, at_least(0.25), W::answer_48m, S::call},
    {"start to first relayed byte",
     kMillis,
     kMillisecondsOverDirect,
     at_most(5),
     W::start,
     S::call},
};

double in_unit(const Unit& unit, double seconds) {
  if (!unit.is_rate) return seconds * unit.per_second;
  return seconds > 0 ? unit.per_second / seconds : 0;
}

Cell cell(const Unit& unit, const Samples& samples) {
  return {in_unit(unit, samples.at(0.5)), in_unit(unit, samples.at(0.99))};
}

/// Half the interquartile range of the comparison, made within each round.
double spread_of(const Figures& figures, const Spec& spec) {
  std::vector<double> values;
  const Samples& aegis = figures.of(spec.workload, spec.aegis);
  for (std::size_t i = 0; i < aegis.round_count(); ++i) {
    values.push_back(spec.comparison.of({figures.of(spec.workload, Subject::direct).round_median(i),
                                         figures.of(spec.workload, Subject::bare).round_median(i),
                                         aegis.round_median(i),
                                         figures.sign.round_median(i),
                                         figures.sync.round_median(i)}));
  }
  return (percentile(values, 0.75) - percentile(values, 0.25)) / 2;
}

Row row_of(const Figures& figures, const Spec& spec) {
  const Samples& direct = figures.of(spec.workload, Subject::direct);
  const Samples& bare = figures.of(spec.workload, Subject::bare);
  const Samples& aegis = figures.of(spec.workload, spec.aegis);
  const Medians medians{
      direct.at(0.5), bare.at(0.5), aegis.at(0.5), figures.sign.at(0.5), figures.sync.at(0.5)};
  return {spec.name,
          spec.unit.name,
          cell(spec.unit, direct),
          cell(spec.unit, bare),
          cell(spec.unit, aegis),
          spec.comparison.of(medians),
          spec.comparison.words,
          spread_of(figures, spec),
          spec.bar};
}

Row memory_row(const Memory& idle) {
  constexpr double kKibPerMib = 1024;
  constexpr double kBar = 10;
  const double mib = static_cast<double>(idle.rss_kib) / kKibPerMib;
  return {"idle memory after 100 calls",
          "MiB",
          {},
          {},
          Cell{mib, mib},
          mib,
          "MiB RSS",
          0,
          at_most(kBar)};
}

}  // namespace

std::vector<Row> judge(const Figures& figures) {
  std::vector<Row> rows;
  for (const Spec& spec : kSpecs)
    rows.push_back(row_of(figures, spec));
  rows.push_back(memory_row(figures.idle));
  return rows;
}

}  // namespace aegis::relay_bench
