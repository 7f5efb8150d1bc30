// SPDX-License-Identifier: Apache-2.0 OR MIT
// Distance between words (optimal string alignment), and how near is near enough.
#include "wrap/suggest.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace aegis::wrap {

std::size_t edit_distance(std::string_view left, std::string_view right) {
  // Rows of the usual table: for the last two prefixes of `left`, and the one being made.
  std::vector<std::size_t> before(right.size() + 1);
  std::vector<std::size_t> last(right.size() + 1);
  std::vector<std::size_t> now(right.size() + 1);
  for (std::size_t j = 0; j <= right.size(); ++j)
    last[j] = j;
  for (std::size_t i = 1; i <= left.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= right.size(); ++j) {
      const std::size_t change = left[i - 1] == right[j - 1] ? 0 : 1;
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + change});
      const bool is_swap =
          i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
      if (is_swap) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[right.size()];
}

std::string did_you_mean(std::string_view word, std::span<const std::string> known) {
  constexpr std::size_t kLongest = 64;  // nobody mistypes one of ours into more
  const std::string* nearest = nullptr;
  // A third of the letters may be wrong, and always one.
  std::size_t limit = std::max<std::size_t>(1, word.size() / 3);
  if (word.size() > kLongest) return {};
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance > limit || (nearest != nullptr && distance == limit)) continue;
    limit = distance;
    nearest = &candidate;
  }
  return nearest == nullptr ? std::string() : "; did you mean " + *nearest + "?";
}

}  // namespace aegis::wrap
