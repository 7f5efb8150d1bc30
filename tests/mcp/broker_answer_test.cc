// SPDX-License-Identifier: Apache-2.0 OR MIT
// Answers byte for byte, and read back by another parser.
#include "mcp/broker_answer.h"

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

using namespace std::string_literals;
using namespace aegis::mcp;
using Tree = nlohmann::ordered_json;
using Status = RunEnd::Status;
using Type = ListedEntry::Type;

constexpr Id kSeven{Id::Type::number, "7"};

RunEnd run(Status status, std::optional<int> exit_code, std::optional<int> signal) {
  return {status, exit_code, signal, "out", "err", 1234, false, 0};
}

std::vector<BrokerAnswer> all_kinds() {
  RunEnd whole = run(Status::completed, 0, {});
  whole.is_truncated = true;
  whole.snapshot_left_out = 3;
  whole.memory_kills = 2;
  return {Refused{BrokerCode::approval_required, "ask \"them\"\n", ""},
          Refused{BrokerCode::schema_validation_failure, "a number is expected", "max_bytes"},
          FileText{"a/b.txt", "line\nżółć 😀\t\"q\"\\", false},
          FileText{"empty", "", true},
          Listing{".", {}, false, 0},
          Listing{"d",
                  {{"a.txt", Type::file, 12},
                   {"sub", Type::folder, 0},
                   {"l", Type::link, 0},
                   {"sub/s\ny", Type::other, 0}},
                  true,
                  2},
          run(Status::completed, 0, {}),
          run(Status::completed, 3, {}),
          run(Status::timeout, {}, 9),
          run(Status::output_limit, {}, 9),
          run(Status::cancelled, {}, 9),
          whole,
          RunEnd{Status::completed, 0, {}, "a\xFFz\0"s, "\xE2\x82", 0, false, 0}};
}

Tree result_of(const BrokerAnswer& answer) {
  return Tree::parse(encode_tool_response(kSeven, answer)).at("result");
}

std::string text_of(const BrokerAnswer& answer) {
  return result_of(answer).at("content").at(0).at("text");
}

}  // namespace

TEST_CASE("the structured object of each kind of answer") {
  const std::vector<BrokerAnswer> kinds = all_kinds();
  const std::string_view objects[] = {
      R"({"status":"refused","code":"APPROVAL_REQUIRED","reason":"ask \"them\"\n"})",
      R"({"status":"refused","code":"SCHEMA_VALIDATION_FAILURE","reason":"a number is expected","member":"max_bytes"})",
      R"({"status":"completed","path":"a/b.txt","text":"line\nżółć 😀\t\"q\"\\","truncated":false})",
      R"({"status":"completed","path":"empty","text":"","truncated":true})",
      R"({"status":"completed","path":".","entries":[],"truncated":false,"left_out":0})",
      R"({"status":"completed","path":"d","entries":[{"path":"a.txt","type":"file","size":12},{"path":"sub","type":"folder"},{"path":"l","type":"link"},{"path":"sub/s\ny","type":"other"}],"truncated":true,"left_out":2})",
      R"({"status":"completed","exit_code":0,"stdout":"out","stderr":"err","duration_ms":1234,"truncated":false})",
      R"({"status":"completed","exit_code":3,"stdout":"out","stderr":"err","duration_ms":1234,"truncated":false})",
      R"({"status":"timeout","code":"TIMEOUT_LIMIT_EXCEEDED","signal":9,"stdout":"out","stderr":"err","duration_ms":1234,"truncated":false})",
      R"({"status":"output_limit","code":"OUTPUT_LIMIT_EXCEEDED","signal":9,"stdout":"out","stderr":"err","duration_ms":1234,"truncated":false})",
      R"({"status":"cancelled","signal":9,"stdout":"out","stderr":"err","duration_ms":1234,"truncated":false})",
      R"({"status":"completed","exit_code":0,"stdout":"out","stderr":"err","duration_ms":1234,"truncated":true,"snapshot_left_out":3,"memory_kills":2})",
      R"({"status":"completed","exit_code":0,"stdout":"a�z\u0000","stderr":"��","duration_ms":0,"truncated":false,"lossy":true})",
  };
  REQUIRE(kinds.size() == std::size(objects));
  for (std::size_t index = 0; index < kinds.size(); ++index)
    CHECK(encode_structured(kinds[index]) == objects[index]);
}

TEST_CASE("the readable object is the same object, indented") {
  for (const BrokerAnswer& answer : all_kinds()) {
    const std::string readable = encode_readable(answer);
    CHECK(Tree::parse(readable).dump() == Tree::parse(encode_structured(answer)).dump());
    CHECK(readable.find("  \"status\": ") == 2);
    CHECK(readable.ends_with("\n}"));
  }
  CHECK(encode_readable(Listing{"d", {{"a\"\\", Type::folder, 0}}, false, 0}) ==
        "{\n  \"status\": \"completed\",\n  \"path\": \"d\",\n  \"entries\": [\n    {\n"
        "      \"path\": \"a\\\"\\\\\",\n      \"type\": \"folder\"\n    }\n  ],\n"
        "  \"truncated\": false,\n  \"left_out\": 0\n}");
  CHECK(encode_readable(Listing{"d", {}, false, 0}).find("\"entries\": [],\n") !=
        std::string::npos);
}

TEST_CASE("a tool response is one frame of fixed shape") {
  CHECK(encode_tool_response(kSeven, Refused{BrokerCode::approval_required, "no", ""}) ==
        R"({"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text",)"
        R"("text":"APPROVAL_REQUIRED: no"}],"structuredContent":{"status":"refused",)"
        R"("code":"APPROVAL_REQUIRED","reason":"no"},"isError":true,"resultType":"complete"}})"
        "\n");
  for (const BrokerAnswer& answer : all_kinds()) {
    const std::string frame = encode_tool_response(kSeven, answer);
    CHECK(frame.find('\n') == frame.size() - 1);
    const Tree result = result_of(answer);
    CHECK(result.at("structuredContent").dump() == Tree::parse(encode_structured(answer)).dump());
    CHECK(result.at("isError") == is_error(answer));
    CHECK(result.at("resultType") == "complete");
  }
}

TEST_CASE("the id goes back as it came") {
  for (const Id& id : {Id{Id::Type::number, "1e3"}, Id{Id::Type::string, R"("a\u0041\"")"}}) {
    const std::string frame = encode_tool_response(id, FileText{"p", "t", false});
    CHECK(frame.starts_with(R"({"jsonrpc":"2.0","id":)" + std::string{id.lexeme} + ",\"result\""));
  }
}

TEST_CASE("an error is a refusal or a run that was stopped, not a program's exit code") {
  const std::vector<BrokerAnswer> kinds = all_kinds();
  const std::vector<bool> errors{
      true, true, false, false, false, false, false, false, true, true, true, false, false};
  REQUIRE(kinds.size() == errors.size());
  for (std::size_t index = 0; index < kinds.size(); ++index)
    CHECK(is_error(kinds[index]) == errors[index]);
}

TEST_CASE("a refusal's text names the code, the member and the reason") {
  CHECK(text_of(Refused{BrokerCode::sensitive_target_denied, "ask for another file", ""}) ==
        "SENSITIVE_TARGET_DENIED: ask for another file");
  CHECK(text_of(Refused{BrokerCode::schema_validation_failure, "is missing", "path"}) ==
        "SCHEMA_VALIDATION_FAILURE: path: is missing");
}

TEST_CASE("a file's text stands alone, and a note of the cut beside it") {
  CHECK(result_of(FileText{"p", "a\nb", false}).at("content").size() == 1);
  const Tree cut = result_of(FileText{"p", "a\nb", true}).at("content");
  REQUIRE(cut.size() == 2);
  CHECK(cut[0]["text"] == "a\nb");
  CHECK(cut[1]["text"] == "[cut: the file goes on behind these 3 bytes]");
}

TEST_CASE("a listing has a line for each entry, whatever its name holds") {
  CHECK(text_of(Listing{".", {}, false, 0}) == "[no entries]");
  CHECK(text_of(Listing{".",
                        {{"a", Type::file, 1},
                         {"b", Type::folder, 0},
                         {"c", Type::link, 0},
                         {"d\ne", Type::other, 0}},
                        true,
                        4}) ==
        "a (1 byte)\nb/\nc (symbolic link, not followed)\nd\\u000ae (neither file nor folder)\n"
        "[entries that are not shown: 4]\n"
        "[cut: there are more entries; list one folder of it, or with a smaller max_depth]");
}

TEST_CASE("a run's text is its output, then what a model must know of its end") {
  struct Row {
    RunEnd end;
    std::string_view text;
  };
  const Row rows[] = {
      {{Status::completed, 0, {}, "1\n", "", 5, false, 0}, "1\n"},
      {{Status::completed, 0, {}, "", "", 5, false, 0}, "[no output]"},
      {{Status::completed, 0, {}, "", "w\n", 5, false, 0}, "[stderr]\nw\n"},
      {{Status::completed, 1, {}, "", "", 5, false, 0}, "[exit code 1]"},
      {{Status::completed, 1, {}, "a", "b", 5, false, 0}, "a\n[stderr]\nb\n[exit code 1]"},
      {{Status::completed, {}, 11, "a\n", "", 5, false, 0}, "a\n[ended by signal 11]"},
      {{Status::timeout, {}, 9, "a", "", 2050, false, 0},
       "a\n[TIMEOUT_LIMIT_EXCEEDED: it ran out of time and was stopped (after 2.0 s)]"},
      {{Status::output_limit, {}, 9, "a", "", 1990, true, 0},
       "a\n[OUTPUT_LIMIT_EXCEEDED: it printed more than the policy allows and was stopped; what "
       "it printed up to there is above (after 1.9 s)]\n[the output is cut]"},
      {{Status::cancelled, {}, 9, "", "", 100, false, 0},
       "[cancelled: it was stopped (after 0.1 s)]"},
      {{Status::completed, {}, 9, "", "", 5, false, 0, 1},
       "[ended by signal 9]\n"
       "[the system ended a process of it: it wanted more memory than the policy allows]"},
      {{Status::completed, 0, {}, "a\n", "", 5, false, 2},
       "a\n[files of the workspace that were not there, over the bounds of its copy: 2]"},
  };
  for (const Row& row : rows)
    CHECK(text_of(row.end) == row.text);
}

TEST_CASE("any byte that a program prints makes valid JSON") {
  std::string all;
  for (int byte = 0; byte < 256; ++byte)
    all += static_cast<char>(byte);
  const Tree result = result_of(RunEnd{Status::completed, 0, {}, all, all, 0, false, 0});
  const std::string out = result.at("structuredContent").at("stdout");
  CHECK(out.substr(0, 128) == all.substr(0, 128));
  CHECK(out.size() == 128 + 128 * 3);
  CHECK(result.at("structuredContent").at("lossy") == true);
}

TEST_CASE("progress names the token as it came") {
  CHECK(encode_progress({"\"a\\u0041\"", 3, 15}) ==
        R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"a\u0041",)"
        R"("progress":3,"total":15}})"
        "\n");
}
