// SPDX-License-Identifier: Apache-2.0 OR MIT
// The built-in server's answers, in every revision of the protocol.
#include "mcp/builtin_server.h"

#include <string>
#include <string_view>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

using namespace aegis::mcp;
using Tree = nlohmann::json;

std::string answer(std::string_view frame) {
  BuiltinServer server{"1.2.3"};
  return server.answer(frame);
}

/// A request with id 7.
std::string request(std::string_view method, std::string_view params = "") {
  std::string frame = R"({"jsonrpc":"2.0","id":7,"method":")" + std::string{method} + '"';
  if (!params.empty()) frame += R"(,"params":)" + std::string{params};
  return frame + "}\n";
}

/// params of a request of 2026-07-28.
std::string enveloped(std::string_view version, std::string_view more = "") {
  return R"({"_meta":{"io.modelcontextprotocol/protocolVersion":)" + std::string{version} +
         R"(,"io.modelcontextprotocol/clientCapabilities":{}})" + std::string{more} + "}";
}

constexpr std::string_view kNow = R"("2026-07-28")";

Tree ask(std::string_view method, std::string_view params = "") {
  const std::string frame = answer(request(method, params));
  REQUIRE(frame.ends_with('\n'));
  CHECK(frame.find('\n') == frame.size() - 1);
  Tree tree = Tree::parse(frame);
  CHECK(tree.at("jsonrpc") == "2.0");
  CHECK(tree.at("id") == 7);
  return tree;
}

int code_of(std::string_view method, std::string_view params = "") {
  const Tree tree = ask(method, params);
  return tree.contains("error") ? tree.at("error").at("code").get<int>() : 0;
}

}  // namespace

TEST_CASE("a version that is known is agreed to, any other becomes the newest") {
  struct Row {
    std::string_view asked;
    std::string_view given;
  };
  const Row rows[] = {
      {"2024-11-05", "2024-11-05"},
      {"2025-03-26", "2025-03-26"},
      {"2025-06-18", "2025-06-18"},
      {"2025-11-25", "2025-11-25"},
      {"2026-07-28", "2025-11-25"},
      {"1999-01-01", "2025-11-25"},
      {"", "2025-11-25"},
      {"2025\\u002d06-18", "2025-06-18"},
  };
  for (const Row& row : rows) {
    const Tree result = ask("initialize",
                            R"({"protocolVersion":")" + std::string{row.asked} +
                                R"(","capabilities":{},"clientInfo":{"name":"c","version":"1"}})")
                            .at("result");
    CHECK(result.at("protocolVersion") == row.given);
    CHECK(result.at("serverInfo").at("name") == "aegis");
    CHECK(result.at("serverInfo").at("version") == "1.2.3");
    CHECK(result.at("capabilities") == Tree{{"tools", Tree::object()}});
    CHECK(result.at("instructions").is_string());
  }
}

TEST_CASE("what is asked without a revision is answered as up to 2025-11-25") {
  CHECK(answer(request("ping")) == "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n");
  CHECK(ask("tools/list").at("result").at("tools") == Tree::array());
  CHECK(ask("tools/list", R"({"_meta":{"progressToken":1}})").contains("result"));
  CHECK(ask("tools/call", R"({"name":"nope\n","arguments":{}})").at("error") ==
        Tree{{"code", -32602}, {"message", "Unknown tool: nope\\u000a"}});
}

TEST_CASE("errors by the book") {
  struct Row {
    std::string_view method;
    std::string params;
    int code;
  };
  const Row rows[] = {
      {"initialize", "", -32602},
      {"initialize", "{}", -32602},
      {"initialize", R"({"protocolVersion":1})", -32602},
      {"initialize", "[1]", -32602},
      {"tools/list", R"({"cursor":"c"})", -32602},
      {"tools/list", R"({"cursor":null})", -32602},
      {"tools/list", "[]", -32602},
      {"tools/list", R"({"_meta":1})", -32602},
      {"tools/call", "", -32602},
      {"tools/call", R"({"name":1})", -32602},
      {"tools/call", R"({"name":"a","arguments":[]})", -32602},
      {"tools/call", R"({"name":"a"})", -32602},
      {"ping", "[1]", -32602},
      {"resources/list", "", -32601},
      {"prompts/get", "[]", -32601},
      {"logging/setLevel", R"({"level":"debug"})", -32601},
      {"completion/complete", "{}", -32601},
      {"subscriptions/listen", "{}", -32601},
      {"Ping", "", -32601},
      {"", "", -32601},
      // 2026-07-28: the revision in each request, no initialize and no ping.
      {"server/discover", enveloped(kNow), 0},
      {"tools/list", enveloped(kNow), 0},
      {"tools/list", enveloped(kNow, R"(,"cursor":"c")"), -32602},
      {"tools/call", enveloped(kNow, R"(,"name":"a")"), -32602},
      {"initialize", enveloped(kNow, R"(,"protocolVersion":"2025-06-18")"), -32601},
      {"ping", enveloped(kNow), -32601},
      {"resources/list", enveloped(kNow), -32601},
      {"server/discover", "", -32602},
      {"server/discover", "{}", -32602},
      {"server/discover", R"({"_meta":{}})", -32602},
      {"server/discover", enveloped("1"), -32602},
      {"server/discover",
       R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}})",
       -32602},
      {"server/discover", enveloped(R"("2025-11-25")"), -32022},
      {"tools/list", enveloped(R"("2099-01-01")"), -32022},
  };
  for (const Row& row : rows) {
    CAPTURE(row.method);
    CAPTURE(row.params);
    CHECK(code_of(row.method, row.params) == row.code);
  }
}

TEST_CASE("a revision that is not known is refused with those that are") {
  const Tree error = ask("tools/list", enveloped(R"("2099-\u0030")")).at("error");
  CHECK(error.at("data") == Tree{{"supported", {"2026-07-28"}}, {"requested", "2099-0"}});
}

TEST_CASE("results of 2026-07-28 have what it requires") {
  const Tree discovered = ask("server/discover", enveloped(kNow)).at("result");
  CHECK(discovered.at("supportedVersions") == Tree{"2026-07-28"});
  CHECK(discovered.at("capabilities") == Tree{{"tools", Tree::object()}});
  CHECK(discovered.at("_meta").at("io.modelcontextprotocol/serverInfo").at("name") == "aegis");
  for (const Tree& result : {discovered, ask("tools/list", enveloped(kNow)).at("result")}) {
    CHECK(result.at("resultType") == "complete");
    CHECK(result.at("ttlMs") == 0);
    CHECK(result.at("cacheScope") == "private");
  }
}

TEST_CASE("notifications, responses and blank lines are not answered") {
  for (const std::string_view frame :
       {R"({"jsonrpc":"2.0","method":"notifications/initialized"})",
        R"({"jsonrpc":"2.0","method":"tools/call","params":{"name":"a"}})",
        R"({"jsonrpc":"2.0","id":1,"result":{}})",
        R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}})",
        R"([{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","id":1,"result":{}}])",
        "",
        "\n",
        " \r\n"}) {
    CHECK(answer(frame).empty());
  }
}

TEST_CASE("what is no message is answered with what is known of its id") {
  struct Row {
    std::string_view frame;
    int code;
    std::string_view id;
  };
  const Row rows[] = {
      {"{", -32700, "null"},
      {"x\n", -32700, "null"},
      {"\xFF", -32700, "null"},
      {R"({"jsonrpc":"2.0","id":7,"method":"ping"} x)", -32700, "null"},
      {R"({"jsonrpc":"2.0","id":7,"method":"a\ud800"})", -32700, "7"},
      {"Content-Length: 10", -32700, "null"},
      {"1", -32600, "null"},
      {"[]", -32600, "null"},
      {"{}", -32600, "null"},
      {R"({"jsonrpc":"2.0","id":7})", -32600, "7"},
      {R"({"jsonrpc":"2.0","id":7,"method":1})", -32600, "7"},
      {R"({"jsonrpc":"2.0","id":{},"method":"ping"})", -32600, "null"},
      {R"({"jsonrpc":"2.0","id":7,"method":"ping","method":"ping"})", -32600, "7"},
      {R"({"jsonrpc":"2.0","id":"a","Method":"ping"})", -32600, "\"a\""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.frame);
    const Tree tree = Tree::parse(answer(row.frame));
    CHECK(tree.at("error").at("code") == row.code);
    CHECK(tree.at("id").dump() == row.id);
  }
}

TEST_CASE("a batch is answered by an array, each element by itself") {
  const Tree answers = Tree::parse(answer(
      R"([{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"note"},)"
      R"(5,[{"jsonrpc":"2.0","id":6,"method":"ping"}],{"jsonrpc":"2.0","id":"b","method":"x"},)"
      R"({"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}])"));
  REQUIRE(answers.size() == 5);
  CHECK(answers[0] == Tree{{"jsonrpc", "2.0"}, {"id", 1}, {"result", Tree::object()}});
  CHECK(answers[1].at("error").at("code") == -32600);
  CHECK(answers[1].at("id").is_null());
  CHECK(answers[2].at("error").at("code") == -32600);
  CHECK(answers[2].at("id").is_null());
  CHECK(answers[3].at("error").at("code") == -32601);
  CHECK(answers[3].at("id") == "b");
  CHECK(answers[4].at("error").at("code") == -32600);
}

TEST_CASE("a batch that is too long is refused whole") {
  std::string frame = "[1";
  for (std::size_t count = 0; count < kMaxBatch; ++count)
    frame += ",1";
  const Tree tree = Tree::parse(answer(frame + "]"));
  REQUIRE(tree.is_object());
  CHECK(tree.at("error").at("code") == -32600);
}

TEST_CASE("an id goes back as it came, however often the server was asked") {
  BuiltinServer server{"1"};
  for (const std::string_view id :
       {"0", "-1", "1e2", "\"\\u0041\"", "123456789012345678901234567890"}) {
    const std::string frame =
        R"({"jsonrpc":"2.0","id":)" + std::string{id} + R"(,"method":"ping"})";
    CHECK(server.answer(frame) ==
          R"({"jsonrpc":"2.0","id":)" + std::string{id} + ",\"result\":{}}\n");
  }
}

TEST_CASE("a long tool name is shown in part") {
  const std::string name(10'000, 'n');
  const Tree tree = ask("tools/call", R"({"name":")" + name + "\"}");
  CHECK(tree.at("error").at("message").get<std::string>().size() < 200);
}
