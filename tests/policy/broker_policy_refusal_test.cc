// SPDX-License-Identifier: Apache-2.0 OR MIT
// What version "1.0" of the broker's policy refuses, with the words, the member and the place.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "policy/broker_policy.h"

namespace aegis::policy {
namespace {

struct Row {
  std::string text;
  std::vector<std::string> expected;  // every diagnostic as "line:column:field: message"
};

/// Lines 1 to 5.
constexpr std::string_view kLeast =
    "version: \"1.0\"\npolicy_id: p\nname: n\nworkspace_root: w\nallowed_operations: [read_text]\n";

void check_refused(const Row& row) {
  CAPTURE(row.text);
  const LoadedBrokerPolicy loaded = parse_broker_policy(row.text);
  CHECK_FALSE(loaded.policy.has_value());
  REQUIRE(loaded.diagnostics.size() == row.expected.size());
  for (std::size_t at = 0; at < row.expected.size(); ++at) {
    const Diagnostic& each = loaded.diagnostics[at];
    CHECK(each.severity == Diagnostic::Severity::error);
    CHECK(std::to_string(each.line) + ':' + std::to_string(each.column) + ':' + each.field + ": " +
              each.message ==
          row.expected[at]);
  }
}

/// The least policy with one member more, which is wrong at `at` of line 6.
void check_member(std::string_view member, std::string_view at, std::string_view message) {
  check_refused({std::string(kLeast).append(member).append("\n"),
                 {std::string("6:").append(at).append(": ").append(message)}});
}
/// The least policy with line `number` replaced.
std::string with_line(std::size_t number, std::string_view line) {
  std::string text(kLeast);
  std::size_t begin = 0;
  for (std::size_t each = 1; each < number; ++each)
    begin = text.find('\n', begin) + 1;
  return text.replace(begin, text.find('\n', begin) - begin, line);
}

}  // namespace

TEST_CASE("another version is another policy, of which nothing else is said") {
  for (const std::string_view version : {"1", "\"1\"", "1.00", "2.0", "[1.0]", "true"}) {
    CAPTURE(version);
    const LoadedBrokerPolicy loaded =
        parse_broker_policy("version: " + std::string(version) + "\nnonsense: 1\n");
    CHECK_FALSE(loaded.policy.has_value());
    CHECK(loaded.diagnostics.front().message.find("expected 1.0, found") == 0);
  }
  check_refused({"{}", {"1:1:version: the field is missing; expected version: \"1.0\""}});
  CHECK_FALSE(parse_broker_policy("").policy.has_value());
  CHECK_FALSE(parse_broker_policy("[]").policy.has_value());
  CHECK_FALSE(parse_broker_policy("version: \"1.0\"\nversion: \"1.0\"\n").policy.has_value());
}

TEST_CASE("each member that a policy needs is asked for") {
  check_refused({"version: \"1.0\"\n",
                 {"1:1:policy_id: the field is missing; expected a short text",
                  "1:1:name: the field is missing; expected a short text",
                  "1:1:workspace_root: the field is missing; expected the path of a folder",
                  "1:1:allowed_operations: the field is missing; expected a list of read_text, "
                  "list_dir, run_python, run_command"}});
}

TEST_CASE("texts are texts, and say something") {
  check_refused({with_line(2, "policy_id: \"\""),
                 {"2:12:policy_id: expected a short text, found an empty one"}});
  check_refused(
      {with_line(2, "policy_id: [p]"), {"2:12:policy_id: expected a text, found a list"}});
  check_refused({with_line(2, "policy_id: " + std::string(257, 'x')),
                 {"2:12:policy_id: expected a text of at most 256 bytes, found 257"}});
  check_refused({with_line(3, "name: \"a\\tb\""),
                 {"3:7:name: expected a text without control characters, found \"a\\u0009b\""}});
  check_refused({with_line(3, "name: ~"),
                 {"3:7:name: expected a text, found ~; leave the field out, or put the text in "
                  "quotes"}});
  check_refused({with_line(4, "workspace_root: ''"),
                 {"4:17:workspace_root: expected the path of a folder, found an empty text"}});
  check_refused({with_line(4, "workspace_root: \"~/w\""),
                 {"4:17:workspace_root: no '~' is expanded here; write the whole path"}});
  check_refused({with_line(4, "workspace_root: \"a\\nb\""),
                 {"4:17:workspace_root: expected a path without control characters, found "
                  "\"a\\u000ab\""}});
  check_member("description: ''",
               "14:description",
               "expected a text, found an empty one; leave the field out");
  check_member("description: {}", "14:description", "expected a text, found a map");
}

TEST_CASE("unknown and repeated members and items are refused") {
  check_member("extra: 1",
               "1:extra",
               "unknown field; expected one of version, policy_id, name, description, "
               "workspace_root, allowed_operations, path_rules, execution_rules, "
               "require_approval_for");
  check_member("rules: []",
               "1:rules",
               "unknown field; expected one of version, policy_id, name, description, "
               "workspace_root, allowed_operations, path_rules, execution_rules, "
               "require_approval_for; rules are for wrap --policy and recheck");
  check_member("path_rules: {allowed_paths: [a]}",
               "14:path_rules.allowed_paths",
               "unknown field; expected one of allowed_subpaths, denied_patterns, "
               "max_file_read_bytes");
  check_member("execution_rules: {timeout: 1}",
               "19:execution_rules.timeout",
               "unknown field; expected one of max_timeout_seconds, max_output_bytes, "
               "max_memory_mb, allow_network, allowed_binaries, allowed_paths");
  check_member("name: m", "1:name", "the field stands twice; its first value is on line 3");
  check_refused({with_line(5, "allowed_operations: [read_text, read_text]"),
                 {"5:33:allowed_operations[1]: the item stands twice; first on line 5"}});
  check_refused({with_line(5, "allowed_operations: [read_file]"),
                 {"5:22:allowed_operations[0]: expected read_text, list_dir, run_python or "
                  "run_command, found \"read_file\""}});
  check_refused({with_line(5, "allowed_operations: read_text"),
                 {"5:21:allowed_operations: expected a list, found \"read_text\""}});
  check_member("require_approval_for: [sudo]",
               "24:require_approval_for[0]",
               "expected read_text, list_dir, run_python or run_command, found \"sudo\"");
  check_member("path_rules: {allowed_subpaths: [a/b, a//b/]}",
               "38:path_rules.allowed_subpaths[1]",
               "the item stands twice; first on line 6");
  check_member("path_rules: {denied_patterns: [a, a]}",
               "35:path_rules.denied_patterns[1]",
               "the item stands twice; first on line 6");
  check_member("execution_rules: {allowed_binaries: [a, a]}",
               "41:execution_rules.allowed_binaries[1]",
               "the item stands twice; first on line 6");
}

TEST_CASE("numbers are whole, plain and within their bounds") {
  struct Bound {
    std::string_view map;
    std::string_view name;
    std::string_view range;
  };
  const Bound bounds[] = {
      {"path_rules", "max_file_read_bytes", "1 to 52428800"},
      {"execution_rules", "max_timeout_seconds", "1 to 300"},
      {"execution_rules", "max_output_bytes", "1 to 10485760"},
      {"execution_rules", "max_memory_mb", "16 to 4096"},
  };
  for (const Bound& bound : bounds) {
    const std::string expected = "expected a whole number from " + std::string(bound.range);
    for (const std::string_view value : {"0",
                                         "-1",
                                         "true",
                                         "1.5",
                                         "1e3",
                                         "0x10",
                                         "\"20\"",
                                         ".nan",
                                         ".inf",
                                         "99999999999999999999",
                                         "52428801",
                                         "[]",
                                         "null",
                                         "017",
                                         "+20"}) {
      const std::string text = std::string(kLeast)
                                   .append(bound.map)
                                   .append(": {")
                                   .append(bound.name)
                                   .append(": ")
                                   .append(value)
                                   .append("}\n");
      CAPTURE(text);
      const LoadedBrokerPolicy loaded = parse_broker_policy(text);
      CHECK_FALSE(loaded.policy.has_value());
      REQUIRE(loaded.diagnostics.size() == 1);
      CHECK(loaded.diagnostics[0].field == std::string(bound.map) + "." + std::string(bound.name));
      CHECK(loaded.diagnostics[0].message.find(expected) == 0);
    }
  }
  check_member("execution_rules: {max_memory_mb: 15}",
               "34:execution_rules.max_memory_mb",
               "expected a whole number from 16 to 4096, found \"15\"");
  check_member("execution_rules: {max_timeout_seconds: 301}",
               "40:execution_rules.max_timeout_seconds",
               "expected a whole number from 1 to 300, found \"301\"");
  check_member("execution_rules: {max_output_bytes: 10485761}",
               "37:execution_rules.max_output_bytes",
               "expected a whole number from 1 to 10485760, found \"10485761\"");
}

TEST_CASE("there is no network to be allowed") {
  check_member(
      "execution_rules: {allow_network: true}",
      "34:execution_rules.allow_network",
      "what the broker runs has no network, whatever a policy says; expected false, or the "
      "field to be left out");
  for (const std::string_view value :
       {"\"false\"", "0", "no", "False", "FALSE", "off", "[]", "~"}) {
    CAPTURE(value);
    const LoadedBrokerPolicy loaded =
        parse_broker_policy(std::string(kLeast)
                                .append("execution_rules: {allow_network: ")
                                .append(value)
                                .append("}\n"));
    CHECK_FALSE(loaded.policy.has_value());
    REQUIRE(loaded.diagnostics.size() == 1);
    CHECK(loaded.diagnostics[0].message.find("expected true or false, found ") == 0);
  }
}

TEST_CASE("paths are relative and stay inside") {
  struct Bad {
    std::string_view item;
    std::string_view why;
  };
  const Bad rows[] = {
      {"/etc", "found \"/etc\": it is absolute"},
      {"../a", "found \"../a\": \"..\" is never"},
      {"a/..", "found \"a/..\": \"..\" is never"},
      {"''", "found \"\": it is empty"},
      {"\"a\\nb\"", "it has a control character"},
      {"[a]", "expected a text, found a list"},
      {"null", "expected a text, found null"},
  };
  for (const std::string_view list :
       {"path_rules: {allowed_subpaths: [", "execution_rules: {allowed_paths: ["}) {
    for (const Bad& row : rows) {
      const std::string text = std::string(kLeast).append(list).append(row.item).append("]}\n");
      CAPTURE(text);
      const LoadedBrokerPolicy loaded = parse_broker_policy(text);
      CHECK_FALSE(loaded.policy.has_value());
      REQUIRE(loaded.diagnostics.size() == 1);
      CHECK(loaded.diagnostics[0].message.find(row.why) != std::string::npos);
    }
  }
  check_member(
      "path_rules: {allowed_subpaths: []}",
      "32:path_rules.allowed_subpaths",
      "expected at least one path; \".\" is the whole workspace, as when the field is left "
      "out");
}

TEST_CASE("patterns and programs have their forms") {
  check_member("path_rules: {denied_patterns: ['a[']}",
               "32:path_rules.denied_patterns[0]",
               "expected a pattern of names, found \"a[\": a '[' without its ']'; for a '[' itself "
               "write [[]");
  check_member(
      "path_rules: {denied_patterns: ['']}",
      "32:path_rules.denied_patterns[0]",
      "expected a pattern of names, found \"\": an empty name; write one '/' between names "
      "and none at the ends");
  struct Bad {
    std::string_view item;
    std::string_view why;
  };
  const Bad rows[] = {
      {"''", "found an empty text"},
      {"./git", "would change with the folder"},
      {"bin/git", "would change"},
      {"/usr/../bin/git", "without \"..\""},
      {"/usr//bin/git", "without \"..\""},
      {"/", "without \"..\""},
      {"/usr/bin/", "without \"..\""},
      {"..", "found a folder"},
      {"\"a\\tb\"", "control characters"},
      {"/./git", "without \"..\""},
  };
  for (const Bad& row : rows) {
    CAPTURE(row.item);
    const LoadedBrokerPolicy loaded =
        parse_broker_policy(std::string(kLeast)
                                .append("execution_rules: {allowed_binaries: [")
                                .append(row.item)
                                .append("]}\n"));
    CHECK_FALSE(loaded.policy.has_value());
    REQUIRE(loaded.diagnostics.size() == 1);
    CHECK(loaded.diagnostics[0].message.find(row.why) != std::string::npos);
  }
}

TEST_CASE("lists have an end, and so have complaints") {
  std::string many = "path_rules: {denied_patterns: [";
  for (int item = 0; item <= 256; ++item)
    many += "p" + std::to_string(item) + ", ";
  check_member(
      many + "]}", "31:path_rules.denied_patterns", "expected at most 256 items, found 257");
  std::string bad = "path_rules: {denied_patterns: [";
  for (int item = 0; item < 100; ++item)
    bad += "/" + std::to_string(item) + ", ";
  CHECK(parse_broker_policy(std::string(kLeast) + bad + "]}\n").diagnostics.size() == 21);
}

}  // namespace aegis::policy
