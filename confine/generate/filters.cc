// SPDX-License-Identifier: Apache-2.0 OR MIT
// Runs while aegis is built, and is no part of it: compiles the filter for the choices that are
// made often and writes them to stdout, as the rows of confine/ready_filters.h.
#include <array>
#include <cstddef>
#include <iomanip>
#include <iostream>

#include "confine/result.h"
#include "confine/seccomp.h"

namespace {

using aegis::confine::Filter;
using aegis::confine::FilterOptions;
using aegis::confine::Network;
using aegis::confine::Result;
using aegis::confine::Tier;

struct Choice {
  FilterOptions options;
  const char* text;
};

// With a Landlock ABI of today's kernels: older ones need a filter of their own only with the
// host's network (FilterOptions::is_like), and have it compiled.
constexpr std::array<Choice, 4> kChoices{{
    {{Tier::full, Network::none, 6, FilterOptions::Sockets::refuse},
     "Tier::full, Network::none, 6, FilterOptions::Sockets::refuse"},
    {{Tier::full, Network::granted, 6, FilterOptions::Sockets::leave_to_listener},
     "Tier::full, Network::granted, 6, FilterOptions::Sockets::leave_to_listener"},
    {{Tier::full, Network::unconfined, 6, FilterOptions::Sockets::refuse},
     "Tier::full, Network::unconfined, 6, FilterOptions::Sockets::refuse"},
    {{Tier::landlock, Network::none, 6, FilterOptions::Sockets::refuse},
     "Tier::landlock, Network::none, 6, FilterOptions::Sockets::refuse"},
}};

void print(std::size_t index, const Filter& filter) {
  constexpr std::size_t kInLine = 4;
  constexpr int kDigits = 16;
  std::cout << "constexpr std::uint64_t kProgram" << index << "[] = {";
  std::size_t column = 0;
  for (const std::uint64_t word : filter.program()) {
    std::cout << (column++ % kInLine == 0 ? "\n    " : " ") << "0x" << std::hex << std::setfill('0')
              << std::setw(kDigits) << word << std::dec << "U,";
  }
  std::cout << "\n};\n";
}

}  // namespace

int main() {
  for (std::size_t i = 0; i < kChoices.size(); ++i) {
    const Result<Filter> filter = Filter::compile(kChoices[i].options);
    if (!filter) {
      std::cerr << "aegis_make_filters: " << describe(filter.error()) << '\n';
      return 1;
    }
    print(i, *filter);
  }
  std::cout << "constexpr ReadyFilter kReady[] = {\n";
  for (std::size_t i = 0; i < kChoices.size(); ++i)
    std::cout << "    {{" << kChoices[i].text << "}, kProgram" << i << "},\n";
  std::cout << "};\n" << std::flush;
  return std::cout ? 0 : 1;
}
