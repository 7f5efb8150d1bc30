// SPDX-License-Identifier: Apache-2.0 OR MIT
// Which filter a program gets: one that was compiled with aegis, where there is one.
#include "confine/ready_filters.h"

namespace aegis::confine {

Result<Filter> Filter::make(const FilterOptions& options) {
  for (const ReadyFilter& ready : ready_filters()) {
    if (!ready.options.is_like(options)) continue;
    Filter filter;
    filter.program_.assign(ready.program.begin(), ready.program.end());
    filter.instructions_ = ready.program.size();
    return filter;
  }
  return compile(options);
}

}  // namespace aegis::confine
