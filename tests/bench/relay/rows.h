// SPDX-License-Identifier: Apache-2.0 OR MIT
// Figures into judged rows: what each bar compares with what.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/bench/relay/measure.h"

namespace aegis::relay_bench {

struct Cell {
  double p50;
  double p99;  // the worse end: of a rate, what the slowest hundredth came to
};

enum class Sense : std::uint8_t { at_most, at_least };
struct Bar {
  double value;
  Sense sense;
};

struct Row {
  std::string name;
  std::string unit;  // of the cells
  std::optional<Cell> direct;
  std::optional<Cell> bare;
  std::optional<Cell> aegis;
  double measured;
  std::string measure;  // what `measured` is: "x bare" and its kin
  /// Half the distance between the quartiles of `measured` taken round by round: how far to trust
  /// it.
  double spread;
  Bar bar;

  [[nodiscard]] bool is_met() const {
    return bar.sense == Sense::at_most ? measured <= bar.value : measured >= bar.value;
  }
};

std::vector<Row> judge(const Figures& figures);

}  // namespace aegis::relay_bench
