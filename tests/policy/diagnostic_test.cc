// SPDX-License-Identifier: Apache-2.0 OR MIT
// The form of diagnostics.
#include "policy/diagnostic.h"

#include <doctest/doctest.h>

namespace aegis::policy {
namespace {

using Severity = Diagnostic::Severity;

TEST_CASE("a diagnostic names file, line, column and field, as far as there are any") {
  CHECK(describe({Severity::error, 3, 5, "rules[2].rate", "is missing"}, "p.yaml") ==
        "p.yaml:3:5: rules[2].rate: is missing");
  CHECK(describe({Severity::error, 3, 5, "", "no"}, "p.yaml") == "p.yaml:3:5: no");
  CHECK(describe({Severity::error, 0, 0, "", "too large"}, "p.yaml") == "p.yaml: too large");
}

TEST_CASE("a warning says that it is one") {
  CHECK(describe({Severity::warning, 3, 5, "rules[2]", "never decides"}, "p.yaml") ==
        "p.yaml:3:5: warning: rules[2]: never decides");
}

TEST_CASE("a file's name cannot send escape sequences to the terminal") {
  CHECK(describe({Severity::error, 0, 0, "", "no"}, "a\x1B[31m\n") == "a\\u001b[31m\\u000a: no");
}

}  // namespace
}  // namespace aegis::policy
