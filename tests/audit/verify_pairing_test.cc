// SPDX-License-Identifier: Apache-2.0 OR MIT
// One outcome for each intent: a rule in our own sessions, a remark in those of other emitters.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "audit/verify.h"
#include "tests/audit/forge.h"

namespace aegis::audit {
namespace {

const std::string ones(64, '1');

}  // namespace

TEST_CASE("in a session that pairs calls, every call is paired") {
  const std::string nobody = "Tampered: an outcome that no call in flight belongs to";
  check_all({
      {"an outcome alone", Forge().open_paired().outcome("c-1").close().text(), nobody},
      {"a second outcome",
       Forge().open_paired().intent("c-1").outcome("c-1").outcome("c-1").close().text(),
       nobody},
      {"an outcome of a session before",
       Forge().open_paired().intent("c-1").open_paired().outcome("c-1").close().text(),
       nobody},
      {"a repeated call_id",
       Forge().open_paired().intent("c-1").outcome("c-1").intent("c-1").close().text(),
       "Tampered: a call_id that does not end in its intent's seq"},
      {"a call_id without seq",
       Forge().open_paired().intent("c").close().text(),
       "Tampered: a call_id that does not end in its intent's seq"},
      {"a call_id with another seq",
       Forge().open_paired().intent("c-11").close().text(),
       "Tampered: a call_id that does not end in its intent's seq"},
      {"a close with a call in flight",
       Forge().open_paired().intent("c-1").close().text(),
       "Tampered: a close with calls in flight"},
      {"another tool_id",
       Forge().open_paired().intent("c-1").outcome("c-1", {R"({"tool_id":"o"})"}).close().text(),
       "Tampered: the tool_id of an outcome is not its intent's"},
      {"another request_digest",
       Forge()
           .open_paired()
           .intent("c-1")
           .outcome("c-1", {R"({"request_digest":")" + ones + "\"}"})
           .close()
           .text(),
       "Tampered: the request_digest of an outcome is not its intent's"},
  });
}

TEST_CASE("in another emitter's session unpaired calls are printed and change nothing") {
  struct Printed {
    const char* name;
    std::string text;
    std::string tail;  // of the report, after its coverage
  };
  const std::vector<Printed> rows{
      {"an outcome alone",
       Forge().open().outcome("c").close().text(),
       "unpaired session 0 seq 1 outcome call c\n"},
      {"a second outcome",
       Forge().open().intent("c").outcome("c").outcome("c").close().text(),
       "unpaired session 0 seq 3 outcome call c\n"},
      {"an intent alone",
       Forge().open().intent("c").close().text(),
       "unpaired session 0 seq 1 intent call c\n"},
      {"a call_id repeated in flight",
       Forge().open().intent("c").intent("c").outcome("c").close().text(),
       "unpaired session 0 seq 2 intent call c\n"},
      {"another tool",
       Forge().open().intent("c").outcome("c", {R"({"tool_id":"o"})"}).close().text(),
       "unpaired session 0 seq 1 intent call c\nunpaired session 0 seq 2 outcome call c\n"},
      {"a profile of another name",
       Forge().open({R"({"profile":"aegis/2"})"}).outcome("c").close().text(),
       "unpaired session 0 seq 1 outcome call c\n"},
      {"in order",
       Forge()
           .open()
           .intent("b")
           .outcome("z")
           .intent("a")
           .close()
           .open()
           .outcome("y")
           .close()
           .text(),
       "unpaired session 0 seq 1 intent call b\nunpaired session 0 seq 2 outcome call z\n"
       "unpaired session 0 seq 3 intent call a\nunpaired session 1 seq 1 outcome call y\n"},
  };
  for (const Printed& row : rows) {
    CAPTURE(row.name);
    const std::string report = encode_text(verify(row.text));
    CHECK(report.substr(0, report.find('\n')) == "Verified (unpinned)");
    const std::size_t coverage = report.find("coverage ");
    CHECK(report.substr(report.find('\n', coverage) + 1) == row.tail);
  }
}

TEST_CASE("where a Line is missing, unpaired calls prove nothing") {
  const auto jump = [](std::string_view at) {
    return "Indeterminate: seq jumps from 1 over an intact chain, at session 0 seq " +
           std::string{at};
  };
  check_all({
      {"the intent", Forge().open_paired().jump_to(2).outcome("c-1").close().text(), jump("2")},
      {"the outcome", Forge().open_paired().jump_to(2).intent("c-2").close().text(), jump("2")},
      {"a number alone",
       Forge().open_paired().jump_to(2).intent("c-1").outcome("c-1").close().text(),
       jump("2")},
  });
  const std::string report =
      encode_text(verify(Forge().open().jump_to(2).outcome("c").close().text()));
  CHECK(report.find("unpaired session 0 seq 2 outcome call c\n") != std::string::npos);
}

}  // namespace aegis::audit
