// SPDX-License-Identifier: Apache-2.0 OR MIT
// What is wrong with, or worth knowing about, a policy text, and where.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace aegis::policy {

struct Diagnostic {
  enum class Severity { error, warning };  // a warning does not stop the policy from being used
  Severity severity;
  std::size_t line;     // from 1; 0 when it concerns the whole text
  std::size_t column;   // from 1, in code points
  std::string field;    // path of the member, such as "rules[2].rate.max"; empty for the whole text
  std::string message;  // what is wrong and what is expected
};

/// "FILE:3:5: rules[2].rate: ..." — one line, no final newline.
std::string describe(const Diagnostic& diagnostic, std::string_view file);

}  // namespace aegis::policy
