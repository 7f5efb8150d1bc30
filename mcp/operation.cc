// SPDX-License-Identifier: Apache-2.0 OR MIT
// The words, once each.
#include "mcp/operation.h"

namespace aegis::mcp {

std::string_view to_string(Operation operation) {
  switch (operation) {
    case Operation::read_text:
      return "read_text";
    case Operation::list_dir:
      return "list_dir";
    case Operation::run_python:
      return "run_python";
    case Operation::run_command:
      return "run_command";
  }
  return "read_text";
}

std::optional<Operation> parse_operation(std::string_view name) {
  for (const Operation operation : kOperations) {
    if (to_string(operation) == name) return operation;
  }
  return std::nullopt;
}

std::string_view to_string(BrokerCode code) {
  switch (code) {
    case BrokerCode::path_boundary_violation:
      return "PATH_BOUNDARY_VIOLATION";
    case BrokerCode::sensitive_target_denied:
      return "SENSITIVE_TARGET_DENIED";
    case BrokerCode::schema_validation_failure:
      return "SCHEMA_VALIDATION_FAILURE";
    case BrokerCode::operation_not_permitted:
      return "OPERATION_NOT_PERMITTED";
    case BrokerCode::approval_required:
      return "APPROVAL_REQUIRED";
    case BrokerCode::timeout_limit_exceeded:
      return "TIMEOUT_LIMIT_EXCEEDED";
    case BrokerCode::output_limit_exceeded:
      return "OUTPUT_LIMIT_EXCEEDED";
    case BrokerCode::sandbox_unavailable:
      return "SANDBOX_UNAVAILABLE";
  }
  return "OPERATION_NOT_PERMITTED";
}

}  // namespace aegis::mcp
