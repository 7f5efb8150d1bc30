// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a frame says, by the strict rules for a client's and the shallow ones for a server's.
#include "mcp/message.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace std::string_view_literals;
using namespace aegis::mcp;
using Kind = json::Defect::Kind;

/// One line a message, so that tables can say what they expect.
std::string show(const Id& id) {
  switch (id.type) {
    case Id::Type::absent:
      return "none";
    case Id::Type::number:
      return "number " + std::string{id.lexeme};
    case Id::Type::string:
      return "string " + std::string{id.lexeme};
    case Id::Type::null:
      return "null";
    case Id::Type::other:
      return "other " + std::string{id.lexeme};
  }
  return "?";
}

std::string show(const Message& message) {
  const auto tool = [](const std::optional<std::string_view>& name) {
    return name ? " tool " + std::string{*name} : "";
  };
  if (const auto* request = std::get_if<Request>(&message)) {
    return "request " + show(request->id) + " " + std::string{request->method} +
           tool(request->tool);
  }
  if (const auto* note = std::get_if<Notification>(&message)) {
    const std::string cancelled =
        note->cancelled.type == Id::Type::absent ? "" : " cancels " + show(note->cancelled);
    return "notification " + std::string{note->method} + tool(note->tool) + cancelled;
  }
  if (const auto* response = std::get_if<Response>(&message))
    return "response " + show(response->id);
  return "malformed";
}

std::string show(const Reading& reading) {
  std::string text = reading.is_batch ? "batch" : "";
  for (const Message& message : reading.messages)
    text += (text.empty() ? "" : "; ") + show(message);
  return text;
}

std::string client(std::string_view frame) {
  MessageReader reader;
  const Reading reading = reader.read_client(frame);
  return reading.defect ? "defect" : show(reading);
}

std::optional<Kind> client_defect(std::string_view frame) {
  MessageReader reader;
  const Reading reading = reader.read_client(frame);
  if (!reading.defect) return std::nullopt;
  return reading.defect->kind;
}

std::string server(std::string_view frame) {
  MessageReader reader;
  const Reading reading = reader.read_server(frame);
  return reading.defect ? "defect" : show(reading);
}

struct Row {
  std::string_view frame;
  std::string_view expected;
};

}  // namespace

TEST_CASE("a client's frame is a request, a notification or a response") {
  constexpr Row kRows[] = {
      {R"({"jsonrpc":"2.0","id":1,"method":"ping"})"sv, "request number 1 ping"sv},
      {R"({"jsonrpc":"2.0","id":"a\u0062","method":"ping"})"sv,
       R"(request string "a\u0062" ping)"sv},
      {R"({"id":12345678901234567890123,"method":"ping"})"sv,
       "request number 12345678901234567890123 ping"sv},
      {R"({"id":-1.50e+2,"method":"ping"})"sv, "request number -1.50e+2 ping"sv},
      {R"({"jsonrpc":"1.0","id":1,"method":"ping"})"sv, "request number 1 ping"sv},
      {R"({"id":1,"method":""})"sv, "request number 1 "sv},
      {R"({"id":1,"method":"tools/call","params":{"name":"x","arguments":{"name":"y"}}})"sv,
       "request number 1 tools/call tool x"sv},
      {R"({"params":{"name":"x"},"method":"tools/call","id":1})"sv,
       "request number 1 tools/call tool x"sv},
      {R"({"id":1,"m\u0065thod":"tools\/call","p\u0061rams":{"\u006eame":"x\u0079\ud83d\ude00"}})"sv,
       "request number 1 tools/call tool xy😀"sv},
      {R"({"id":1,"method":"tools/call","params":{"name":"\u0065vil é"}})"sv,
       "request number 1 tools/call tool evil é"sv},
      {R"({"id":1,"method":"tools/call","params":{"name":""}})"sv,
       "request number 1 tools/call tool "sv},
      {R"({"id":1,"method":"tools/call","params":{"arguments":{"name":"x"}}})"sv,
       "request number 1 tools/call"sv},
      {R"({"id":1,"method":"tools/call","params":{"name":1}})"sv, "request number 1 tools/call"sv},
      {R"({"id":1,"method":"tools/call","params":{"name":["x"]}})"sv,
       "request number 1 tools/call"sv},
      {R"({"id":1,"method":"tools/call","params":["x"]})"sv, "request number 1 tools/call"sv},
      {R"({"id":1,"method":"tools/call","params":null})"sv, "request number 1 tools/call"sv},
      {R"({"id":1,"method":"tools/call","name":"x"})"sv, "request number 1 tools/call"sv},
      {R"({"id":1,"method":"prompts/get","params":{"name":"x"}})"sv,
       "request number 1 prompts/get tool x"sv},
      {R"({"method":"tools/call","params":{"name":"x"}})"sv, "notification tools/call tool x"sv},
      {R"({"method":"notifications/initialized"})"sv, "notification notifications/initialized"sv},
      {R"({"method":"notifications/cancelled","params":{"requestId":"7","reason":"r"}})"sv,
       R"(notification notifications/cancelled cancels string "7")"sv},
      {R"({"method":"notifications/cancelled","params":{"request\u0049d":7}})"sv,
       "notification notifications/cancelled cancels number 7"sv},
      {R"({"method":"notifications/cancelled","params":{}})"sv,
       "notification notifications/cancelled"sv},
      {R"({"id":1,"result":{}})"sv, "response number 1"sv},
      {R"({"id":1,"result":null})"sv, "response number 1"sv},
      {R"({"id":"1","error":{"code":1,"message":""}})"sv, R"(response string "1")"sv},
      {R"({"id":null,"error":{"code":-32700,"message":""}})"sv, "response null"sv},
      {R"({"error":{"code":-32700,"message":""}})"sv, "response none"sv},
      {R"({"id":1,"result":{"method":"tools/call","params":{"name":"x"}}})"sv,
       "response number 1"sv},
      {R"([{"id":1,"method":"ping"}])"sv, "batch; request number 1 ping"sv},
      {R"( [ {"id":1,"method":"a"} , {"method":"b"} , {"id":2,"result":1} ] )"sv,
       "batch; request number 1 a; notification b; response number 2"sv},
      {R"([{"id":1,"method":"\u0061"},{"id":2,"method":"\u0062"},{"id":3,"method":"\u0063"}])"sv,
       "batch; request number 1 a; request number 2 b; request number 3 c"sv},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.frame);
    CHECK(client(row.frame) == row.expected);
    CHECK(client(std::string{row.frame} + '\n') == row.expected);
    CHECK(client(std::string{row.frame} + "\r\n") == row.expected);
  }
}

TEST_CASE("JSON that is no message is a defect of a client's frame") {
  constexpr std::string_view kFrames[] = {
      "1"sv,
      "\"tools/call\""sv,
      "null"sv,
      "true"sv,
      "{}"sv,
      "[]"sv,
      "[1]"sv,
      "[null]"sv,
      "[{}]"sv,
      R"({"jsonrpc":"2.0"})"sv,
      R"({"id":1})"sv,
      R"({"method":1,"id":1})"sv,
      R"({"method":null,"id":1})"sv,
      R"({"method":["tools/call"],"id":1})"sv,
      R"({"id":null,"method":"a"})"sv,
      R"({"id":{},"method":"a"})"sv,
      R"({"id":[],"method":"a"})"sv,
      R"({"id":true,"method":"a"})"sv,
      R"({"id":1,"method":"a","result":1})"sv,
      R"({"id":1,"method":"a","error":{}})"sv,
      R"({"result":1})"sv,
      R"({"id":{},"result":1})"sv,
      R"({"id":false,"error":{}})"sv,
      R"({"id":1,"method":2,"result":1})"sv,
      R"([{"id":1,"method":"a"},{"id":2}])"sv,
      R"([{"id":1,"method":"a"},"b"])"sv,
  };
  for (const std::string_view frame : kFrames) {
    CAPTURE(frame);
    CHECK(client_defect(frame) == Kind::not_a_message);
  }
  CHECK(client_defect("[[]]") == Kind::nested_batch);
  CHECK(client_defect(R"([{"id":1,"method":"a"},[{"id":2,"method":"b"}]])") == Kind::nested_batch);
}

TEST_CASE("the newline and one carriage return before it frame, all others are content") {
  constexpr std::string_view kFrame = R"({"id":1,"method":"a"})"sv;
  const std::string frame{kFrame};
  CHECK_FALSE(client_defect(frame).has_value());
  CHECK_FALSE(client_defect(frame + "\n").has_value());
  CHECK_FALSE(client_defect(frame + "\r\n").has_value());
  CHECK_FALSE(client_defect("\t " + frame + " \t\r\n").has_value());
  CHECK(client_defect(frame + "\r\r\n") == Kind::control_character);
  CHECK(client_defect(frame + "\n\n") == Kind::control_character);
  CHECK(client_defect(frame + "\n\r") == Kind::control_character);
  CHECK(client_defect("\r" + frame + "\n") == Kind::control_character);
  CHECK(client_defect("{\"id\":1,\r\"method\":\"a\"}\n") == Kind::control_character);
}

TEST_CASE("blank lines and headers are no attempt at a message, and are told apart") {
  for (const std::string_view frame : {""sv, "\n"sv, "\r\n"sv, "  \t \n"sv, "\r\r\n"sv}) {
    CAPTURE(frame);
    CHECK(client_defect(frame) == Kind::empty);
    CHECK(server(frame) == "defect");
  }
  for (const std::string_view frame : {"Content-Length: 12\r\n"sv,
                                       "content-length:12\n"sv,
                                       "CONTENT-LENGTH : 1\n"sv,
                                       "Content-Type: application/json\r\n"sv}) {
    CAPTURE(frame);
    const bool is_header = frame.find(" :") == std::string_view::npos;
    CHECK(client_defect(frame) == (is_header ? Kind::content_length : Kind::syntax));
  }
  CHECK(client_defect("Content\n") == Kind::syntax);
}

TEST_CASE("of a frame with a defect the last of repeated members is the best guess") {
  constexpr Row kRows[] = {
      {R"({"id":1,"method":"a","method":"tools/call","params":{"name":"x","name":"y"}})"sv,
       "request number 1 tools/call tool y"sv},
      {R"({"id":1,"method":"tools/call","params":{"name":"x"},"params":{}})"sv,
       "request number 1 tools/call"sv},
      {R"({"id":1,"method":"tools/call","params":{"name":"x"},"params":[]})"sv,
       "request number 1 tools/call"sv},
      {R"({"id":1,"id":"2","method":"a"})"sv, R"(request string "2" a)"sv},
      {R"({"id":null,"method":"a"})"sv, "request null a"sv},
      {R"({"id":1,"method":"a","result":1})"sv, "request number 1 a"sv},
      {R"({"id":1,"Method":"a"})"sv, "malformed"sv},
      {R"({"id":1,"method":"a","Method":"b"})"sv, "request number 1 a"sv},
      {R"([{"id":1,"method":"a"},[],7,{"id":2,"result":1}])"sv,
       "batch; request number 1 a; malformed; malformed; response number 2"sv},
      {"[]"sv, "batch; malformed"sv},
      {"7"sv, "malformed"sv},
      {"\xEF\xBB\xBF{\"id\":1,\"method\":\"a\"}"sv, "request number 1 a"sv},
      {"\xEF\xBB\xBF[{\"id\":1,\"method\":\"a\"}]"sv, "batch; request number 1 a"sv},
      {"{\"id\":1,\r\"method\":\"tools/call\",\"params\":{\"name\":\"\t\xFF\"}}"sv,
       "request number 1 tools/call tool \t\xFF"sv},
      {R"({"id":1,"method":"tools/call","params":{"name":"\ud800"}})"sv,
       "request number 1 tools/call tool \xED\xA0\x80"sv},
      {R"({"id":1,"method":"a"} x)"sv, ""sv},
      {R"({"id":1,"method":"a")"sv, ""sv},
      {R"([{"id":1,"method":"a"})"sv, "batch"sv},
  };
  MessageReader reader;
  for (const Row& row : kRows) {
    CAPTURE(row.frame);
    const Reading reading = reader.read_client(row.frame);
    CHECK(reading.defect.has_value());
    CHECK(show(reading) == row.expected);
  }
}

TEST_CASE("a refusal of a whole frame may name its id only when there is no doubt about it") {
  constexpr Row kRows[] = {
      {R"({"id":1,"method":"a"})"sv, "number 1"sv},
      {R"({"id":"x","method":"a"})"sv, R"(string "x")"sv},
      {R"({"method":"a"})"sv, "none"sv},
      {R"({"id":7,"method":"a","method":"b"})"sv, "number 7"sv},
      {R"({"id":7,"a":{"id":8,"id":9}})"sv, "number 7"sv},
      {R"({"\u0069d":7,"method":1})"sv, "number 7"sv},
      {R"({"id":7,"Id":8,"method":"a"})"sv, "number 7"sv},
      {R"({"id":7,"id":7,"method":"a"})"sv, "none"sv},
      {R"({"id":7,"i\u0064":8,"method":"a"})"sv, "none"sv},
      {R"({"id":null,"method":"a"})"sv, "none"sv},
      {R"({"id":[7],"method":"a"})"sv, "none"sv},
      {R"({"id":"\ud800","method":"a"})"sv, "none"sv},
      {"{\"id\":\"\x01\",\"method\":\"a\"}"sv, "none"sv},
      {"{\"id\":\"\xFF\",\"method\":\"a\"}"sv, "none"sv},
      {"{\"id\":\"\\q\",\"method\":\"a\"}"sv, "none"sv},
      {R"({"id":7,"method":"a"} x)"sv, "none"sv},
      {R"({"id":7,"method":"a)"sv, "none"sv},
      {R"([{"id":7,"method":"a"}])"sv, "none"sv},
      {R"([{"id":7,"method":"a","method":"b"}])"sv, "none"sv},
      {"\xEF\xBB\xBF{\"id\":7,\"method\":\"a\"}"sv, "number 7"sv},
  };
  MessageReader reader;
  for (const Row& row : kRows) {
    CAPTURE(row.frame);
    CHECK(show(reader.read_client(row.frame).sole_id) == row.expected);
  }
}

TEST_CASE("a certain frame may be a call exactly when it holds one") {
  MessageReader reader;
  CHECK(reader.read_client(R"({"id":1,"method":"tools\/c\u0061ll"})").may_be_call);
  CHECK(reader.read_client(R"({"method":"tools/call"})").may_be_call);
  CHECK(
      reader.read_client(R"([{"id":1,"method":"a"},{"id":2,"method":"tools/call"}])").may_be_call);
  CHECK_FALSE(
      reader.read_client(R"({"id":1,"method":"tools/list","params":{"method":"tools/call"}})")
          .may_be_call);
  CHECK_FALSE(reader.read_client(R"({"id":1,"result":"tools/call"})").may_be_call);
  CHECK_FALSE(reader.read_client(R"({"id":1,"method":"Tools/Call"})").may_be_call);
}

TEST_CASE("a piece of a message may be a call, a whole other message with a defect may not") {
  MessageReader reader;
  CHECK(reader.read_client(R"({"id":1,"method":"tools/cal)").may_be_call);
  CHECK(reader.read_client(R"(ll","params":{"name":"x"}})").may_be_call);
  CHECK(reader.read_client(R"({"id":1,"Method":"tools/call"})").may_be_call);
  CHECK_FALSE(reader.read_client(R"({"id":1,"method":"ping","method":"tools/cal"})").may_be_call);
  CHECK_FALSE(reader.read_client(R"({"id":1,"method":"ping")").may_be_call);
  CHECK_FALSE(reader.read_client("\n").may_be_call);
  CHECK_FALSE(reader.read_client("Content-Length: 5\r\n").may_be_call);
}

TEST_CASE("a batch of any length takes bounded memory") {
  const auto batch_of = [](std::string_view element, std::size_t count) {
    std::string frame = "[";
    for (std::size_t index = 0; index < count; ++index) {
      frame += element;
      frame += ',';
    }
    frame.back() = ']';
    return frame;
  };
  constexpr std::string_view kCall = R"({"id":1,"method":"tools/call"})";
  MessageReader reader;
  const std::string good = batch_of(kCall, kMaxBatch);
  CHECK_FALSE(reader.read_client(good).defect.has_value());
  CHECK(reader.read_client(good).messages.size() == kMaxBatch);

  const std::string bad = batch_of(kCall, kMaxBatch + 1);
  const Reading reading = reader.read_client(bad);
  REQUIRE(reading.defect.has_value());
  CHECK(reading.defect->kind == Kind::batch_too_long);
  CHECK(reading.defect->offset == good.size());
  CHECK(reading.messages.size() == kMaxBatch);
  CHECK(reading.may_be_call);

  for (const std::string_view element : {R"({"id":1,"result":1})"sv, "{}"sv, "0"sv, "[]"sv}) {
    const std::string frame = batch_of(element, 2 * kMaxBatch);
    CHECK_FALSE(reader.read_server(frame).defect.has_value());
    CHECK(reader.read_server(frame).messages.size() == kMaxBatch);
    CHECK(reader.read_client(frame).messages.size() == kMaxBatch);
  }
}

TEST_CASE("a server's frame is read only as far as it answers") {
  constexpr Row kRows[] = {
      {R"({"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"\"}]"}]}})"sv,
       "response number 1"sv},
      {R"({"result":{},"id":"1"})"sv, R"(response string "1")"sv},
      {R"({"error":{},"id":null})"sv, "response null"sv},
      {R"({"id":1,"result":{},"error":{}})"sv, "response number 1"sv},
      {R"({"id":1,"method":"sampling/createMessage","params":{"name":"x"}})"sv,
       "request number 1 sampling/createMessage"sv},
      {R"({"id":1,"method":"x","result":1})"sv, "request number 1 x"sv},
      {R"({"id":1,"method":7,"result":1})"sv, "malformed"sv},
      {R"({"method":"notifications/progress","params":{"progressToken":1}})"sv,
       "notification notifications/progress"sv},
      {R"({"method":"notifications\/progress"})"sv, "notification notifications/progress"sv},
      {R"({"id":1,"result":1,"id":2})"sv, "response number 2"sv},
      {R"({"i\u0064":3,"r\u0065sult":1})"sv, "response number 3"sv},
      {R"({"id":1,"Result":1})"sv, "malformed"sv},
      {R"({"id":[1],"result":1})"sv, "response other [1]"sv},
      {R"({"result":1})"sv, "response none"sv},
      {R"([{"id":1,"result":1},{"method":"a"},5,[],{"id":2,"error":1}])"sv,
       "batch; response number 1; notification a; malformed; malformed; response number 2"sv},
      {"[]"sv, "batch; malformed"sv},
      {"null"sv, "malformed"sv},
      {"{\"id\":1,\"result\":\"\xFF\t\r\"}"sv, "response number 1"sv},
      {"\xEF\xBB\xBF{\"id\":1,\"result\":1}"sv, "response number 1"sv},
      {R"({"a":{"id":5,"result":1},"id":1,"result":{"a":1,"a":2}})"sv, "response number 1"sv},
      {"hello"sv, "defect"sv},
      {R"({"id":1,"result":1)"sv, "defect"sv},
      {R"({"id":1,"result":1}})"sv, "defect"sv},
      {R"({"id":1,"result":[1,]})"sv, "defect"sv},
      {R"({"id":1,"result":{"a":tru}})"sv, "defect"sv},
      {R"({"id":1,"result":"unterminated})"sv, "defect"sv},
      {R"({"id":1,"result":"\"})"sv, "defect"sv},
      {R"({"id":01,"result":1})"sv, "defect"sv},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.frame);
    CHECK(server(row.frame) == row.expected);
    CHECK(server(std::string{row.frame} + '\n') == row.expected);
    CHECK(server(std::string{row.frame} + "\r\n") == row.expected);
  }
}

TEST_CASE("a reader re-used for frames of every kind reads each as a new one does") {
  constexpr std::string_view kFrames[] = {
      R"([{"id":1,"method":"\u0061\u0062"},{"id":2,"method":"tools\/call","params":{"name":"\u0078"}}])"sv,
      R"({"id":1,"method":"a","method":"b"})"sv,
      R"({"id":"\u0041","method":"tools/call","params":{"name":"x"}})"sv,
      "Content-Length: 5"sv,
      "\n"sv,
      R"({"id":1,"result":"ok"})"sv,
      R"({"method":"notifications/cancelled","params":{"requestId":1}})"sv,
      "garbage"sv,
      "[]"sv,
  };
  MessageReader reader;
  for (int round = 0; round < 3; ++round) {
    for (const std::string_view frame : kFrames) {
      CAPTURE(frame);
      MessageReader fresh;
      const Reading again = reader.read_client(frame);
      const Reading first = fresh.read_client(frame);
      CHECK(show(again) == show(first));
      CHECK(show(again.sole_id) == show(first.sole_id));
      CHECK(again.may_be_call == first.may_be_call);
      CHECK(again.defect.has_value() == first.defect.has_value());
      CHECK(show(reader.read_server(frame)) == show(fresh.read_server(frame)));
    }
  }
}
