// SPDX-License-Identifier: Apache-2.0 OR MIT
// The second look into calls and answers.
#include "mcp/peek.h"

#include <string>

#include <doctest/doctest.h>

using aegis::mcp::AnswerKind;
using aegis::mcp::peek_answer;
using aegis::mcp::peek_call;
using aegis::mcp::peek_server;
using Form = aegis::mcp::ServerPeek::Form;

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
      {R"({"id":1,"result":{"tools":[]},"error":null,"method":null})", AnswerKind::result},
      {R"({"id":1,"error":{"code":1},"result":null})", AnswerKind::other_error},
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

TEST_CASE("a server's frame is clear when every reader must take it for the same message") {
  struct Row {
    const char* frame;
    Form form;
    std::size_t answered;
  };
  constexpr Row kRows[] = {
      {R"({"jsonrpc":"2.0","id":1,"result":{"ID":5,"id":6,"id":7}})", Form::message, 1},
      {R"({"jsonrpc":"2.0","id":null,"error":{}})", Form::message, 1},
      {R"({"jsonrpc":"2.0","error":{}})", Form::message, 1},
      {R"({"jsonrpc":"2.0","id":1,"method":"ping","params":{"result":1}})", Form::message, 0},
      {R"({"jsonrpc":"2.0","method":"x"})", Form::message, 0},
      {R"([{"id":1,"result":{}},{"method":"x"},{"id":2,"error":{}}])", Form::batch, 2},
      {R"({"id":1,"result":{},"error":null})", Form::message, 1},
      {R"({"id":1,"result":null,"error":{}})", Form::message, 1},
      {R"({"id":1,"result":null})", Form::message, 1},
      {R"({"id":1,"method":null,"result":{}})", Form::message, 1},
      {R"({"id":1,"method":"ping","result":null,"error":null})", Form::unclear, 0},
      {R"({"id":1,"method":"ping","error":null})", Form::message, 0},
      {R"({"id":1,"error":null})", Form::unclear, 0},
      {R"({"id":1,"error":null,"error":{},"result":{}})", Form::unclear, 0},
      {R"({"id":1,"id":2,"result":{}})", Form::unclear, 0},
      {R"({"id":1,"ID":2,"result":{}})", Form::unclear, 0},
      {R"({"id":1,"\u0049d":2,"result":{}})", Form::unclear, 0},
      {R"({"id":1,"id\u0000":2,"result":{}})", Form::unclear, 0},
      {R"({"id":1,"Result":{}})", Form::unclear, 0},
      {"{\"id\":1,\"re\u017fult\":{},\"result\":{}}", Form::unclear, 0},
      {R"({"id":1,"method":"x","result":{}})", Form::unclear, 0},
      {R"({"id":1,"error":{},"result":{}})", Form::unclear, 0},
      {R"({"id":1,"method":5})", Form::unclear, 0},
      {R"({"level":"info"})", Form::unclear, 0},
      {R"([{"id":1,"result":{}},[]])", Form::unclear, 0},
      {R"({"id":1,"result":NaN})", Form::unclear, 0},
      {"{\"method\":\"x\",\"params\":\r{\"id\":1}}", Form::unclear, 0},
      {"a banner", Form::unclear, 0},
      {"5", Form::unclear, 0},
      {"", Form::unclear, 0},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.frame);
    for (const char* end : {"", "\n", "\r\n"}) {
      const std::string frame = std::string(row.frame) + end;
      CHECK(peek_server(frame).form == row.form);
      CHECK(peek_server(frame).answered.size() == row.answered);
    }
  }
}

TEST_CASE("whatever some reader may take for the token of a progress notification is found") {
  struct Row {
    const char* params;
    std::size_t tokens;
  };
  constexpr Row kRows[] = {
      {R"({"progressToken":1,"progress":2})", 1},
      {R"({"progressToken":1,"progressToken":"x"})", 2},
      {R"({"ProgressToken":1})", 1},
      {R"({"progress\u0054oken":1})", 1},
      {R"({"progressToken\u0000x":1})", 1},
      {R"({"progress":1,"message":"progressToken"})", 0},
      {R"({"_meta":{"progressToken":1}})", 0},
      {"[1]", 0},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.params);
    const std::string message =
        R"({"method":"notifications/pro\u0067ress","params":)" + std::string(row.params) + "}";
    CHECK(peek_server(message).progress_tokens.size() == row.tokens);
    CHECK(peek_server("[{\"method\":\"x\"}," + message + "]").progress_tokens.size() == row.tokens);
  }
  CHECK(peek_server(R"({"method":"x","params":{"progressToken":1}})").progress_tokens.empty());
  CHECK(peek_server(R"({"method":"notifications/progress"})").progress_tokens.empty());
}
