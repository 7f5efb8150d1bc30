// SPDX-License-Identifier: Apache-2.0 OR MIT
// What version "1.0" of the broker's policy takes, what it means, and what is worth a warning. What
// it refuses is broker_policy_refusal_test.cc's.
#include "policy/broker_policy.h"

#include <array>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "mcp/json/canonical.h"
#include "tests/policy/broker_world.h"

namespace aegis::policy {
namespace {

using Texts = std::vector<std::string>;

constexpr std::string_view kLeast =
    "version: \"1.0\"\npolicy_id: p\nname: n\nworkspace_root: w\nallowed_operations: [read_text]\n";

BrokerPolicy load(std::string_view text) {
  LoadedBrokerPolicy loaded = parse_broker_policy(text);
  CAPTURE(text);
  for (const Diagnostic& each : loaded.diagnostics)
    CAPTURE(each.message);
  REQUIRE(loaded.policy.has_value());
  return *std::move(loaded.policy);
}

Texts warnings_of(std::string_view members) {
  const LoadedBrokerPolicy loaded = parse_broker_policy(members);
  CAPTURE(members);
  REQUIRE(loaded.policy.has_value());
  Texts out;
  for (const Diagnostic& each : loaded.diagnostics) {
    CHECK(each.severity == Diagnostic::Severity::warning);
    out.push_back(std::to_string(each.line) + ':' + std::to_string(each.column) + ':' + each.field +
                  ": " + each.message);
  }
  return out;
}

std::string read_source(std::string_view name) {
  const std::string path = std::string(AEGIS_SOURCE_DIR) + "/" + std::string(name);
  std::ifstream file(path, std::ios::binary);
  CAPTURE(path);
  REQUIRE(file.is_open());
  return {std::istreambuf_iterator<char>(file), {}};
}

/// What stands in `text` between lines that begin with `begin` and with `end`.
Texts blocks_of(const std::string& text, std::string_view begin, std::string_view end) {
  Texts blocks;
  for (std::size_t at = 0; (at = text.find(begin, at)) != std::string::npos;) {
    at = text.find('\n', at + 1) + 1;
    const std::size_t stop = text.find(end, at);
    REQUIRE(stop != std::string::npos);
    blocks.push_back(text.substr(at, stop - at));
    at = stop;
  }
  return blocks;
}

}  // namespace

TEST_CASE("each policy of the pages is good, and nothing about it is worth a warning") {
  Texts all = blocks_of(read_source("docs/broker.md"), "\n```yaml", "```");
  const Texts manual =
      blocks_of(read_source("docs/man/aegis-broker-policy.5"), "\n.Bd -literal", ".Ed");
  CHECK(all.size() == 1);
  CHECK(manual.size() == 3);
  all.insert(all.end(), manual.begin(), manual.end());
  for (const std::string& text : all)
    CHECK(warnings_of(text).empty());
}

TEST_CASE("every field of version 1.0 is read") {
  const BrokerPolicy policy = load(R"(
version: "1.0"
policy_id: acme-7
name: "ACME, data"
description: |
  Two lines,
  and more.
workspace_root: ../project
allowed_operations: [run_command, read_text, list_dir]
path_rules:
  allowed_subpaths: [./data/, docs//public]
  denied_patterns: ["*.bak", "private/**", "[a-c]?"]
  max_file_read_bytes: 52428800
execution_rules:
  max_timeout_seconds: 300
  max_output_bytes: 10485760
  max_memory_mb: 4096
  allow_network: false
  allowed_binaries: [git, /usr/bin/wc]
  allowed_paths: [data/out, "."]
require_approval_for: [run_command]
)");
  CHECK(policy.policy_id == "acme-7");
  CHECK(policy.name == "ACME, data");
  CHECK(policy.description == "Two lines,\nand more.\n");
  CHECK(policy.workspace_root == "../project");
  CHECK(policy.allowed == std::array{true, true, false, true});
  CHECK(policy.needs_approval == std::array{false, false, false, true});
  CHECK(policy.allows(mcp::Operation::list_dir));
  CHECK_FALSE(policy.allows(mcp::Operation::run_python));
  CHECK(policy.paths.allowed_subpaths == Texts{"data", "docs/public"});
  CHECK(policy.paths.denied_patterns == Texts{"*.bak", "private/**", "[a-c]?"});
  CHECK(policy.paths.max_file_read_bytes == 52428800);
  CHECK(policy.execution.max_timeout_seconds == 300);
  CHECK(policy.execution.max_output_bytes == 10485760);
  CHECK(policy.execution.max_memory_mb == 4096);
  CHECK(policy.execution.allowed_binaries == Texts{"git", "/usr/bin/wc"});
  CHECK(policy.execution.allowed_paths == Texts{"data/out", ""});
}

TEST_CASE("what is left out has the documented value") {
  const BrokerPolicy policy = load(kLeast);
  CHECK(policy.description.empty());
  CHECK(policy.paths.allowed_subpaths.empty());
  CHECK(policy.paths.denied_patterns.empty());
  CHECK(policy.paths.max_file_read_bytes == 1048576);
  CHECK(policy.execution.max_timeout_seconds == 15);
  CHECK(policy.execution.max_output_bytes == 65536);
  CHECK(policy.execution.max_memory_mb == 256);
  CHECK(policy.execution.allowed_binaries.empty());
  CHECK(policy.execution.allowed_paths.empty());
  CHECK(policy.needs_approval == std::array<bool, 4>{});
}

TEST_CASE("a JSON file is a policy, and the version needs no quotes in YAML") {
  const BrokerPolicy policy = load(
      "{\n\t\"version\": \"1.0\", \"policy_id\": \"p\", \"name\": \"n\", \"workspace_root\": "
      "\"w\",\n"
      "\t\"allowed_operations\": [\"run_python\"], \"execution_rules\": {\"allow_network\": "
      "false}}");
  CHECK(policy.allows(mcp::Operation::run_python));
  std::string plain(kLeast);
  plain.replace(plain.find("\"1.0\""), 5, "1.0");
  CHECK(load(plain).canonical_form() == load(kLeast).canonical_form());
}

TEST_CASE("bounds are taken at their least and most") {
  for (const std::string_view member : {"path_rules: {max_file_read_bytes: 1}",
                                        "path_rules: {max_file_read_bytes: 52428800}",
                                        "execution_rules: {max_timeout_seconds: 1}",
                                        "execution_rules: {max_timeout_seconds: 300}",
                                        "execution_rules: {max_output_bytes: 1}",
                                        "execution_rules: {max_output_bytes: 10485760}",
                                        "execution_rules: {max_memory_mb: 16}",
                                        "execution_rules: {max_memory_mb: 4096}",
                                        "path_rules: {}",
                                        "execution_rules: {allowed_binaries: []}",
                                        "require_approval_for: []"}) {
    CAPTURE(member);
    CHECK(warnings_of(std::string(kLeast).append(member).append("\n")).empty());
  }
}

TEST_CASE("the canonical form is that of what is judged") {
  const std::string_view full = R"(
version: "1.0"
policy_id: p
name: one
workspace_root: /w
allowed_operations: [run_command, read_text]
path_rules: {allowed_subpaths: [b/, ./a], denied_patterns: [z, "*.x"], max_file_read_bytes: 7}
execution_rules: {allowed_binaries: [wc, cat], allowed_paths: [a], max_memory_mb: 64,
  max_output_bytes: 8, max_timeout_seconds: 9}
)";
  const std::string form = load(full).canonical_form();
  CHECK(form ==
        R"({"allowed_operations":["read_text","run_command"],)"
        R"("execution_rules":{"allow_network":false,"allowed_binaries":["cat","wc"],)"
        R"("allowed_paths":["a"],"max_memory_mb":64,"max_output_bytes":8,"max_timeout_seconds":9},)"
        R"("path_rules":{"allowed_subpaths":["a","b"],"denied_patterns":["*.x","z"],)"
        R"("max_file_read_bytes":7},"policy_id":"p","require_approval_for":[],"version":"1.0",)"
        R"("workspace_root":"/w"})");
  mcp::json::CanonicalReader reader;
  CHECK_FALSE(reader.read(form).has_value());
  // Defaults that are written out, another order, another name: the same policy.
  CHECK(load(std::string(kLeast) + "description: x\npath_rules: {max_file_read_bytes: 1048576}\n"
                                   "execution_rules: {allow_network: false}\n")
            .canonical_form() == load(kLeast).canonical_form());
  std::string renamed(full);
  renamed.replace(renamed.find("one"), 3, "two");
  CHECK(load(renamed).canonical_form() == form);
  // Each of the rest makes another one.
  for (const std::string_view change : {"policy_id: p",
                                        "/w",
                                        "read_text",
                                        "b/",
                                        "*.x",
                                        "bytes: 7",
                                        "wc",
                                        "paths: [a]",
                                        "mb: 64",
                                        "bytes: 8",
                                        "seconds: 9"}) {
    CAPTURE(change);
    std::string other(full);
    const std::size_t at = other.rfind(change);
    REQUIRE(at != std::string::npos);
    const std::string_view swapped = change == "read_text" ? "list_dir" : "";
    if (swapped.empty()) {
      other.insert(at + change.size() - (change == "paths: [a]" ? 1 : 0), "1");
    } else {
      other.replace(at, change.size(), swapped);
    }
    CHECK(load(other).canonical_form() != form);
  }
  CHECK(load(std::string(full) + "require_approval_for: [read_text]\n").canonical_form() != form);
}

TEST_CASE("what does less or more than it seems is a warning") {
  struct Row {
    std::string_view what;
    std::string text;
    Texts expected;
  };
  const std::string head = "version: \"1.0\"\npolicy_id: p\nname: n\nworkspace_root: w\n";
  const std::string all = "allowed_operations: [read_text, run_command]\n";
  const Row rows[] = {
      {"nothing is allowed",
       head + "allowed_operations: []\n",
       {"5:21:allowed_operations: no operation is allowed, so all will be refused"}},
      {"nothing can be run",
       head + all,
       {"5:21:allowed_operations: run_command is allowed, and execution_rules.allowed_binaries "
        "lists "
        "no program: nothing can be run"}},
      {"approval",
       std::string(kLeast) + "require_approval_for: [read_text, list_dir]\n",
       {"6:24:require_approval_for[0]: nobody can approve an operation yet: it is refused",
        "6:35:require_approval_for[1]: the operation is not allowed anyway"}},
      {"secrets",
       std::string(kLeast) + "path_rules: {allowed_subpaths: [a, a/.SSH]}\n",
       {"6:36:path_rules.allowed_subpaths[1]: secrets usually lie under such a name: it stays "
        "refused "
        "unless it is revealed on the command line"}},
      {"everything is denied",
       std::string(kLeast) + "path_rules: {denied_patterns: [\"**\", x]}\n",
       {"6:32:path_rules.denied_patterns[0]: it denies every name, so all paths will be refused"}},
      {"outside",
       std::string(kLeast) + "path_rules: {allowed_subpaths: [a/b]}\nexecution_rules: "
                             "{allowed_paths: [a, c, a/b/c]}\n",
       {"7:38:execution_rules.allowed_paths[1]: it lies outside of allowed_subpaths, so it is "
        "never "
        "allowed"}},
      {"launchers",
       head + all + "execution_rules:\n  allowed_binaries: [wc, /usr/bin/env, bash]\n",
       {"7:26:execution_rules.allowed_binaries[1]: what it is told can start other listed "
        "programs, "
        "with words that nobody judges; only the sandbox holds them then",
        "7:40:execution_rules.allowed_binaries[2]: what it is told can start other listed "
        "programs, "
        "with words that nobody judges; only the sandbox holds them then"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    const Texts found = warnings_of(row.text);
    REQUIRE(found.size() == row.expected.size());
    for (std::size_t at = 0; at < found.size(); ++at)
      CHECK(found[at] == row.expected[at]);
  }
}

}  // namespace aegis::policy
