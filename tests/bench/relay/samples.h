// SPDX-License-Identifier: Apache-2.0 OR MIT
// Durations of one thing, round by round. No mean anywhere: one descheduled call would move it.
#pragma once

#include <cstddef>
#include <vector>

namespace aegis::relay_bench {

/// Nearest rank; `share` in [0, 1]. 0 for an empty list.
double percentile(std::vector<double> values, double share);

class Samples {
 public:
  void add(double seconds) { rounds_.back().push_back(seconds); }
  void begin_round() { rounds_.emplace_back(); }

  [[nodiscard]] bool empty() const { return rounds_.empty(); }
  [[nodiscard]] std::size_t round_count() const { return rounds_.size(); }
  /// Over all rounds.
  [[nodiscard]] double at(double share) const;
  [[nodiscard]] double round_median(std::size_t round) const {
    return percentile(rounds_[round], 0.5);
  }

 private:
  std::vector<std::vector<double>> rounds_;
};

}  // namespace aegis::relay_bench
