// SPDX-License-Identifier: Apache-2.0 OR MIT
// The one form in which a diagnostic reaches people.
#include "policy/diagnostic.h"

#include "mcp/json/printable.h"

namespace aegis::policy {

std::string describe(const Diagnostic& diagnostic, std::string_view file) {
  std::string out = mcp::json::printable(file);
  if (diagnostic.line != 0) {
    out += ':' + std::to_string(diagnostic.line) + ':' + std::to_string(diagnostic.column);
  }
  out += ": ";
  if (diagnostic.severity == Diagnostic::Severity::warning) out += "warning: ";
  if (!diagnostic.field.empty()) out += diagnostic.field + ": ";
  return out += diagnostic.message;
}

}  // namespace aegis::policy
