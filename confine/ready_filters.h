// SPDX-License-Identifier: Apache-2.0 OR MIT
// Filters that were compiled when aegis was: what Filter::compile would make takes libseccomp 0.4
// ms and 45 fresh pages each time, and depends on nothing but its options. Made by
// confine/filters.cmake; tests/confine/ready_filters_test.cc holds each to what is compiled.
#pragma once

#include <cstdint>
#include <span>

#include "confine/seccomp.h"

namespace aegis::confine {

struct ReadyFilter {
  FilterOptions options;
  std::span<const std::uint64_t> program;  // as Filter::program()
};

/// Every row that this build has; none where the machine that builds is not one that aegis runs on.
std::span<const ReadyFilter> ready_filters();

}  // namespace aegis::confine
