// SPDX-License-Identifier: Apache-2.0 OR MIT
// Every rule of the verdict, each on a file that breaks it alone.
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "audit/verify.h"
#include "tests/audit/forge.h"

namespace aegis::audit {
namespace {

const std::string zeros(64, '0');
const std::string ones(64, '1');

Forge one_call() {
  Forge forge;
  forge.open_paired().intent("c-1").outcome("c-1").close();
  return forge;
}

std::string without_last_newline(std::string text) {
  text.pop_back();
  return text;
}

}  // namespace

TEST_CASE("a record that keeps every rule is verified") {
  check_all({
      {"one call", one_call().text(), "Verified (unpinned)"},
      {"without its last newline", without_last_newline(one_call().text()), "Verified (unpinned)"},
      {"no call", Forge().open().close().text(), "Verified (unpinned)"},
      {"calls that interleave",
       Forge()
           .open_paired()
           .intent("c-1")
           .intent("c-2")
           .outcome("c-2")
           .outcome("c-1")
           .close()
           .text(),
       "Verified (unpinned)"},
      {"an unknown member",
       Forge().open({R"({"zz":{"signature":"nested","a":[1]}})"}).close().text(),
       "Verified (unpinned)"},
      {"decisions on two approvals",
       Forge().open().decision("a").decision("b").close().text(),
       "Verified (unpinned)"},
      {"two sessions, two keys",
       one_call().use_key(key_of(2)).open().close().text(),
       "Verified (unpinned)"},
      {"an intent that is signed nevertheless",
       Forge()
           .open()
           .line("intent", {R"({"call_id":"c","tool_id":"t","request_digest":")" + zeros + "\"}"})
           .close()
           .text(),
       "Verified (unpinned)"},
  });
}

TEST_CASE("a link, a number or a signature that does not hold is tampering") {
  const std::string hash_broken = "Tampered: prev_hash is not the hash of the Line before";
  const std::string bad_signature = "Tampered: the signature does not verify";
  const std::string no_outcome_signature = "Tampered: no signature on a Line of type outcome";
  const std::string no_session = "Tampered: the first Line is not an open";
  check_all({
      {"prev_hash", Forge().open().close({R"({"prev_hash":")" + ones + "\"}"}).text(), hash_broken},
      {"prev_hash of an intent",
       Forge().open().intent("c", {R"({"prev_hash":")" + ones + "\"}"}).close().text(),
       hash_broken},
      {"seq repeats",
       Forge().open().intent("c").jump_to(1).close().text(),
       "Tampered: seq repeats or goes back"},
      {"seq goes back",
       Forge().open().intent("c").intent("d").jump_to(0).close().text(),
       "Tampered: seq repeats or goes back"},
      {"an outcome without a signature",
       Forge().open().outcome("c", {"{}", R"({"signature":null})"}).close().text(),
       no_outcome_signature},
      {"an open without one",
       Forge().open({"{}", R"({"signature":null})"}).close().text(),
       "Tampered: no signature on a Line of type open"},
      {"a close without one",
       Forge().open().close({"{}", R"({"signature":null})"}).text(),
       "Tampered: no signature on a Line of type close"},
      {"a decision without one",
       Forge().open().decision("a", {"{}", R"({"signature":null})"}).close().text(),
       "Tampered: no signature on a Line of type decision"},
      {"a checkpoint without one",
       Forge().open().line("checkpoint", {"{}", R"({"signature":null})"}).close().text(),
       "Tampered: no signature on a Line of type checkpoint"},
      {"an outcome changed after signing",
       Forge().open().outcome("c", {"{}", R"({"tool_id":"other"})"}).close().text(),
       bad_signature},
      {"an unknown member changed after signing",
       Forge().open({R"({"at":"a"})", R"({"at":"b"})"}).close().text(),
       bad_signature},
      {"a signature in upper case",
       Forge().open({"{}", R"({"signature":")" + std::string(128, 'A') + "\"}"}).text(),
       bad_signature},
      {"a signature that is no string",
       Forge().open({"{}", R"({"signature":7})"}).text(),
       bad_signature},
      {"a short signature", Forge().open({"{}", R"({"signature":"00"})"}).text(), bad_signature},
      {"another session's key_id",
       Forge().open().close({R"({"key_id":")" + ones + "\"}"}).text(),
       "Tampered: key_id is not that of the session's key"},
      {"no key_id",
       Forge().open().close({R"({"key_id":null})"}).text(),
       "Tampered: key_id is not that of the session's key"},
      {"a key that changes inside a session",
       Forge().open().use_key(key_of(2)).close().text(),
       "Tampered: key_id is not that of the session's key"},
      {"an intent whose signature fails",
       Forge()
           .open()
           .line("intent",
                 {R"({"call_id":"c","tool_id":"t","request_digest":")" + zeros + "\"}",
                  R"({"tool_id":"u"})"})
           .close()
           .text(),
       bad_signature},
      {"no open", Forge().intent("c").text(), no_session},
      {"a close first", Forge().close().text(), no_session},
      {"an unknown type first", Forge().line("other").text(), no_session},
      {"a checkpoint first", Forge().line("checkpoint").text(), no_session},
      {"an open with a prev_hash",
       Forge().open({R"({"prev_hash":")" + ones + "\"}"}).close().text(),
       "Tampered: the prev_hash of an open is not 64 zeros"},
      {"an open with a seq",
       Forge().open({R"({"seq":3})"}).text(),
       "Tampered: an open that is not first"},
      {"a key of small order",
       Forge()
           .open(
               {R"({"public_key":"0100000000000000000000000000000000000000000000000000000000000000"})"})
           .text(),
       "Tampered: the public_key of an open is no point of the prime-order group"},
  });
}

TEST_CASE("sessions are linked, and nothing follows a close but an open") {
  const std::string after_close = "Tampered: a Line after close";
  check_all({
      {"no prev_session_tail",
       one_call().open({R"({"prev_session_tail":null})"}).close().text(),
       "Tampered: prev_session_tail is missing"},
      {"another prev_session_tail",
       one_call().open({R"({"prev_session_tail":")" + ones + "\"}"}).close().text(),
       "Tampered: prev_session_tail is not the hash of the Line before"},
      {"a Line of another schema version before the first open",
       "{\"schema_version\":3}\n" + one_call().text(),
       "Tampered: prev_session_tail is missing"},
      {"the same before an open that names another Line",
       "{\"schema_version\":3}\n" +
           Forge().open({R"({"prev_session_tail":")" + ones + "\"}"}).close().text(),
       "Tampered: prev_session_tail is not the hash of the Line before"},
      {"an intent after close", one_call().intent("c-4").text(), after_close},
      {"an outcome after close", one_call().outcome("c-1").text(), after_close},
      {"a decision after close", one_call().decision("a").text(), after_close},
      {"a second close", one_call().close().text(), after_close},
      {"an unknown type after close", one_call().line("other").text(), after_close},
      {"another schema version after close",
       one_call().line("close", {R"({"schema_version":3})"}).text(),
       after_close},
      {"a Line without links after close",
       one_call().raw(R"({"schema_version":1})").text(),
       after_close},
      {"a checkpoint after close that is not signed",
       one_call().line("checkpoint", {"{}", R"({"signature":null})"}).text(),
       "Tampered: no signature on a Line of type checkpoint"},
      {"a checkpoint after close",
       one_call().line("checkpoint").text(),
       "Indeterminate: a checkpoint, which is reserved, at session 0 seq 4"},
      {"a checkpoint after close, and a session after that",
       one_call().line("checkpoint").open().close().text(),
       "Indeterminate: a checkpoint, which is reserved, at session 0 seq 4"},
      {"a session cut, a later one not signed anew",
       Forge().open().intent("c").text() +
           split_lines(Forge().open().intent("c").intent("d").open().close().text())[3] + "\n",
       "Tampered: prev_session_tail is not the hash of the Line before"},
  });
}

TEST_CASE("one approval is decided once in a file") {
  const std::string twice = "Tampered: a second decision for one approval_id";
  check_all({
      {"in one session", Forge().open().decision("a").decision("a").close().text(), twice},
      {"in two sessions",
       Forge().open().decision("a").close().open().decision("a").close().text(),
       twice},
  });
}

TEST_CASE("what cannot be judged is indeterminate, and tampering outranks it") {
  const std::string unknown = "Indeterminate: unknown line type other at session 0 seq 1";
  const std::string no_close = "Indeterminate: session 0 has no close, calls in flight: ";
  check_all({
      {"nothing", "", "Indeterminate: no Lines"},
      {"an unknown type, signed", Forge().open().line("other").close().text(), unknown},
      {"an unknown type, not signed",
       Forge().open().line("other", {R"({"key_id":null})", R"({"signature":null})"}).close().text(),
       unknown},
      {"an unknown type whose signature fails",
       Forge().open().line("other", {R"({"a":1})", R"({"a":2})"}).close().text(),
       "Tampered: the signature does not verify"},
      {"an unknown type with a stripped key_id",
       Forge().open().line("other", {"{}", R"({"key_id":null})"}).close().text(),
       "Tampered: key_id is not that of the session's key"},
      {"a checkpoint",
       Forge().open().line("checkpoint").close().text(),
       "Indeterminate: a checkpoint, which is reserved, at session 0 seq 1"},
      {"a checkpoint whose signature fails",
       Forge().open().line("checkpoint", {R"({"a":1})", R"({"a":2})"}).close().text(),
       "Tampered: the signature does not verify"},
      {"no close", Forge().open().text(), no_close + "0"},
      {"no close, one call", Forge().open_paired().intent("c-1").text(), no_close + "1"},
      {"a second session without close",
       one_call().open().text(),
       "Indeterminate: session 1 has no close, calls in flight: 0"},
      {"an earlier session without close: its tail may be gone",
       Forge().open().open().close().text(),
       no_close + "0"},
      {"invented intents between two sessions",
       Forge().open_paired().intent("c-1").open_paired().close().text(),
       no_close + "1"},
      {"seq jumps",
       Forge().open().jump_to(5).close().text(),
       "Indeterminate: seq jumps from 1 over an intact chain, at session 0 seq 5"},
      {"schema version 3",
       Forge().open().line("close", {R"({"schema_version":3})"}).text(),
       "Indeterminate: schema_version 3 at session 0 seq 1"},
      {"schema version 3 from the start",
       Forge().open({R"({"schema_version":3})"}).close({R"({"schema_version":3})"}).text(),
       "Indeterminate: schema_version 3 at session 0 seq 0"},
      {"a call of another schema version in a paired session",
       Forge()
           .open_paired()
           .intent("c-1", {R"({"schema_version":3})"})
           .outcome("c-1")
           .close()
           .text(),
       "Indeterminate: schema_version 3 at session 0 seq 1"},
      {"an outcome of another schema version, in other words",
       Forge()
           .open_paired()
           .intent("c-1")
           .outcome("c-1", {R"({"schema_version":3,"tool_id":7})"})
           .close()
           .text(),
       "Indeterminate: schema_version 3 at session 0 seq 2"},
      {"a record of schema version 1, which has no chain",
       "{\"phase\":\"intent\",\"schema_version\":1}\n",
       "Indeterminate: schema_version 1 at session 0 seq 0"},
      {"a Line without links in the middle",
       Forge().open().raw(R"({"schema_version":1})").close().text(),
       "Indeterminate: schema_version 1 at session 0 seq 1"},
      {"such a Line that is not linked to",
       Forge().open().text() + "{\"schema_version\":1}\n" + Forge().open().close().lines()[1] +
           "\n",
       "Tampered: prev_hash is not the hash of the Line before"},
      {"another schema version whose signature fails",
       Forge().open().line("close", {"{}", R"({"schema_version":3})"}).text(),
       "Tampered: the signature does not verify"},
      {"earlier sessions are elsewhere",
       Forge().open({R"({"prev_session_tail":")" + ones + "\"}"}).close().text(),
       "Indeterminate: earlier sessions are not in this file: its first open has a "
       "prev_session_tail"},
      {"the first reason counts", Forge().open().line("other").line("checkpoint").text(), unknown},
      {"tampering after it outranks it",
       Forge().open().line("other").close().close().text(),
       "Tampered: a Line after close"},
  });
}

TEST_CASE("a torn last line is indeterminate, the same bytes elsewhere are malformed") {
  const std::string torn =
      "Indeterminate: the last line is torn: not one complete JSON value, at its byte ";
  const std::string good = Forge().open().text();
  const auto malformed = [](std::string_view what) {
    return "Tampered: malformed Line: " + std::string{what};
  };
  check_all({
      {"cut", good + R"({"seq":1)", torn + "8"},
      {"cut, and a newline", good + "{\"seq\":1\n", torn + "8"},
      {"cut, with spaces", good + R"({"seq": 1)", torn + "9"},
      {"deep, and cut", good + std::string(5000, '['), torn + "5000"},
      {"deep, and whole",
       good + std::string(5000, '[') + std::string(5000, ']'),
       malformed("nested deeper than 16 levels, at its byte 16")},
      {"long, and too deep to tell",
       good + std::string(70'000, '[') + std::string(70'000, ']'),
       malformed("longer than 64 KiB")},
      {"not UTF-8",
       good + "{\"a\":\"\xFF\"}",
       "Indeterminate: the last line is torn: not UTF-8, at its byte 6"},
      {"zeros, as a file system leaves them", good + std::string(5000, '\0'), torn + "0"},
      {"more than a Line of zeros",
       good + std::string(100000, '\0'),
       "Indeterminate: the last line is torn: not one complete JSON value"},
      {"a file that is one torn line", "{", torn + "1"},
      {"in the middle",
       good + "{\"seq\":1\n" + good,
       malformed("not one complete JSON value, at its byte 8")},
      {"followed by a blank line",
       good + "{\"seq\":1\n\n",
       malformed("not one complete JSON value, at its byte 8")},
      {"more than a Line, in the middle",
       good + std::string(100000, '{') + "\n" + good,
       malformed("not one complete JSON value")},
      {"a blank line at the end", good + "\n", malformed("a blank line")},
      {"a blank line alone", "\n", malformed("a blank line")},
      {"white space at the end", good + "  ", malformed("a blank line")},
      {"a carriage return",
       good.substr(0, good.size() - 1) + "\r\n",
       malformed("white space between values, at its byte " + std::to_string(good.size() - 1))},
      {"a byte-order mark", "\xEF\xBB\xBF" + good, malformed("a byte-order mark, at its byte 0")},
      {"a space", " " + good, malformed("white space between values, at its byte 0")},
      {"no object", good + "[]", malformed("not an object")},
      {"too long a line that is JSON",
       good + "[\"" + std::string(70000, 'a') + "\"]",
       malformed("longer than 64 KiB")},
      {"17 levels",
       good + R"({"a":)" + std::string(16, '[') + std::string(16, ']') + "}",
       malformed("nested deeper than 16 levels, at its byte 20")},
      {"null", good + R"({"a":null})", malformed("null, at its byte 5")},
      {"a float",
       good + R"({"seq":1.0})",
       malformed("a number that is no integer from 0 to 2^53-1, at its byte 8")},
  });
}

TEST_CASE("a key given is a pin that every session must satisfy") {
  const PublicKey one = key_of(1).public_key();
  const PublicKey two = key_of(2).public_key();
  const std::string single = one_call().text();
  const std::string rotated = one_call().use_key(key_of(2)).open().close().text();
  const std::string refused = "Tampered: the session's key is not among those given";
  CHECK(verdict(single, TrustSet{one}) == "Verified (pinned to " + to_hex(one.id().bytes) + ")");
  CHECK(verdict(single, TrustSet{two, one}) ==
        "Verified (pinned to " + to_hex(one.id().bytes) + ")");
  CHECK(verdict(single, TrustSet{two}) == refused);
  CHECK(verdict(single, TrustSet{}) == refused);
  CHECK(verdict(rotated, TrustSet{one, two}) == "Verified (pinned)");
  CHECK(verdict(rotated, TrustSet{one}) == refused);
  CHECK(verdict(Forge().open().text(), TrustSet{one}).substr(0, 14) == "Indeterminate:");
  CHECK_FALSE(verify(Forge().open().text(), TrustSet{one}).is_pinned);
}

}  // namespace aegis::audit
