// SPDX-License-Identifier: Apache-2.0 OR MIT
// The judged rows as text for people and as one JSON object for programs.
#pragma once

#include <iosfwd>

#include "tests/bench/relay/measure.h"

namespace aegis::relay_bench {

void print_table(std::ostream& out, const Setup& setup, const Figures& figures);
void print_json(std::ostream& out, const Setup& setup, const Figures& figures);

}  // namespace aegis::relay_bench
