// SPDX-License-Identifier: Apache-2.0 OR MIT
// The tools as they are listed: the members of their schemas are those that requests and answers
// have.
#include "mcp/catalogue.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "mcp/broker_answer.h"
#include "mcp/broker_request.h"
#include "mcp/json/scan.h"

namespace {

using namespace aegis::mcp;
using Tree = nlohmann::json;

CatalogueBounds bounds() {
  return {1111, 22, 3333, 444, {"git", "/opt/a \"b\"", "new\nline"}};
}

Tree tool(Operation operation) {
  return Tree::parse(encode_tool(operation, bounds()));
}

std::set<std::string> names_in(const Tree& object) {
  std::set<std::string> names;
  for (const auto& [name, value] : object.items())
    names.insert(name);
  return names;
}

}  // namespace

TEST_CASE("each tool is one strict JSON object on one line, all gaps filled") {
  for (const Operation operation : kOperations) {
    const std::string text = encode_tool(operation, bounds());
    json::Scanner scanner;
    json::Value value;
    scanner.start(text, json::Rules::strict);
    CHECK(scanner.take(value));
    CHECK(scanner.finish());
    CHECK(text.find('$') == std::string::npos);
    const Tree tree = Tree::parse(text);
    CHECK(tree.at("name") == to_string(operation));
    CHECK(tree.at("title") == tree.at("annotations").at("title"));
    CHECK(tree.at("annotations").size() == 5);
    CHECK(tree.at("annotations").at("openWorldHint") == false);
    for (const std::string_view schema : {"inputSchema", "outputSchema"}) {
      const Tree& object = tree.at(std::string{schema});
      CHECK(object.at("type") == "object");
      CHECK(object.at("additionalProperties") == false);
      if (!object.contains("required")) continue;
      for (const auto& name : object.at("required"))
        CHECK(object.at("properties").contains(name.get<std::string>()));
    }
  }
}

TEST_CASE("several tools are parted by commas, in the order asked for") {
  CHECK(encode_tools({}, bounds()).empty());
  const Operation two[] = {Operation::run_command, Operation::read_text};
  const Tree list = Tree::parse("[" + encode_tools(two, bounds()) + "]");
  CHECK(list.size() == 2);
  CHECK(list[0].at("name") == "run_command");
  CHECK(list[1].dump() == tool(Operation::read_text).dump());
}

TEST_CASE("descriptions and schemas name the policy's bounds") {
  const auto holds = [](const Tree& tree, std::string_view text) {
    return tree.at("description").get<std::string>().find(text) != std::string::npos;
  };
  CHECK(holds(tool(Operation::read_text), "1111 bytes"));
  CHECK(tool(Operation::read_text)["inputSchema"]["properties"]["max_bytes"]["maximum"] == 1111);
  for (const Operation operation : {Operation::run_python, Operation::run_command}) {
    const Tree tree = tool(operation);
    CHECK(holds(tree, "22 seconds, 444 MiB of memory, 3333 bytes"));
    CHECK(tree["inputSchema"]["properties"]["timeout_seconds"]["maximum"] == 22);
  }
  CHECK(holds(tool(Operation::run_command), "Programs: git, /opt/a \"b\", new\\u000aline."));
  CatalogueBounds many = bounds();
  many.binaries.clear();
  CHECK(holds(Tree::parse(encode_tool(Operation::run_command, many)), "Programs: none."));
  many.binaries.assign(70, "p");
  CHECK(holds(Tree::parse(encode_tool(Operation::run_command, many)), "p, p, 6 more."));
}

TEST_CASE("only run_command may change anything") {
  for (const Operation operation : kOperations) {
    const Tree annotations = tool(operation).at("annotations");
    const bool writes = operation == Operation::run_command;
    CHECK(annotations.at("readOnlyHint") == !writes);
    CHECK(annotations.at("destructiveHint") == writes);
    CHECK(annotations.at("idempotentHint") == !writes);
  }
}

TEST_CASE("the parameters of the schema are those that are read") {
  struct Row {
    Operation operation;
    std::set<std::string> names;
  };
  const Row rows[] = {
      {Operation::read_text, {"path", "max_bytes"}},
      {Operation::list_dir, {"path", "max_depth", "include_hidden"}},
      {Operation::run_python, {"code", "script_path", "args", "timeout_seconds"}},
      {Operation::run_command, {"argv", "timeout_seconds", "writable"}},
  };
  for (const Row& row : rows) {
    CHECK(names_in(tool(row.operation).at("inputSchema").at("properties")) == row.names);
    for (const std::string& name : row.names) {
      const auto parsed =
          parse_tool_arguments(row.operation, "{\"" + name + R"(":{"no":"value of it"}})");
      REQUIRE(std::holds_alternative<RequestFault>(parsed));
      CHECK(std::get<RequestFault>(parsed).message.find("no such member") == std::string::npos);
    }
  }
}

TEST_CASE("the members of the schema are those that answers have") {
  using Type = ListedEntry::Type;
  RunEnd run{RunEnd::Status::timeout, 1, 2, "\xFF", "", 3, true, 4, 5};
  struct Row {
    Operation operation;
    BrokerAnswer answer;
  };
  const Row rows[] = {
      {Operation::read_text, FileText{"\xFF", "t", true}},
      {Operation::list_dir, Listing{"\xFF", {{"\xFF", Type::file, 1}}, true, 1}},
      {Operation::run_python, run},
      {Operation::run_command, run},
  };
  for (const Row& row : rows) {
    const Tree schema = tool(row.operation).at("outputSchema").at("properties");
    const BrokerAnswer refused = Refused{BrokerCode::approval_required, "r", "m"};
    Tree all = Tree::object();
    for (const BrokerAnswer& answer : {row.answer, refused}) {
      const Tree object = Tree::parse(encode_structured(answer));
      const Tree& known = schema.at("status").at("enum");
      CHECK(std::find(known.begin(), known.end(), object.at("status")) != known.end());
      all.update(object);
    }
    CHECK(names_in(all) == names_in(schema));
  }
  const Tree entry = Tree::parse(encode_structured(rows[1].answer)).at("entries").at(0);
  CHECK(names_in(entry) ==
        names_in(tool(
            Operation::list_dir)["outputSchema"]["properties"]["entries"]["items"]["properties"]));
}
