// SPDX-License-Identifier: Apache-2.0 OR MIT
// A broker policy, version "1.0", read from its tree. Every member is known, of its one type and
// within its limits, or the whole text is refused; all that is wrong is told at once.
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "mcp/broker_request.h"
#include "policy/broker_advice.h"
#include "policy/broker_policy.h"
#include "policy/document.h"
#include "policy/fields.h"
#include "policy/glob.h"
#include "policy/path.h"
#include "policy/text.h"

namespace aegis::policy {
namespace {

using Node = Document::Node;
using Field = FieldReader::Field;

// Names stand in records, whose Lines hold at most 64 KiB.
constexpr std::size_t kMaxNameBytes = 256;
constexpr std::size_t kMaxDescriptionBytes = 4096;
constexpr std::size_t kMaxPatternBytes = 1024;
constexpr std::size_t kMaxItems = 256;  // of one list: each path is held against all of them
// Below it nothing can be run, and the reason would be hard to see: an interpreter alone takes 10.
constexpr std::int64_t kLeastMemoryMb = 16;

constexpr std::array<std::string_view, 9> kPolicyFields = {"version",
                                                           "policy_id",
                                                           "name",
                                                           "description",
                                                           "workspace_root",
                                                           "allowed_operations",
                                                           "path_rules",
                                                           "execution_rules",
                                                           "require_approval_for"};
constexpr std::array<std::string_view, 3> kPathFields = {
    "allowed_subpaths", "denied_patterns", "max_file_read_bytes"};
constexpr std::array<std::string_view, 6> kExecutionFields = {"max_timeout_seconds",
                                                              "max_output_bytes",
                                                              "max_memory_mb",
                                                              "allow_network",
                                                              "allowed_binaries",
                                                              "allowed_paths"};

constexpr std::string_view kOperationList =
    "a list of read_text, list_dir, run_python, run_command";

bool is_control(char byte) {
  return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F;
}
bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), is_control);
}

constexpr std::int64_t signed_of(std::uint64_t number) {
  return static_cast<std::int64_t>(number);
}

/// Why `name` is no entry of allowed_binaries; nothing when it is one.
std::optional<std::string_view> find_binary_flaw(std::string_view name) {
  if (name.empty()) return "expected the name of a program, found an empty text";
  if (has_control(name)) return "expected a name without control characters";
  if (name.find('/') == std::string_view::npos) {
    if (name == "." || name == "..") return "expected the name of a program, found a folder";
    return std::nullopt;
  }
  if (name.front() != '/') {
    return "expected a plain name (\"git\") or an absolute path: which file a relative path is "
           "would change with the folder";
  }
  const auto path = normalise(name.substr(1));
  const std::string* plain = std::get_if<std::string>(&path);
  if (plain == nullptr || *plain != name.substr(1))
    return "expected an absolute path without \"..\", \".\" and doubled slashes";
  return std::nullopt;
}

class BrokerPolicyReader {
 public:
  BrokerPolicyReader(const Document& document, Findings& findings)
      : fields_(document, findings), findings_(findings) {}

  std::optional<BrokerPolicy> read(Node root);

 private:
  using Chosen = std::array<bool, mcp::kOperations.size()>;

  bool read_version(const Field& field, Node root);
  std::string read_name(const Field& field, Node root, std::string_view name);
  std::string read_description(const Field& field);
  std::string read_root(const Field& field, Node root);
  Chosen read_operations(const Field& field, std::vector<BrokerPlaces::Item>& places);
  void read_paths(const Field& field, BrokerPolicy::Paths& paths);
  void read_execution(const Field& field, BrokerPolicy::Execution& execution);
  void read_network(const Field& field);
  void read_number(const Field& field, NumberRange range, std::uint64_t& number);

  /// Reads items of `field` that `take` makes texts of; it gives nothing after an error.
  template <typename Take>
  std::vector<std::string> read_texts(const Field& field,
                                      std::vector<BrokerPlaces::Item>& places,
                                      Take take);
  std::vector<std::string> read_folders(const Field& field,
                                        std::vector<BrokerPlaces::Item>& places);
  std::optional<std::string> take_folder(Node item);
  std::optional<std::string> take_pattern(Node item);
  std::optional<std::string> take_binary(Node item);

  FieldReader fields_;
  Findings& findings_;
  BrokerPlaces places_;
};

std::optional<BrokerPolicy> BrokerPolicyReader::read(Node root) {
  const auto fields = fields_.read_map(root, kPolicyFields);
  if (!fields) return std::nullopt;
  const auto& [version, id, name, description, workspace, operations, paths, execution, approval] =
      *fields;
  // Under another version the other fields may mean something else: nothing useful can be said of
  // them.
  if (!read_version(version, root)) return std::nullopt;
  BrokerPolicy policy;
  policy.policy_id = read_name(id, root, "policy_id");
  policy.name = read_name(name, root, "name");
  policy.description = read_description(description);
  policy.workspace_root = read_root(workspace, root);
  if (operations) {
    policy.allowed = read_operations(operations, places_.operations);
  } else {
    fields_.missing(root, "allowed_operations", kOperationList);
  }
  read_paths(paths, policy.paths);
  read_execution(execution, policy.execution);
  policy.needs_approval = read_operations(approval, places_.approvals);
  if (findings_.has_error()) return std::nullopt;
  places_.allowed_operations = *operations;
  advise(policy, places_, fields_);
  return policy;
}

bool BrokerPolicyReader::read_version(const Field& field, Node root) {
  constexpr std::array<std::string_view, 1> kVersions = {"1.0"};
  if (field) return fields_.read_word(*field, kVersions).has_value();
  fields_.missing(root, "version", "version: \"1.0\"");
  return false;
}

std::string BrokerPolicyReader::read_name(const Field& field, Node root, std::string_view name) {
  if (!field) {
    fields_.missing(root, name, "a short text");
    return "";
  }
  auto text = fields_.read_text(*field, kMaxNameBytes);
  if (!text) return "";
  if (text->empty()) fields_.error(*field, "expected a short text, found an empty one");
  // It is printed far from here, on terminals too.
  if (has_control(*text))
    fields_.error(*field, "expected a text without control characters, found " + quoted(*text));
  return *std::move(text);
}

std::string BrokerPolicyReader::read_description(const Field& field) {
  if (!field) return "";
  auto text = fields_.read_text(*field, kMaxDescriptionBytes);
  if (text && text->empty())
    fields_.error(*field, "expected a text, found an empty one; leave the field out");
  return std::move(text).value_or("");
}

std::string BrokerPolicyReader::read_root(const Field& field, Node root) {
  if (!field) {
    fields_.missing(root, "workspace_root", "the path of a folder");
    return "";
  }
  auto path = fields_.read_text(*field, mcp::kMaxPath);
  if (!path) return "";
  if (path->empty()) {
    fields_.error(*field, "expected the path of a folder, found an empty text");
  } else if (has_control(*path)) {
    fields_.error(*field, "expected a path without control characters, found " + quoted(*path));
  } else if (path->front() == '~') {
    fields_.error(*field, "no '~' is expanded here; write the whole path");
  }
  return *std::move(path);
}

template <typename Take>
std::vector<std::string> BrokerPolicyReader::read_texts(const Field& field,
                                                        std::vector<BrokerPlaces::Item>& places,
                                                        Take take) {
  std::vector<std::string> texts;
  if (!field) return texts;
  const auto items = fields_.read_list(*field);
  if (!items) return texts;
  if (items->size() > kMaxItems) {
    fields_.error(*field,
                  "expected at most " + std::to_string(kMaxItems) + " items, found " +
                      std::to_string(items->size()));
    return texts;
  }
  for (const Node item : *items) {
    std::optional<std::string> text = take(item);
    if (!text) continue;
    const auto first = std::find(texts.begin(), texts.end(), *text);
    if (first == texts.end()) {
      texts.push_back(*std::move(text));
      places.push_back(item);
      continue;
    }
    const auto place = places.begin() + (first - texts.begin());
    fields_.error(item, "the item stands twice; first on line " + std::to_string(place->at().line));
  }
  return texts;
}

BrokerPolicyReader::Chosen BrokerPolicyReader::read_operations(
    const Field& field, std::vector<BrokerPlaces::Item>& places) {
  std::array<std::string_view, mcp::kOperations.size()> words;
  std::transform(mcp::kOperations.begin(),
                 mcp::kOperations.end(),
                 words.begin(),
                 [](mcp::Operation operation) { return to_string(operation); });
  Chosen chosen = {};
  read_texts(field, places, [&](Node item) -> std::optional<std::string> {
    const auto word = fields_.read_word(item, words);
    if (!word) return std::nullopt;
    chosen[*word] = true;
    return std::string(words[*word]);
  });
  return chosen;
}

void BrokerPolicyReader::read_paths(const Field& field, BrokerPolicy::Paths& paths) {
  if (!field) return;
  const auto fields = fields_.read_map(*field, kPathFields);
  if (!fields) return;
  const auto& [subpaths, patterns, read_bytes] = *fields;
  paths.allowed_subpaths = read_folders(subpaths, places_.subpaths);
  paths.denied_patterns =
      read_texts(patterns, places_.patterns, [this](Node item) { return take_pattern(item); });
  read_number(read_bytes, {1, signed_of(mcp::kMostReadBytes)}, paths.max_file_read_bytes);
}

void BrokerPolicyReader::read_execution(const Field& field, BrokerPolicy::Execution& execution) {
  if (!field) return;
  const auto fields = fields_.read_map(*field, kExecutionFields);
  if (!fields) return;
  const auto& [timeout, output, memory, network, binaries, paths] = *fields;
  read_number(timeout, {1, signed_of(mcp::kMostTimeoutSeconds)}, execution.max_timeout_seconds);
  read_number(output, {1, signed_of(mcp::kMostOutputBytes)}, execution.max_output_bytes);
  read_number(memory, {kLeastMemoryMb, signed_of(mcp::kMostMemoryMb)}, execution.max_memory_mb);
  read_network(network);
  execution.allowed_binaries =
      read_texts(binaries, places_.binaries, [this](Node item) { return take_binary(item); });
  execution.allowed_paths = read_folders(paths, places_.paths);
}

void BrokerPolicyReader::read_network(const Field& field) {
  if (field && fields_.read_truth(*field).value_or(false)) {
    fields_.error(*field,
                  "what the broker runs has no network, whatever a policy says; expected false, or "
                  "the field to be left out");
  }
}

void BrokerPolicyReader::read_number(const Field& field, NumberRange range, std::uint64_t& number) {
  if (!field) return;
  if (const auto read = fields_.read_number(*field, range))
    number = static_cast<std::uint64_t>(*read);
}

std::vector<std::string> BrokerPolicyReader::read_folders(const Field& field,
                                                          std::vector<BrokerPlaces::Item>& places) {
  // An empty list would mean "nothing" to its reader, and means the same as none to the judgement.
  if (field && field->kind() == Document::Kind::list && field->items().empty()) {
    fields_.error(*field,
                  "expected at least one path; \".\" is the whole workspace, as when the field is "
                  "left out");
  }
  return read_texts(field, places, [this](Node item) { return take_folder(item); });
}

std::optional<std::string> BrokerPolicyReader::take_folder(Node item) {
  const auto text = fields_.read_text(item, mcp::kMaxPath);
  if (!text) return std::nullopt;
  auto path = normalise(*text);
  if (auto* normalised = std::get_if<std::string>(&path)) return std::move(*normalised);
  fields_.error(item,
                "expected a path inside the workspace, found " + quoted(*text) + ": " +
                    std::string(describe(std::get<PathFlaw>(path))));
  return std::nullopt;
}

std::optional<std::string> BrokerPolicyReader::take_pattern(Node item) {
  auto text = fields_.read_text(item, kMaxPatternBytes);
  if (!text) return std::nullopt;
  const auto flaw = find_glob_flaw(*text);
  if (!flaw) return text;
  fields_.error(item, "expected a pattern of names, found " + quoted(*text) + ": " + *flaw);
  return std::nullopt;
}

std::optional<std::string> BrokerPolicyReader::take_binary(Node item) {
  auto text = fields_.read_text(item, mcp::kMaxPath);
  if (!text) return std::nullopt;
  const auto flaw = find_binary_flaw(*text);
  if (!flaw) return text;
  fields_.error(item, std::string(*flaw));
  return std::nullopt;
}

}  // namespace

LoadedBrokerPolicy parse_broker_policy(std::string_view text) {
  ParsedDocument parsed = parse_document(text);
  if (!parsed.document) return {std::nullopt, std::move(parsed.errors)};
  Findings findings;
  BrokerPolicyReader reader(*parsed.document, findings);
  std::optional<BrokerPolicy> policy = reader.read(parsed.document->root());
  return {std::move(policy), std::move(findings).take()};
}

}  // namespace aegis::policy
