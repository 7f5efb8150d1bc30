// SPDX-License-Identifier: Apache-2.0 OR MIT
// The broker's words never vary: they are spelled out here once more.
#include "mcp/operation.h"

#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace aegis::mcp;

TEST_CASE("operations have their tools' names, and are found by them alone") {
  std::vector<std::string_view> names;
  for (const Operation operation : kOperations) {
    names.push_back(to_string(operation));
    CHECK(parse_operation(to_string(operation)) == operation);
  }
  CHECK(names ==
        std::vector<std::string_view>{"read_text", "list_dir", "run_python", "run_command"});
  for (const std::string_view name : {"", "read", "Read_text", "read_text ", "run_shell"})
    CHECK_FALSE(parse_operation(name));
}

TEST_CASE("codes are words that programs match") {
  std::vector<std::string_view> words;
  for (const BrokerCode code : {BrokerCode::path_boundary_violation,
                                BrokerCode::sensitive_target_denied,
                                BrokerCode::schema_validation_failure,
                                BrokerCode::operation_not_permitted,
                                BrokerCode::approval_required,
                                BrokerCode::timeout_limit_exceeded,
                                BrokerCode::output_limit_exceeded,
                                BrokerCode::sandbox_unavailable}) {
    words.push_back(to_string(code));
  }
  CHECK(words == std::vector<std::string_view>{"PATH_BOUNDARY_VIOLATION",
                                               "SENSITIVE_TARGET_DENIED",
                                               "SCHEMA_VALIDATION_FAILURE",
                                               "OPERATION_NOT_PERMITTED",
                                               "APPROVAL_REQUIRED",
                                               "TIMEOUT_LIMIT_EXCEEDED",
                                               "OUTPUT_LIMIT_EXCEEDED",
                                               "SANDBOX_UNAVAILABLE"});
}
