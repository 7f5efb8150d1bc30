// SPDX-License-Identifier: Apache-2.0 OR MIT
// What was compiled with aegis is what would be compiled now, whatever is asked for.
#include "confine/ready_filters.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <doctest/doctest.h>

namespace {

using namespace aegis::confine;  // NOLINT(google-build-using-namespace): the table's own words

constexpr std::array kTiers{Tier::full, Tier::landlock};
constexpr std::array kNetworks{Network::none, Network::granted, Network::unconfined};
constexpr std::array kSockets{FilterOptions::Sockets::refuse,
                              FilterOptions::Sockets::leave_to_listener};
constexpr int kNewestAbi = 8;

/// Calls `once` with every choice that there is.
template <typename Once>
void for_all_options(Once once) {
  for (const Tier tier : kTiers) {
    for (const Network network : kNetworks) {
      for (const auto sockets : kSockets) {
        for (int abi = 0; abi <= kNewestAbi; ++abi)
          once(FilterOptions{tier, network, abi, sockets});
      }
    }
  }
}

bool are_equal(const Filter& one, const Filter& other) {
  return one.size() == other.size() && std::equal(one.program().begin(),
                                                  one.program().end(),
                                                  other.program().begin(),
                                                  other.program().end());
}

TEST_CASE("a filter that is taken is the one that would be compiled, for every choice") {
  std::size_t taken = 0;
  for_all_options([&taken](const FilterOptions& options) {
    const Result<Filter> made = Filter::make(options);
    const Result<Filter> compiled = Filter::compile(options);
    REQUIRE(static_cast<bool>(made) == static_cast<bool>(compiled));
    if (!compiled) return;
    CAPTURE(to_string(options.tier));
    CAPTURE(static_cast<int>(options.network));
    CAPTURE(options.landlock_abi);
    CHECK(are_equal(*made, *compiled));
    ++taken;
  });
  CHECK(taken > ready_filters().size());
}

TEST_CASE("what is asked for by default is ready, and each row once") {
  const auto is_ready = [](const FilterOptions& options) {
    return std::count_if(
        ready_filters().begin(), ready_filters().end(), [&options](const ReadyFilter& ready) {
          return ready.options.is_like(options);
        });
  };
  if (ready_filters().empty()) {
    MESSAGE("skipped: built for another architecture, so no filter is ready");
    return;
  }
  CHECK(is_ready({}) == 1);
  for_all_options([&is_ready](const FilterOptions& options) { CHECK(is_ready(options) <= 1); });
}

}  // namespace
