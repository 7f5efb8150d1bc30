// SPDX-License-Identifier: Apache-2.0 OR MIT
// What other rules would have decided about the calls of a record that can be read, and the words
// for it.
#include "policy/recheck.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/policy/record.h"

namespace aegis::policy {
namespace {

TEST_CASE("each recorded status meets each new verdict") {
  struct Row {
    std::string_view name;
    std::string status;
    std::string_view rules;
    std::string_view clause;
  };
  const Row rows[] = {
      {"allowed, allow", R"({"status":"allowed"})", "", "unchanged allowed"},
      {"denied, allow", denied("no"), "", "newly_allowed was=denied now=allowed"},
      {"rate_limited, allow", rate_limited, "", "newly_allowed was=rate_limited now=allowed"},
      {"pending, allow", pending, "", "newly_allowed was=pending_approval now=allowed"},
      {"allowed, deny", R"({"status":"allowed"})", kDeny, "newly_blocked was=allowed now=denied"},
      {"denied, deny", denied("no"), kDeny, "unchanged denied"},
      {"rate_limited, deny: one class", rate_limited, kDeny, "unchanged rate_limited"},
      {"pending, deny", pending, kDeny, "newly_blocked was=pending_approval now=denied"},
      {"allowed, park", R"({"status":"allowed"})", kPark, "newly_parked was=allowed"},
      {"denied, park", denied("no"), kPark, "newly_parked was=denied"},
      {"rate_limited, park", rate_limited, kPark, "newly_parked was=rate_limited"},
      {"pending, park", pending, kPark, "unchanged pending_approval"},
      {"allowed, rate", R"({"status":"allowed"})", kRate, "indeterminate rate_limit_unevaluable"},
      {"denied, rate", denied("no"), kRate, "indeterminate rate_limit_unevaluable"},
      {"rate_limited, rate", rate_limited, kRate, "indeterminate rate_limit_unevaluable"},
      {"pending, rate", pending, kRate, "indeterminate rate_limit_unevaluable"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    Parts parts;
    parts.policy = row.status;
    CHECK(recheck_text(row.rules, open_line + outcome(parts)) ==
          "call c-1 session 0 seq 2: " + std::string(row.clause) + '\n');
  }
}

TEST_CASE("the tool and the recorded role and capability are what the rules see") {
  Parts parts;
  parts.axes =
      R"({"capability":"fs.read","fs":{"path_canonical":"/a","path_raw":"a"},"role":"ops","session":"s"})";
  const std::string record = open_line + outcome(parts);
  CHECK(recheck_text("  - { id: x, action: deny, tool: t, role: ops, capability: fs.read }\n",
                     record) == "call c-1 session 0 seq 2: newly_blocked was=allowed now=denied\n");
  for (const std::string_view other : {"tool: u", "role: dev", "capability: fs.write"}) {
    CAPTURE(other);
    CHECK(recheck_text("  - { id: x, action: deny, " + std::string(other) + " }\n", record) ==
          "call c-1 session 0 seq 2: unchanged allowed\n");
  }
  parts.axes = "{}";
  CHECK(recheck_text("  - { id: x, action: deny, role: ops }\n", open_line + outcome(parts)) ==
        "call c-1 session 0 seq 2: unchanged allowed\n");
}

TEST_CASE("outcomes are told in file order, sessions counted by their open Lines") {
  const std::string intent =
      R"({"call_id":"c-1","line_type":"intent","schema_version":2,"seq":1,"tool_id":"t"})"
      "\n";
  const std::string close = R"({"line_type":"close","schema_version":2,"seq":3})"
                            "\n";
  const std::string record = open_line + intent + outcome({}) + close + open_line +
                             outcome({.call_id = "d-1", .digest = "d2", .seq = 7});
  CHECK(
      recheck_text("", record) ==
      "call c-1 session 0 seq 2: unchanged allowed\ncall d-1 session 1 seq 7: unchanged allowed\n");
  CHECK(recheck_text("", outcome({})) == "call c-1 session 0 seq 2: unchanged allowed\n");
}

TEST_CASE("calls that no rule refused stay refused, whatever the rules") {
  struct Row {
    std::string_view name;
    std::string tool;
    std::string reason;
    std::string_view clause;
  };
  const Row rows[] = {
      {"a malformed frame",
       "<unknown>",
       "malformed frame: not JSON, at byte 3",
       "unchanged denied"},
      {"a call without a name",
       "<unknown>",
       "tools/call without a string params.name",
       "unchanged denied"},
      {"no record", "t", "record unavailable", "unchanged denied"},
      {"no record, told why",
       "t",
       "record unavailable: too many calls in flight",
       "unchanged denied"},
      {"a rule's own reason",
       "t",
       "malformed frame: says the rule",
       "newly_allowed was=denied now=allowed"},
      {"a tool that is called so", "<unknown>", "no", "newly_allowed was=denied now=allowed"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    CHECK(recheck_text("", open_line + outcome({.tool = row.tool, .policy = denied(row.reason)})) ==
          "call c-1 session 0 seq 2: " + std::string(row.clause) + '\n');
  }
  CHECK(recheck(kRate,
                open_line + outcome({.tool = "<unknown>", .policy = denied("malformed frame: x")}))
            .unchanged == 1);
}

TEST_CASE("a rule's own reason is not taken for one of aegis's") {
  for (const std::string_view reason : {"record unavailable to guests",
                                        "record unavailable",
                                        "malformed frame: says the rule",
                                        "tools/call without a string params.name"}) {
    CAPTURE(reason);
    CHECK(recheck_text(
              "",
              open_line + outcome({.tool = "<unknown>",
                                   .policy = denied(reason),
                                   .capability = denied("policy blocked before capability")})) ==
          "call c-1 session 0 seq 2: newly_allowed was=denied now=allowed\n");
  }
}

TEST_CASE("what the broker refused by its own policy stays refused, whatever the rules") {
  struct Row {
    std::string reason;
    std::string capability_reason;
    std::string_view clause;
  };
  const Row rows[] = {
      {"SENSITIVE_TARGET_DENIED", "SENSITIVE_TARGET_DENIED", "unchanged denied"},
      {"SCHEMA_VALIDATION_FAILURE path", "SCHEMA_VALIDATION_FAILURE path", "unchanged denied"},
      {"batch holds a broker call", "batch holds a broker call", "unchanged denied"},
      {"id of a broker call in flight", "id of a broker call in flight", "unchanged denied"},
      {"SENSITIVE_TARGET_DENIED",
       "policy blocked before capability",
       "newly_allowed was=denied now=allowed"},
      {"SENSITIVE_TARGETS", "SENSITIVE_TARGETS", "newly_allowed was=denied now=allowed"},
      {"", "", "newly_allowed was=denied now=allowed"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.reason);
    CHECK(recheck_text("",
                       open_line + outcome({.tool = "read_text",
                                            .policy = denied(row.reason),
                                            .capability = denied(row.capability_reason)})) ==
          "call c-1 session 0 seq 2: " + std::string(row.clause) + '\n');
  }
}

TEST_CASE("a call without a name that crossed without a policy would not cross under any") {
  // SHA-256 of "aegis-wrap-passthrough-v0", which is what wrap writes without a policy.
  const std::string no_policy = "7b30695c7a4df1b6a226bdd591c6d75b9917bb3af078af2d01be295e4df96974";
  CHECK(
      recheck_text("", open_line + outcome({.tool = "<unknown>", .policy_set_hash = no_policy})) ==
      "call c-1 session 0 seq 2: newly_blocked was=allowed now=denied\n");
  CHECK(recheck_text("", open_line + outcome({.tool = "t", .policy_set_hash = no_policy})) ==
        "call c-1 session 0 seq 2: unchanged allowed\n");
}

TEST_CASE("a tool that is called <unknown> and crossed under a policy is judged like any other") {
  const std::string record = open_line + outcome({.tool = "<unknown>"});
  CHECK(recheck_text("", record) == "call c-1 session 0 seq 2: unchanged allowed\n");
  CHECK(recheck_text(kDeny, record) ==
        "call c-1 session 0 seq 2: newly_blocked was=allowed now=denied\n");
}

TEST_CASE("a call that was refused for its batch is refused as long as its batch is") {
  const std::string with_batch = denied("batch holds a refused call");
  const std::string refused = outcome({.call_id = "b-1", .tool = "bad", .policy = denied("no")});
  const std::string mate =
      outcome({.call_id = "b-2", .tool = "good", .policy = with_batch, .seq = 3});
  const auto second_clause = [](std::string_view policy_rules, const std::string& record) {
    const RecheckReport report = recheck(policy_rules, record);
    REQUIRE(report.calls.size() == 2);
    const std::string text = encode_text(std::vector<RecheckedCall>{report.calls[1]});
    return text.substr(text.find(": ") + 2);
  };
  const std::string bad_denied = "  - { id: x, action: deny, tool: bad }\n";
  const std::string bad_parked = "  - { id: x, action: pending_approval, tool: bad }\n";
  const std::string bad_rated =
      "  - { id: x, action: rate_limit, tool: bad, rate: { max: 1, per_seconds: 1 } }\n";
  const std::string good_denied = "  - { id: y, action: deny, tool: good }\n";
  const std::string good_parked = "  - { id: y, action: pending_approval, tool: good }\n";
  struct Row {
    std::string_view name;
    std::string rules;
    std::string_view clause;
  };
  const Row rows[] = {
      {"the other is still denied", bad_denied, "unchanged denied\n"},
      {"the other is now parked", bad_parked, "unchanged denied\n"},
      {"the other is counted, and counters are on no record",
       bad_rated,
       "indeterminate rate_limit_unevaluable\n"},
      {"no call of it is refused any more", "", "newly_allowed was=denied now=allowed\n"},
      {"it is now denied for itself", good_denied, "unchanged denied\n"},
      {"it is now denied for itself, the other counted",
       good_denied + bad_rated,
       "unchanged denied\n"},
      {"it is now parked for itself", good_parked, "newly_parked was=denied\n"},
  };
  const std::string whole = open_line + refused + mate;
  for (const Row& row : rows) {
    CAPTURE(row.name);
    CHECK(second_clause(row.rules, whole) == row.clause);
  }
  SUBCASE("the refused call may stand behind it") {
    CHECK(
        recheck_text(bad_denied, open_line + mate + refused) ==
        "call b-2 session 0 seq 3: unchanged denied\ncall b-1 session 0 seq 2: unchanged denied\n");
  }
  SUBCASE("a call without a name keeps the batch refused") {
    const std::string nameless =
        outcome({.tool = "<unknown>", .policy = denied("tools/call without a string params.name")});
    CHECK(second_clause("", open_line + nameless + mate) == "unchanged denied\n");
  }
  SUBCASE("another frame's refused call is none of its batch") {
    const std::string other = outcome({.tool = "bad", .policy = denied("no"), .digest = "d2"});
    CHECK(second_clause(bad_denied, open_line + other + mate) ==
          "newly_allowed was=denied now=allowed\n");
  }
  SUBCASE("nor is a refused call of another session, should its frame be the same") {
    CHECK(second_clause(bad_denied, open_line + refused + open_line + mate) ==
          "newly_allowed was=denied now=allowed\n");
  }
  SUBCASE("an outcome between them that cannot be read may have been of the batch") {
    const RecheckReport report =
        recheck("", open_line + refused + "{\"line_type\":\"outcome\"}\n" + mate);
    CHECK(encode_text(report.calls) ==
          "call b-1 session 0 seq 2: newly_allowed was=denied now=allowed\ncall - session 0 seq 0: "
          "indeterminate no_binding\n"
          "call b-2 session 0 seq 3: indeterminate no_binding\n");
  }
  SUBCASE("other Lines between them change nothing") {
    const std::string intent = R"({"call_id":"z","line_type":"intent","schema_version":2,"seq":9})"
                               "\n";
    CHECK(
        recheck_text(bad_denied, open_line + refused + intent + mate) ==
        "call b-1 session 0 seq 2: unchanged denied\ncall b-2 session 0 seq 3: unchanged denied\n");
  }
}

TEST_CASE("calls can be taken as they come; the counts are of all") {
  const Policy policy = rules("");
  Rechecker rechecker(policy);
  std::string text;
  std::size_t most = 0;
  for (int call = 0; call < 100; ++call) {
    rechecker.feed(outcome({.call_id = std::to_string(call), .digest = std::to_string(call)}));
    const auto calls = rechecker.take();
    most = std::max(most, calls.size());
    text += encode_text(calls);
  }
  const RecheckReport report = rechecker.finish();
  text += encode_text(report.calls);
  CHECK(most == 1);
  CHECK(report.calls.size() == 1);
  CHECK(report.unchanged == 100);
  CHECK(std::count(text.begin(), text.end(), '\n') == 100);
}

TEST_CASE("a record's words can neither reach the terminal nor pose as other words of the line") {
  const std::string id = R"(x\u001b[2J session 9 seq 9: unchanged allowed\n)";
  CHECK(recheck_text("", open_line + outcome({.call_id = id})) ==
        "call "
        "x\\u001b[2J\\u0020session\\u00209\\u0020seq\\u00209:\\u0020unchanged\\u0020allowed\\u000a "
        "session 0 seq 2: "
        "unchanged allowed\n");
}

TEST_CASE("the same facts are told as one JSON object") {
  const std::string record =
      open_line + outcome({.call_id = "a\\\"b"}) + outcome({.tool = "u", .digest = "d2"}) +
      outcome({.policy = pending, .digest = "d3"}) + outcome({.tool = "w", .digest = "d4"}) +
      outcome({.policy = R"({"status":"x"})", .digest = "d5"});
  CHECK(
      encode_json(recheck("  - { id: x, action: deny, tool: u }\n  - { id: y, action: "
                          "pending_approval, tool: w }\n",
                          record)) ==
      R"({"calls":[{"action":"allowed","call":"a\"b","clause":"unchanged","seq":2,"session":0},)"
      R"({"call":"c-1","clause":"newly_blocked","now":"denied","seq":2,"session":0,"was":"allowed"},)"
      R"({"call":"c-1","clause":"newly_allowed","now":"allowed","seq":2,"session":0,"was":"pending_approval"},)"
      R"({"call":"c-1","clause":"newly_parked","seq":2,"session":0,"was":"allowed"},)"
      R"({"call":"c-1","clause":"indeterminate","reason":"no_binding","seq":2,"session":0}],"differing":3,)"
      R"("notes":["line 6 says that it is an outcome and cannot be read as one"],)"
      R"("unanswered":1,"unchanged":1,"unread_lines":0})"
      "\n");
}

std::string read_vector(const std::string& name) {
  const char* shared = std::getenv("AEGIS_SHARED");
  const std::string folder =
      shared == nullptr ? std::string(AEGIS_SOURCE_DIR) + "/../shared" : std::string(shared);
  std::ifstream file(folder + "/vectors/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST_CASE("published records of the format are answered for") {
  const std::string one_call = read_vector("pinned/one_call.aarl");
  if (one_call.empty()) {
    MESSAGE("SKIPPED: the published records are not here (AEGIS_SHARED)");
    return;
  }
  CHECK(recheck_text("", one_call) == "call call-vector-7 session 0 seq 2: unchanged allowed\n");
  CHECK(recheck_text("  - { id: x, action: deny, tool: echo }\n", one_call) ==
        "call call-vector-7 session 0 seq 2: newly_blocked was=allowed now=denied\n");
}

}  // namespace
}  // namespace aegis::policy
