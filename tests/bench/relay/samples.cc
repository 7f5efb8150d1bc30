// SPDX-License-Identifier: Apache-2.0 OR MIT
// Order statistics; nothing is sorted before somebody asks.
#include "tests/bench/relay/samples.h"

#include <algorithm>
#include <cmath>

namespace aegis::relay_bench {

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto rank =
      static_cast<std::ptrdiff_t>(std::ceil(share * static_cast<double>(values.size())));
  const auto at = values.begin() + std::max<std::ptrdiff_t>(rank - 1, 0);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

double Samples::at(double share) const {
  std::vector<double> all;
  for (const std::vector<double>& round : rounds_)
    all.insert(all.end(), round.begin(), round.end());
  return percentile(std::move(all), share);
}

}  // namespace aegis::relay_bench
