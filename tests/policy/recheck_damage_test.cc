// SPDX-License-Identifier: Apache-2.0 OR MIT
// Records that are torn, of another version, or no records: nothing is guessed, and nothing that
// may be a call is passed over in silence.
#include <string>

#include <doctest/doctest.h>

#include "policy/recheck.h"
#include "tests/policy/record.h"

namespace aegis::policy {
namespace {

using namespace std::string_literals;

std::string without(std::string line, std::string_view member) {
  const std::size_t at = line.find(member);
  REQUIRE(at != std::string::npos);
  return line.erase(at, member.size());
}

TEST_CASE("what says that it is an outcome and cannot be read as one is answered for as such") {
  struct Row {
    std::string_view name;
    std::string line;
    std::string_view text;
  };
  const std::string good = outcome({});
  const std::string_view bound = "call c-1 session 0 seq 2: indeterminate no_binding\n";
  const Row rows[] = {
      {"no tool", without(good, R"(,"tool_id":"t")"), bound},
      {"no call",
       without(good, R"("call_id":"c-1",)"),
       "call - session 0 seq 2: indeterminate no_binding\n"},
      {"no seq",
       without(good, R"(,"seq":2)"),
       "call c-1 session 0 seq 0: indeterminate no_binding\n"},
      {"no axes", without(good, R"("decision_axes":{},)"), bound},
      {"no digest", without(good, R"("request_digest":"d1",)"), bound},
      {"no execution", without(good, R"("execution":{"status":"success"},)"), bound},
      {"no schema", without(good, R"("schema_version":2,)"), bound},
      {"an unknown status", outcome({.policy = R"({"status":"maybe"})"}), bound},
      {"no status", outcome({.policy = "{}"}), bound},
      {"a role that is a number", outcome({.axes = R"({"role":1})"}), bound},
      {"a capability that is a list", outcome({.axes = R"({"capability":[]})"}), bound},
      {"spaces: not canonical", "{ " + good.substr(1), bound},
      {"a repeated member", R"({"line_type":"outcome",)" + good.substr(1), bound},
      {"a repeated member that says something else last",
       without(good, "}\n") + R"(,"line_type":"intent"})" + "\n",
       bound},
      {"a number out of the value space", outcome({.axes = R"({"x":1.5})"}), bound},
      {"a carriage return", good.substr(0, good.size() - 1) + "\r\n", bound},
      {"cut off after it has said what it is",
       good.substr(0, good.find(R"("policy":)")),
       "call c-1 session 0 seq 0: indeterminate no_binding\n"},
      {"longer than a Line may be",
       R"({"a":")" + std::string(10, 'x') + R"(","line_type":"outcome","z":")" +
           std::string(70'000, 'x') + "\"}\n",
       "call - session 0 seq 0: indeterminate no_binding\n"},
      {"another schema",
       R"({"call_id":"c-1","line_type":"outcome","schema_version":3,"seq":2})"
       "\n",
       "call c-1 session 0 seq 2: indeterminate unknown_policy_set_hash\n"},
      {"schema 1, as it was spelled",
       R"({"schema_version":1,"phase":"outcome","call_id":"c-1","tool_id":"t"})"
       "\n",
       "call c-1 session 0 seq 0: indeterminate unknown_policy_set_hash\n"},
      {"schema 1 in canonical form",
       R"({"call_id":"c-1","phase":"outcome","schema_version":1})"
       "\n",
       "call c-1 session 0 seq 0: indeterminate unknown_policy_set_hash\n"},
      {"a position beyond the value space",
       "{\"call_id\":\"c-1\",\"line_type\":\"outcome\",\"seq\":18446744073709551615}\n",
       "call c-1 session 0 seq 0: indeterminate no_binding\n"},
      {"schema 2.0, which is not 2",
       R"({"call_id":"c-1","line_type":"outcome","schema_version":2.0,"seq":2})"
       "\n",
       "call c-1 session 0 seq 2: indeterminate unknown_policy_set_hash\n"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const RecheckReport report = recheck("", open_line + row.line);
    CHECK(encode_text(report.calls) == row.text);
    CHECK(report.unanswered == 1);
    CHECK(report.is_incomplete());
  }
}

TEST_CASE("what is no outcome has no line, whatever else it is") {
  for (const std::string& line : {R"({"line_type":"intent","schema_version":2})"s,
                                  R"({"line_type":"checkpoint"})"s,
                                  R"({"line_type":"of the future","phase":"outcome"})"s,
                                  R"({"phase":"intent"})"s,
                                  R"({"a":{"line_type":"outcome"}})"s,
                                  R"(["outcome"])"s,
                                  "5"s,
                                  ""s,
                                  "  \r"s}) {
    CAPTURE(line);
    const RecheckReport report = recheck("", open_line + line + '\n');
    CHECK(report.calls.empty());
    CHECK_FALSE(report.is_incomplete());
    CHECK(report.notes.empty());
  }
}

TEST_CASE(
    "a line that is no JSON leaves the answer incomplete, but a last one that was cut off does "
    "not") {
  const std::string torn = R"({"at":"2026)";
  const RecheckReport inside = recheck("", open_line + torn + '\n' + outcome({}));
  CHECK(encode_text(inside.calls) == "call c-1 session 0 seq 2: unchanged allowed\n");
  CHECK(inside.is_incomplete());
  CHECK(inside.unread_lines == 1);
  REQUIRE(inside.notes.size() == 1);
  CHECK(inside.notes[0] == "line 2 is not JSON; a call recorded there cannot be answered for");

  const RecheckReport last = recheck("", open_line + outcome({}) + torn);
  CHECK(encode_text(last.calls) == "call c-1 session 0 seq 2: unchanged allowed\n");
  CHECK_FALSE(last.is_incomplete());
  REQUIRE(last.notes.size() == 1);
  CHECK(last.notes[0] == "line 3, the last, is cut off; it is no recorded outcome");

  const RecheckReport endless = recheck("", open_line + std::string(200'000, ' ') + "x");
  CHECK(endless.is_incomplete());
}

TEST_CASE("calls that cannot be answered for are not held back, however many come") {
  const Policy policy = rules("");
  Rechecker rechecker(policy);
  for (const std::string_view line :
       {"{\"line_type\":\"outcome\"}\n", "{\"phase\":\"outcome\",\"schema_version\":1}\n"}) {
    CAPTURE(line);
    for (int count = 0; count < 5; ++count) {
      rechecker.feed(line);
      CHECK(rechecker.take().size() == 1);
    }
  }
  CHECK(rechecker.finish().unanswered == 10);
}

TEST_CASE("notes are held to twenty, however much of a file is no record") {
  std::string record;
  for (int count = 0; count < 1000; ++count)
    record += "x\n";
  const RecheckReport report = recheck("", record);
  CHECK(report.unread_lines == 1000);
  REQUIRE(report.notes.size() == 21);
  CHECK(report.notes.back() == "and 980 more lines of these kinds");
}

TEST_CASE("any cut of the file into pieces gives the same report") {
  const std::string record =
      open_line + outcome({}) + "not JSON\n" +
      outcome({.call_id = "x", .policy = denied("batch holds a refused call")}) + open_line +
      R"({"phase":"outcome","schema_version":1})" + '\n' + R"({"line_type":"out)";
  const Policy policy = rules("  - { id: x, action: deny, tool: u }\n");
  Rechecker whole(policy);
  whole.feed(record);
  const std::string expected = encode_json(whole.finish());
  for (std::size_t size = 1; size < record.size(); ++size) {
    CAPTURE(size);
    Rechecker pieces(policy);
    for (std::size_t at = 0; at < record.size(); at += size)
      pieces.feed(std::string_view(record).substr(at, size));
    REQUIRE(encode_json(pieces.finish()) == expected);
  }
}

}  // namespace
}  // namespace aegis::policy
