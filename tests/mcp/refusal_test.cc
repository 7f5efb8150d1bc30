// SPDX-License-Identifier: Apache-2.0 OR MIT
// Refusals, byte for byte, and read back by another parser.
#include "mcp/refusal.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

using namespace aegis::mcp;
using Tree = nlohmann::json;

Id number(std::string_view lexeme) {
  return {Id::Type::number, lexeme};
}

constexpr std::array kCodes{RefusalCode::policy_denied,
                            RefusalCode::rate_limited,
                            RefusalCode::pending_approval,
                            RefusalCode::malformed_call,
                            RefusalCode::malformed_frame,
                            RefusalCode::batch_denied,
                            RefusalCode::record_unavailable};

}  // namespace

TEST_CASE("a refusal is a JSON-RPC error of fixed shape") {
  const Refusal refusal{
      number("7"), RefusalCode::policy_denied, "rule \"no-shell\": use read_file"};
  CHECK(
      encode_refusal(refusal, RefuseAs::error) ==
      R"({"jsonrpc":"2.0","id":7,"error":{"code":-32042,"message":"rule \"no-shell\": use read_file",)"
      R"("data":{"aegis":{"layer":"wrap","code":"POLICY_DENIED"}}}})"
      "\n");
}

TEST_CASE("a refusal as a result is a tool result with the same words") {
  const Refusal refusal{number("7"), RefusalCode::rate_limited, "wait 60 s"};
  CHECK(
      encode_refusal(refusal, RefuseAs::result) ==
      R"({"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"wait 60 s"}],"isError":true,)"
      R"("resultType":"complete","_meta":{"aegis":{"layer":"wrap","code":"RATE_LIMITED"}}}})"
      "\n");
}

TEST_CASE("the id goes back as it came") {
  for (const std::string_view lexeme :
       {"1", "-0", "1.0", "1e3", "123456789012345678901234567890", "0.10"}) {
    const std::string frame =
        encode_refusal({number(lexeme), RefusalCode::malformed_call, ""}, RefuseAs::error);
    CHECK(frame.find("\"id\":" + std::string{lexeme} + ",") != std::string::npos);
  }
  const Id text{Id::Type::string, R"("a\u0041\"\ud83d\ude00")"};
  for (const RefuseAs as : {RefuseAs::error, RefuseAs::result}) {
    const std::string frame = encode_refusal({text, RefusalCode::malformed_call, ""}, as);
    CHECK(frame.find(R"("id":"a\u0041\"\ud83d\ude00",)") != std::string::npos);
  }
}

TEST_CASE("what cannot be answered by id is an error with a null id, however refusals are given") {
  for (const Id& id : {Id{}, Id{Id::Type::null, "null"}, Id{Id::Type::other, "{\"x\":1}"}}) {
    for (const RefuseAs as : {RefuseAs::error, RefuseAs::result}) {
      const Tree frame = Tree::parse(encode_refusal({id, RefusalCode::malformed_frame, "m"}, as));
      CHECK(frame.at("id").is_null());
      CHECK(frame.at("error").at("code") == kRefusalCode);
      CHECK_FALSE(frame.contains("result"));
    }
  }
}

TEST_CASE("any message survives: quotes, controls, every script") {
  using namespace std::string_view_literals;
  std::string all;
  for (char byte = 0; byte < 0x7F; ++byte)
    all += byte;
  for (const std::string_view message : {""sv,
                                         "a\"b\\c/d"sv,
                                         "line\nline\r\n\ttab"sv,
                                         "\0x"sv,
                                         "\x7F"sv,
                                         "żółć 鍵 😀 \xE2\x80\xA8"sv,
                                         std::string_view{all}}) {
    const Refusal refusal{number("1"), RefusalCode::policy_denied, message};
    for (const RefuseAs as : {RefuseAs::error, RefuseAs::result}) {
      const std::string frame = encode_refusal(refusal, as);
      CHECK(frame.find('\n') == frame.size() - 1);
      CHECK(frame.find('\r') == std::string::npos);
      const Tree parsed = Tree::parse(frame);
      CHECK(parsed.at("jsonrpc") == "2.0");
      CHECK((as == RefuseAs::error ? parsed["error"]["message"]
                                   : parsed["result"]["content"][0]["text"]) == message);
    }
  }
}

TEST_CASE("codes have their own names, and no refusal looks like an elicitation") {
  std::vector<std::string_view> names;
  for (const RefusalCode code : kCodes) {
    names.push_back(to_string(code));
    for (const RefuseAs as : {RefuseAs::error, RefuseAs::result}) {
      const std::string frame = encode_refusal({number("1"), code, "m"}, as);
      const Tree parsed = Tree::parse(frame);
      const Tree& aegis = as == RefuseAs::error ? parsed["error"]["data"]["aegis"]
                                                : parsed["result"]["_meta"]["aegis"];
      CHECK(aegis == Tree{{"layer", "wrap"}, {"code", to_string(code)}});
      CHECK(frame.find("elicitations") == std::string::npos);
    }
  }
  CHECK(names == std::vector<std::string_view>{"POLICY_DENIED",
                                               "RATE_LIMITED",
                                               "PENDING_APPROVAL",
                                               "MALFORMED_CALL",
                                               "MALFORMED_FRAME",
                                               "BATCH_DENIED",
                                               "RECORD_UNAVAILABLE"});
}
