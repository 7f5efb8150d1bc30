// SPDX-License-Identifier: Apache-2.0 OR MIT
// Every member that a Line of each type must have, taken out or made something else.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "audit/verify.h"
#include "tests/audit/forge.h"

namespace aegis::audit {

TEST_CASE("a required member that is missing or ill-typed makes a Line malformed") {
  struct Field {
    const char* type;
    const char* path;   // as the verdict names it
    const char* patch;  // what breaks it, in a Line that is signed with it
  };
  const std::vector<Field> rows{
      {"close", "schema_version", R"({"schema_version":null})"},
      {"close", "schema_version", R"({"schema_version":"2"})"},
      {"close", "line_type", R"({"line_type":null})"},
      {"close", "line_type", R"({"line_type":7})"},
      {"close", "seq", R"({"seq":null})"},
      {"close", "seq", R"({"seq":"1"})"},
      {"close", "prev_hash", R"({"prev_hash":null})"},
      {"close", "prev_hash", R"({"prev_hash":"00"})"},
      {"close",
       "prev_hash",
       R"({"prev_hash":"ABCDABCDABCDABCDABCDABCDABCDABCDABCDABCDABCDABCDABCDABCDABCDABCD"})"},
      {"open", "public_key", R"({"public_key":null})"},
      {"open", "public_key", R"({"public_key":"xyz"})"},
      {"open", "prev_session_tail", R"({"prev_session_tail":true})"},
      {"intent", "call_id", R"({"call_id":null})"},
      {"intent", "tool_id", R"({"tool_id":["t"]})"},
      {"intent", "request_digest", R"({"request_digest":"0"})"},
      {"outcome", "call_id", R"({"call_id":3})"},
      {"outcome", "tool_id", R"({"tool_id":null})"},
      {"outcome", "request_digest", R"({"request_digest":null})"},
      {"outcome", "policy_set_hash", R"({"policy_set_hash":null})"},
      {"outcome", "decision_axes", R"({"decision_axes":null})"},
      {"outcome", "decision_axes.role", R"({"decision_axes":{"role":{}}})"},
      {"outcome", "decision_axes.fs", R"({"decision_axes":{"fs":"/"}})"},
      {"outcome", "policy", R"({"policy":null})"},
      {"outcome", "policy.status", R"({"policy":"allowed"})"},
      {"outcome", "policy.status", R"({"policy":{"status":null}})"},
      {"outcome", "policy.status", R"({"policy":{"status":"perhaps"}})"},
      {"outcome", "policy.reason", R"({"policy":{"status":"denied"}})"},
      {"outcome", "policy.reason", R"({"policy":{"status":"rate_limited","reason":1}})"},
      {"outcome", "policy.approval_id", R"({"policy":{"status":"pending_approval"}})"},
      {"outcome", "capability.grant", R"({"capability":{"status":"granted"}})"},
      {"outcome", "capability.grant.grant_id", R"({"capability":{"status":"granted","grant":{}}})"},
      {"outcome", "capability.reason", R"({"capability":{"reason":null}})"},
      {"outcome", "capability.denied_capability", R"({"capability":{"denied_capability":1}})"},
      {"outcome", "execution", R"({"execution":null})"},
      {"outcome", "execution.message", R"({"execution":{"status":"trap"}})"},
      {"outcome", "execution.kind", R"({"execution":{"status":"resource_exceeded"}})"},
      {"outcome", "execution.reason", R"({"execution":{"status":"host_denied"}})"},
      {"outcome", "wall_ms", R"({"wall_ms":"12"})"},
      {"outcome", "response_digest", R"({"response_digest":""})"},
      {"decision", "approval_id", R"({"approval_id":null})"},
      {"decision", "verdict", R"({"verdict":null})"},
      {"decision", "verdict.reason", R"({"verdict":{"reason":null}})"},
      {"decision", "verdict.scope", R"({"verdict":{"verdict":"approved"}})"},
      {"decision", "verdict.scope.tool_id", R"({"verdict":{"verdict":"approved","scope":{}}})"},
  };
  for (const Field& row : rows) {
    CAPTURE(row.type);
    CAPTURE(row.patch);
    Forge forge;
    const std::string type = row.type;
    if (type == "open") forge.open({row.patch});
    if (type != "open") forge.open();
    if (type == "intent") forge.intent("c", {row.patch});
    if (type == "outcome") forge.outcome("c", {row.patch});
    if (type == "decision") forge.decision("a", {row.patch});
    if (type == "close") forge.close({row.patch});
    CHECK(verdict(forge.text()) == "Tampered: malformed Line: the member \"" +
                                       std::string{row.path} +
                                       "\" is missing or not what the format says");
  }
}

}  // namespace aegis::audit
