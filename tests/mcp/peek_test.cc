// SPDX-License-Identifier: Apache-2.0 OR MIT
// The second look into calls and answers.
#include "mcp/peek.h"

#include <string>

#include <doctest/doctest.h>

using aegis::mcp::AnswerKind;
using aegis::mcp::peek_answer;
using aegis::mcp::peek_call;

namespace {

std::string call(std::string_view params) {
  return R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":)" + std::string(params) +
         "}\r\n";
}

}  // namespace

TEST_CASE("a call's arguments and progress token are found wherever they stand") {
  struct Row {
    const char* params;
    const char* arguments;
    const char* token;
  };
  constexpr Row kRows[] = {
      {R"({"name":"a"})", "", ""},
      {R"({"name":"a","arguments":{"x": [1, 2]}})", R"({"x": [1, 2]})", ""},
      {R"({"_meta":{"progressToken":"t\n"},"arguments":null,"name":"a"})", "null", R"("t\n")"},
      {R"({"\u005fmeta":{"other":{"progressToken":3},"progress\u0054oken":-7}})", "", "-7"},
      {R"({"_meta":{"progressToken":{}}})", "", ""},
      {R"({"_meta":{"progressToken":null}})", "", ""},
      {R"({"_meta":[],"arguments":{"_meta":{"progressToken":1},"arguments":2}})",
       R"({"_meta":{"progressToken":1},"arguments":2})",
       ""},
      {"[]", "", ""},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.params);
    const std::string frame = call(row.params);
    CHECK(peek_call(frame).arguments == row.arguments);
    CHECK(peek_call(frame).progress_token == row.token);
  }
}

TEST_CASE("an answer is a result, an error that knows no method, another error, or unclear") {
  struct Row {
    const char* frame;
    AnswerKind kind;
  };
  constexpr Row kRows[] = {
      {R"({"id":1,"result":{"error":{"code":-32601}}})", AnswerKind::result},
      {R"({"id":1,"error":{"code":-32601,"message":"no"}})", AnswerKind::method_not_found},
      {R"({"id":1,"error":{"data":{"code":-32601},"code":-32602}})", AnswerKind::other_error},
      {R"({"id":1,"error":{"code":-32601.0}})", AnswerKind::other_error},
      {R"({"id":1,"error":[]})", AnswerKind::other_error},
      {R"({"id":1})", AnswerKind::unclear},
      {R"({"id":1,"error":{"code":-32601},"result":{"tools":[]}})", AnswerKind::unclear},
      {R"({"id":1,"result":{"tools":[]},"method":"x"})", AnswerKind::unclear},
      {R"({"id":1,"error":{"code":1,"code":-32601}})", AnswerKind::unclear},
      {R"([{"id":1,"result":{}}])", AnswerKind::unclear},
      {R"({"id":1,"result":NaN})", AnswerKind::unclear},
      {"", AnswerKind::unclear},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.frame);
    CHECK(peek_answer(row.frame) == row.kind);
    CHECK(peek_answer(std::string(row.frame) + "\n") == row.kind);
  }
}
