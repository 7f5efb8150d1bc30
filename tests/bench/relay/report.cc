// SPDX-License-Identifier: Apache-2.0 OR MIT
// Formats; computes nothing.
#include "tests/bench/relay/report.h"

#include <cmath>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <string>

#include "tests/bench/relay/rows.h"

namespace aegis::relay_bench {
namespace {

constexpr int kNameWidth = 34;
constexpr int kUnitWidth = 7;
constexpr int kCellWidth = 16;
constexpr int kMeasureWidth = 36;

/// Three digits that mean something.
std::string short_number(double value) {
  const double size = std::abs(value);
  std::ostringstream out;
  out << std::fixed << std::setprecision(size < 10 ? 2 : size < 100 ? 1 : 0) << value;
  return out.str();
}

std::string cell_text(const std::optional<Cell>& cell) {
  if (!cell) return "-";
  return short_number(cell->p50) + " (" + short_number(cell->p99) + ")";
}

const char* sign_of(Sense sense) {
  return sense == Sense::at_most ? "<=" : ">=";
}

void print_row(std::ostream& out, const Row& row) {
  out << std::left << std::setw(kNameWidth) << row.name << std::setw(kUnitWidth) << row.unit
      << std::right;
  for (const std::optional<Cell>& cell : {row.direct, row.bare, row.aegis}) {
    out << std::setw(kCellWidth) << cell_text(cell);
  }
  std::string measured = short_number(row.measured);
  if (row.spread > 0) measured += " +- " + short_number(row.spread);
  out << "   " << std::left << std::setw(kMeasureWidth) << measured + ' ' + row.measure
      << sign_of(row.bar.sense) << ' ' << std::setw(6) << short_number(row.bar.value)
      << (row.is_met() ? "met" : "MISSED") << '\n';
}

void print_floor(std::ostream& out, const char* what, const Samples& samples) {
  constexpr double kMicros = 1e6;
  out << "floor: " << what << " " << short_number(samples.at(0.5) * kMicros) << " us ("
      << short_number(samples.at(0.99) * kMicros) << ")\n";
}

/// No bar: what a sync on the way and the bytes of a record cost a client, whoever writes them.
void print_recording(std::ostream& out, const Figures& figures) {
  const Samples& recording = figures.of(Workload::paused_call, Subject::recording);
  print_floor(
      out, "a call, paused, through a bare relay that records as many bytes as aegis,", recording);
  const double bare = figures.of(Workload::paused_call, Subject::bare).at(0.5);
  out << "  which is " << short_number((recording.at(0.5) - bare) / figures.sync.at(0.5))
      << " syncs over bare\n";
}

void print_memory(std::ostream& out, const char* what, const Memory& memory) {
  constexpr double kKibPerMib = 1024;
  out << "memory " << what << ": " << memory.processes << " processes, RSS "
      << short_number(static_cast<double>(memory.rss_kib) / kKibPerMib) << " MiB, PSS "
      << short_number(static_cast<double>(memory.pss_kib) / kKibPerMib) << " MiB, largest ever RSS "
      << short_number(static_cast<double>(memory.peak_kib) / kKibPerMib) << " MiB\n";
}

void put(std::ostream& out, const char* name, const std::optional<Cell>& cell) {
  out << ",\"" << name << "\":";
  if (!cell) {
    out << "null";
    return;
  }
  out << "{\"p50\":" << cell->p50 << ",\"p99\":" << cell->p99 << '}';
}

void put(std::ostream& out, const Row& row) {
  // No text of ours needs an escape.
  const std::size_t first = row.name.find_first_not_of(' ');
  out << "{\"name\":\"" << row.name.substr(first) << "\",\"unit\":\"" << row.unit << '"';
  put(out, "direct", row.direct);
  put(out, "bare", row.bare);
  put(out, "aegis", row.aegis);
  out << ",\"measured\":" << row.measured << ",\"measure\":\"" << row.measure
      << "\",\"spread\":" << row.spread << ",\"sense\":\"" << sign_of(row.bar.sense)
      << "\",\"bar\":" << row.bar.value << ",\"met\":" << (row.is_met() ? "true" : "false") << '}';
}

void put(std::ostream& out, const Memory& memory) {
  out << "{\"processes\":" << memory.processes << ",\"rss_kib\":" << memory.rss_kib
      << ",\"pss_kib\":" << memory.pss_kib << ",\"peak_kib\":" << memory.peak_kib << '}';
}

}  // namespace

void print_table(std::ostream& out, const Setup& setup, const Figures& figures) {
  out << (setup.aegis.empty() ? "self-check: a second bare relay in aegis's place" : setup.aegis)
      << "; " << setup.rounds << " rounds in " << short_number(figures.seconds)
      << " s; client on core " << setup.client_core << ", all else on core " << setup.other_core
      << "; p50 (p99)\n";
  print_floor(out, "one signature of 1,200 bytes", figures.sign);
  print_floor(out, "append of 500 bytes + fdatasync, after the same pause,", figures.sync);
  print_recording(out, figures);
  print_memory(out, "idle", figures.idle);
  print_memory(out, "after 48 MiB answers", figures.after_large);
  out << '\n'
      << std::left << std::setw(kNameWidth) << "" << std::setw(kUnitWidth) << "" << std::right;
  for (const char* head : {"direct", "bare relay", "aegis"})
    out << std::setw(kCellWidth) << head;
  out << "   " << std::left << std::setw(kMeasureWidth) << "measured"
      << "bar\n";
  for (const Row& row : judge(figures))
    print_row(out, row);
}

void print_json(std::ostream& out, const Setup& setup, const Figures& figures) {
  out << "{\"self_check\":" << (setup.aegis.empty() ? "true" : "false")
      << ",\"rounds\":" << setup.rounds << ",\"seconds\":" << figures.seconds
      << ",\"client_core\":" << setup.client_core << ",\"other_core\":" << setup.other_core
      << ",\"sign_us\":" << figures.sign.at(0.5) * 1e6
      << ",\"sync_us\":" << figures.sync.at(0.5) * 1e6
      << ",\"recording_us\":" << figures.of(Workload::paused_call, Subject::recording).at(0.5) * 1e6
      << ",\"idle\":";
  put(out, figures.idle);
  out << ",\"after_large\":";
  put(out, figures.after_large);
  out << ",\"rows\":[";
  const char* comma = "";
  for (const Row& row : judge(figures)) {
    out << comma;
    put(out, row);
    comma = ",";
  }
  out << "]}\n";
}

}  // namespace aegis::relay_bench
