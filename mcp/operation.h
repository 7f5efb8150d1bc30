// SPDX-License-Identifier: Apache-2.0 OR MIT
// The broker's operations and the codes of its refusals: the words that a request, a policy, a
// tools/list and a record share. It decides nothing.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace aegis::mcp {

enum class Operation : std::uint8_t { read_text, list_dir, run_python, run_command };
inline constexpr std::array<Operation, 4> kOperations{
    Operation::read_text, Operation::list_dir, Operation::run_python, Operation::run_command};

/// "read_text" and so on: the tool's name, too.
std::string_view to_string(Operation operation);
std::optional<Operation> parse_operation(std::string_view name);

/// Why the broker refuses, or ended, an operation. The words never vary: programs match them.
enum class BrokerCode : std::uint8_t {
  path_boundary_violation,
  sensitive_target_denied,
  schema_validation_failure,
  operation_not_permitted,
  approval_required,
  timeout_limit_exceeded,
  output_limit_exceeded,
  sandbox_unavailable,
};
/// "PATH_BOUNDARY_VIOLATION" and so on.
std::string_view to_string(BrokerCode code);

}  // namespace aegis::mcp
