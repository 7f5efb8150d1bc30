// SPDX-License-Identifier: Apache-2.0 OR MIT
// What `aegis verify` prints, to the letter, and trust stores.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "audit/verify.h"
#include "tests/audit/forge.h"

namespace aegis::audit {
namespace {

const std::string key_hex = to_hex(key_of(1).public_key().id().bytes);

}  // namespace

TEST_CASE("a verified record prints its verdict, its key and its coverage") {
  const Report report = verify(Forge().open_paired().intent("c-1").outcome("c-1").close().text());
  CHECK(encode_text(report) ==
        "Verified (unpinned)\n"
        "key_id " +
            key_hex +
            "\n"
            "coverage session 0 seq 3\n");
  CHECK(encode_json(report) == R"({"coverage":{"seq":3,"session":0},"key_id":[")" + key_hex +
                                   R"("],"trust":"unpinned","verdict":"Verified"})");
  CHECK(report.lines == 4);
  CHECK(report.calls == 1);
}

TEST_CASE("an open tail prints its calls in flight, of every session that has some") {
  const Report report = verify(Forge()
                                   .open_paired()
                                   .intent("c-1")
                                   .intent("c-2")
                                   .outcome("c-1")
                                   .open()
                                   .intent("x")
                                   .outcome("y")
                                   .text());
  CHECK(encode_text(report) ==
        "Indeterminate: session 0 has no close, calls in flight: 1\n"
        "key_id " +
            key_hex +
            "\n"
            "coverage session 1 seq 2\n"
            "in_flight session 0 seq 2 call c-2 tool echo\n"
            "in_flight session 1 seq 1 call x tool echo\n"
            "unpaired session 1 seq 2 outcome call y\n");
  CHECK(
      encode_json(report) ==
      R"({"coverage":{"seq":2,"session":1},"in_flight":[)"
      R"({"call":"c-2","seq":2,"session":0,"tool":"echo"},{"call":"x","seq":1,"session":1,"tool":"echo"}],)"
      R"("key_id":[")" +
          key_hex +
          R"("],"reason":"session 0 has no close, calls in flight: 1",)"
          R"("unpaired":[{"call":"y","line":"outcome","seq":2,"session":1}],"verdict":"Indeterminate"})");
}

TEST_CASE("a tampered record prints the place, and nothing that the break makes doubtful") {
  const Report report = verify(Forge().open().intent("c").jump_to(1).intent("d").text());
  const std::string offset = std::to_string(Forge().open().intent("c").text().size());
  CHECK(encode_text(report) ==
        "Tampered: seq repeats or goes back\n"
        "at session 0 seq 1 byte " +
            offset +
            "\n"
            "expected seq 2\n"
            "found seq 1\n"
            "key_id " +
            key_hex +
            "\n"
            "coverage session 0 seq 0\n");
  CHECK(encode_json(report) ==
        R"({"at":{"byte":)" + offset +
            R"(,"seq":1,"session":0},"coverage":{"seq":0,"session":0},)"
            R"("expected":"seq 2","found":"seq 1","key_id":[")" +
            key_hex + R"("],"reason":"seq repeats or goes back","verdict":"Tampered"})");
}

TEST_CASE("nothing at all prints only the verdict") {
  CHECK(encode_text(verify("")) == "Indeterminate: no Lines\n");
  CHECK(encode_json(verify("")) ==
        R"({"key_id":[],"reason":"no Lines","verdict":"Indeterminate"})");
}

TEST_CASE("a record's texts cannot move a terminal") {
  const Report report =
      verify(Forge()
                 .open()
                 .intent("a\\b", {R"({"call_id":"\u001b[2J\u202e\u009b","tool_id":"a\\b\n"})"})
                 .text());
  const std::string text = encode_text(report);
  CHECK(text.find("call \\u001b[2J\\u202e\\u009b tool a\\\\b\\u000a\n") != std::string::npos);
  const std::string json = encode_json(report);
  CHECK(json.find(R"("call":"\u001b[2J\u202e\u009b","seq":1,"session":0,"tool":"a\\b\n")") !=
        std::string::npos);

  const std::string unknown = encode_text(verify(Forge().open().line("x\u2028y\n").text()));
  CHECK(unknown.find("unknown line type x\\u2028y\\u000a at") != std::string::npos);
}

TEST_CASE("a trust store has a key a line, blank lines and remarks") {
  const std::string one = to_hex(key_of(1).public_key());
  const std::string two = to_hex(key_of(2).public_key());
  const TrustStore good = parse_trust_store("# ours\n" + one + "\n\n  \t\n" + two);
  CHECK(good.malformed_line == 0);
  CHECK(good.keys == TrustSet{key_of(1).public_key(), key_of(2).public_key()});
  CHECK(parse_trust_store("").keys.empty());
  CHECK(parse_trust_store("").malformed_line == 0);
  CHECK(parse_trust_store("# nothing\n").keys.empty());

  struct Row {
    const char* name;
    std::string text;
    std::size_t line;
  };
  const std::vector<Row> rows{
      {"a remark behind a key", one + " # mine\n", 1},
      {"a space in front", "\n " + one + "\n", 2},
      {"a carriage return", one + "\r\n", 1},
      {"upper case", "#\n\n" + std::string(64, 'A'), 3},
      {"too short", one.substr(1), 1},
      {"two on a line", one + two, 1},
      {"a remark that is not first", one + "\n # x\n", 2},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    CHECK(parse_trust_store(row.text).malformed_line == row.line);
  }
}

}  // namespace aegis::audit
