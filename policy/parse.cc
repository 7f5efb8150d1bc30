// SPDX-License-Identifier: Apache-2.0 OR MIT
// A policy text, version 1, read from its tree into rules. Every member is known, of its one type
// and within its limits, or the whole text is refused; all that is wrong is told at once.
#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>
#include <utility>

#include "policy/advice.h"
#include "policy/builder.h"
#include "policy/document.h"
#include "policy/fields.h"
#include "policy/policy.h"
#include "policy/text.h"
#include "policy/words.h"

namespace aegis::policy {
namespace {

using Node = Document::Node;
using Field = FieldReader::Field;

// Names and reasons go onto a record's Lines, which hold at most 64 KiB.
constexpr std::size_t kMaxNameBytes = 1024;
constexpr std::size_t kMaxReasonBytes = 4096;

constexpr std::int64_t kMaxNumber = (std::int64_t{1} << 53) - 1;  // a record's value space
// A longer window overflows a clock that counts nanoseconds in 64 bits.
constexpr std::int64_t kMaxSeconds = std::numeric_limits<std::uint64_t>::max() / 1'000'000'000;
constexpr NumberRange kPriorityRange = {std::numeric_limits<std::int32_t>::min(),
                                        std::numeric_limits<std::int32_t>::max()};

constexpr std::array<std::string_view, 3> kPolicyFields = {"version", "default", "rules"};
constexpr std::array<std::string_view, 9> kRuleFields = {
    "id", "action", "tool", "role", "capability", "priority", "reason", "rate", "limits"};
constexpr std::array<std::string_view, 2> kRateFields = {"max", "per_seconds"};
constexpr std::array<std::string_view, 3> kLimitFields = {
    "max_memory_bytes", "max_wall_ms", "max_output_bytes"};

constexpr std::string_view kRateForm = "rate: { max: N, per_seconds: N }";

bool is_control(char byte) {
  return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F;
}

class PolicyReader {
 public:
  PolicyReader(const Document& document, Purpose purpose, Findings& findings)
      : fields_(document, findings), findings_(findings), purpose_(purpose) {}

  std::optional<Policy> read(Node root);
  /// Where the rules of the policy stand.
  [[nodiscard]] const std::vector<RulePlace>& places() const { return places_; }

 private:
  bool read_version(const Field& field, Node root);
  Action read_default(const Field& field);
  std::vector<Rule> read_rules(const Field& field, Node root);
  Rule read_rule(Node node);
  std::string read_id(const Field& field, Node rule);
  std::optional<Action> read_action(const Field& field, Node rule);
  std::optional<std::string> read_axis(const Field& field);
  std::optional<std::string> read_capability(const Field& field);
  std::int32_t read_priority(const Field& field);
  std::string read_reason(const Field& field);
  std::optional<Rate> read_rate(const Field& field, Node rule, Action action);
  std::optional<Limits> read_limits(const Field& field, Action action);
  std::uint64_t read_rate_part(const Field& field, Node rate, std::size_t part);

  FieldReader fields_;
  Findings& findings_;
  Purpose purpose_;
  std::vector<RulePlace> places_;
  std::unordered_map<std::string, Node> first_with_id_;
};

std::optional<Policy> PolicyReader::read(Node root) {
  const auto fields = fields_.read_map(root, kPolicyFields);
  if (!fields) return std::nullopt;
  const auto& [version, otherwise, rules] = *fields;
  // Under another version the other fields may mean something else: nothing useful can be said of
  // them.
  if (!read_version(version, root)) return std::nullopt;
  const Action default_action = read_default(otherwise);
  std::vector<Rule> all = read_rules(rules, root);
  if (findings_.has_error()) return std::nullopt;
  return PolicyBuilder::build(std::move(all), default_action);
}

bool PolicyReader::read_version(const Field& field, Node root) {
  if (!field) {
    fields_.missing(root, "version", "version: 1");
    return false;
  }
  return fields_.read_number(*field, {1, 1}).has_value();
}

Action PolicyReader::read_default(const Field& field) {
  if (!field) return Action::allow;
  const std::array<std::string_view, 2> words = {word_of(Action::allow), word_of(Action::deny)};
  return fields_.read_word(*field, words) == 0U ? Action::allow : Action::deny;
}

std::vector<Rule> PolicyReader::read_rules(const Field& field, Node root) {
  std::vector<Rule> rules;
  if (!field) {
    // A file that was cut off must not become "allow all".
    fields_.missing(root, "rules", "a list of rules (\"rules: []\" for none)");
    return rules;
  }
  const auto items = fields_.read_list(*field);
  if (!items) return rules;
  for (const Node item : *items) {
    rules.push_back(read_rule(item));
    if (findings_.is_full()) break;
  }
  return rules;
}

Rule PolicyReader::read_rule(Node node) {
  Rule rule;
  const auto fields = fields_.read_map(node, kRuleFields);
  if (!fields) return rule;
  const auto& [id, action, tool, role, capability, priority, reason, rate, limits] = *fields;
  rule.id = read_id(id, node);
  const auto known_action = read_action(action, node);
  rule.tool = read_axis(tool);
  rule.role = read_axis(role);
  rule.capability = read_capability(capability);
  rule.priority = read_priority(priority);
  rule.reason = read_reason(reason);
  if (known_action) {
    rule.action = *known_action;
    rule.rate = read_rate(rate, node, *known_action);
    rule.limits = read_limits(limits, *known_action);
    places_.push_back({node, *action, tool, role, capability, limits});
  }
  return rule;
}

std::string PolicyReader::read_id(const Field& field, Node rule) {
  if (!field) {
    fields_.missing(rule, "id", "a name that no other rule has");
    return "";
  }
  const auto text = fields_.read_text(*field, kMaxNameBytes);
  if (!text) return "";
  const std::string& id = *text;
  if (id.empty()) {
    fields_.error(*field, "expected a name that no other rule has, found an empty text");
    return id;
  }
  // Ids are printed far from here, on terminals too. The other names stand for what a server chose.
  if (std::any_of(id.begin(), id.end(), is_control)) {
    fields_.error(*field, "expected a name without control characters, found " + quoted(id));
  }
  const auto [first, is_new] = first_with_id_.try_emplace(id, *field);
  if (!is_new) {
    fields_.error(*field,
                  "the id " + quoted(id) + " stands twice; its first rule has it on line " +
                      std::to_string(first->second.at().line));
  }
  return id;
}

std::optional<Action> PolicyReader::read_action(const Field& field, Node rule) {
  if (!field) {
    fields_.missing(rule, "action", "allow, deny, rate_limit or pending_approval");
    return std::nullopt;
  }
  const auto word = fields_.read_word(*field, kActionWords);
  if (!word) return std::nullopt;
  return static_cast<Action>(*word);
}

std::optional<std::string> PolicyReader::read_axis(const Field& field) {
  if (!field) return std::nullopt;
  auto name = fields_.read_text(*field, kMaxNameBytes);
  if (!name || *name == "*") return std::nullopt;
  if (purpose_ == Purpose::wrap && name->find('*') != std::string::npos) {
    fields_.error(
        *field,
        "a '*' inside a longer name stands for itself and matches no other text; expected a whole "
        "name, or \"*\" alone for any");
  }
  return name;
}

std::optional<std::string> PolicyReader::read_capability(const Field& field) {
  auto name = read_axis(field);
  if (name && purpose_ == Purpose::wrap) {
    fields_.error(
        *field,
        "an MCP call has no capability, so this rule could never match; expected the field to be "
        "left out, or \"*\"");
  }
  return name;
}

std::int32_t PolicyReader::read_priority(const Field& field) {
  if (!field) return 0;
  return static_cast<std::int32_t>(fields_.read_number(*field, kPriorityRange).value_or(0));
}

std::string PolicyReader::read_reason(const Field& field) {
  if (!field) return "";
  return fields_.read_text(*field, kMaxReasonBytes).value_or("");
}

std::optional<Rate> PolicyReader::read_rate(const Field& field, Node rule, Action action) {
  if (action != Action::rate_limit) {
    if (field)
      fields_.error(*field, "only a rate_limit rule has a rate; expected the field to be left out");
    return std::nullopt;
  }
  if (!field) {
    fields_.missing(rule, "rate", kRateForm);
    return std::nullopt;
  }
  const auto parts = fields_.read_map(*field, kRateFields);
  if (!parts) return std::nullopt;
  return Rate{read_rate_part((*parts)[0], *field, 0), read_rate_part((*parts)[1], *field, 1)};
}

std::uint64_t PolicyReader::read_rate_part(const Field& field, Node rate, std::size_t part) {
  if (!field) {
    fields_.missing(rate, kRateFields[part], kRateForm);
    return 1;
  }
  const NumberRange range = {1, part == 0 ? kMaxNumber : kMaxSeconds};
  return static_cast<std::uint64_t>(fields_.read_number(*field, range).value_or(1));
}

std::optional<Limits> PolicyReader::read_limits(const Field& field, Action action) {
  if (!field) return std::nullopt;
  if (action == Action::deny || action == Action::pending_approval) {
    fields_.error(*field,
                  "only an allow or rate_limit rule has limits; expected the field to be left out");
    return std::nullopt;
  }
  const auto parts = fields_.read_map(*field, kLimitFields);
  if (!parts) return std::nullopt;
  std::array<std::optional<std::uint64_t>, kLimitFields.size()> values;
  bool is_any = false;
  for (std::size_t part = 0; part < values.size(); ++part) {
    if (!(*parts)[part]) continue;
    const auto number = fields_.read_number(*(*parts)[part], {0, kMaxNumber});
    values[part] = static_cast<std::uint64_t>(number.value_or(0));
    is_any = true;
  }
  // A map without a limit in it is no limit: the set and so its canonical form are the same.
  if (!is_any) return std::nullopt;
  return Limits{values[0], values[1], values[2]};
}

}  // namespace

Loaded parse_policy(std::string_view text, Purpose purpose) {
  ParsedDocument parsed = parse_document(text);
  if (!parsed.document) return {std::nullopt, std::move(parsed.errors)};
  Findings findings;
  PolicyReader reader(*parsed.document, purpose, findings);
  std::optional<Policy> policy = reader.read(parsed.document->root());
  if (policy) advise(*policy, purpose, reader.places(), findings);
  return {std::move(policy), std::move(findings).take()};
}

}  // namespace aegis::policy
