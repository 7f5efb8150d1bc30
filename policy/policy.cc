// SPDX-License-Identifier: Apache-2.0 OR MIT
// The set itself: its rules with their index, and its canonical form. Reading a text is
// policy/parse.cc's.
#include "policy/policy.h"

#include <cassert>
#include <string>
#include <utility>

#include "mcp/json/canonical.h"
#include "policy/builder.h"
#include "policy/evaluate.h"
#include "policy/words.h"

namespace aegis::policy {

using mcp::json::CanonicalWriter;

struct Policy::Index {
  Index(std::vector<Rule> all, Action otherwise)
      : rules(std::move(all)), default_action(otherwise), by_axes(rules) {}

  const std::vector<Rule> rules;
  const Action default_action;
  const RuleIndex by_axes;
};

Policy::Policy(std::unique_ptr<Index> index) : index_(std::move(index)) {}
Policy::Policy(Policy&&) noexcept = default;
Policy& Policy::operator=(Policy&&) noexcept = default;
Policy::~Policy() = default;

Policy PolicyBuilder::build(std::vector<Rule> rules, Action default_action) {
  assert(default_action == Action::allow || default_action == Action::deny);
  return Policy(std::make_unique<Policy::Index>(std::move(rules), default_action));
}

Verdict Policy::decide(const Call& call) const noexcept {
  const Rule* rule = index_->by_axes.find({{call.tool, call.role, call.capability}});
  return {rule == nullptr ? index_->default_action : rule->action, rule};
}

std::span<const Rule> Policy::rules() const noexcept {
  return index_->rules;
}

Action Policy::default_action() const noexcept {
  return index_->default_action;
}

namespace {

void write_number(std::string_view name,
                  std::optional<std::uint64_t> value,
                  CanonicalWriter& writer) {
  // A decimal string: the record's value space has no negative number, and one form for all is
  // simpler to check.
  if (value) writer.member(name, std::to_string(*value));
}

void write_text(std::string_view name,
                const std::optional<std::string>& text,
                CanonicalWriter& writer) {
  if (text) writer.member(name, *text);
}

void write_rule(const Rule& rule, CanonicalWriter& writer) {
  writer.begin_object();
  writer.member("action", word_of(rule.action));
  write_text("capability", rule.capability, writer);
  writer.member("id", rule.id);
  if (rule.limits) {
    writer.name("limits");
    writer.begin_object();
    write_number("max_memory_bytes", rule.limits->max_memory_bytes, writer);
    write_number("max_output_bytes", rule.limits->max_output_bytes, writer);
    write_number("max_wall_ms", rule.limits->max_wall_ms, writer);
    writer.end_object();
  }
  writer.member("priority", std::to_string(rule.priority));
  if (rule.rate) {
    writer.name("rate");
    writer.begin_object();
    write_number("max", rule.rate->max, writer);
    write_number("per_seconds", rule.rate->per_seconds, writer);
    writer.end_object();
  }
  if (!rule.reason.empty()) writer.member("reason", rule.reason);
  write_text("role", rule.role, writer);
  write_text("tool", rule.tool, writer);
  writer.end_object();
}

}  // namespace

std::string Policy::canonical_form() const {
  std::string out;
  CanonicalWriter writer(out);
  writer.begin_object();
  writer.member("default", word_of(default_action()));
  writer.name("rules");
  writer.begin_array();
  for (const Rule& rule : rules())
    write_rule(rule, writer);
  writer.end_array();
  writer.member("version", "1");
  writer.end_object();
  return out;
}

}  // namespace aegis::policy
