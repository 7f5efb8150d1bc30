// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a record's line claims to be when it is no Line of the format: torn, of another version, not
// canonical. Enough to say that a call stands there which nobody can answer for; never enough to
// judge one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace aegis::policy {

struct LooseLine {
  bool is_json = false;  // one complete JSON value; else all that is below comes from what stands
                         // before the flaw
  bool is_outcome =
      false;  // any of its line_type says so, or without one, phase, as schema 1 had it
  bool is_open = false;
  bool is_other_schema = false;  // any of its schema_version is a number other than 2
  std::string call_id;
  std::uint64_t seq = 0;
};

/// `line` may be any bytes.
LooseLine read_loosely(std::string_view line);

}  // namespace aegis::policy
