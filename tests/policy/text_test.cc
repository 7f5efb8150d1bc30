// SPDX-License-Identifier: Apache-2.0 OR MIT
// What people are shown of a policy's texts.
#include "policy/text.h"

#include <string>

#include <doctest/doctest.h>

namespace aegis::policy {
namespace {

TEST_CASE("a quoted text is shown so that it cannot move a cursor, and its backslashes twice") {
  CHECK(quoted("a\x1B[2J\\") == "\"a\\u001b[2J\\\\\"");
}

TEST_CASE("a quoted text is cut after forty code points, not bytes") {
  std::string letters;
  for (int count = 0; count < 40; ++count)
    letters += "\xC3\xA9";
  CHECK(quoted(letters) == '"' + letters + '"');
  CHECK(quoted(letters + "x") == '"' + letters + "...\"");
}

}  // namespace
}  // namespace aegis::policy
