// SPDX-License-Identifier: Apache-2.0 OR MIT
// Finds rules that do less than they seem to; the index says which rule goes before which.
#include "policy/advice.h"

#include <string>
#include <utility>

#include "policy/evaluate.h"
#include "policy/text.h"

namespace aegis::policy {
namespace {

constexpr const char* kStarInWrap =
    "aegis wrap refuses this policy: a '*' inside a longer name stands for itself and matches no "
    "other text";
constexpr const char* kCapabilityInWrap =
    "aegis wrap refuses this policy: an MCP call has no capability, so the rule could never match "
    "there";

bool has_star(const std::optional<std::string>& axis) {
  return axis && axis->find('*') != std::string::npos;
}

class Adviser {
 public:
  Adviser(const Policy& policy, const std::vector<RulePlace>& places, Findings& findings)
      : rules_(policy.rules()), places_(places), findings_(findings), index_(rules_) {}

  void look_at(std::size_t number, Purpose purpose) {
    const Rule& rule = rules_[number];
    if (rule.action == Action::pending_approval) {
      warn(
          number,
          places_[number].action,
          ".action",
          "nobody can approve a call yet: what this rule decides is refused, with an id to ask by");
    }
    if (rule.limits && purpose == Purpose::wrap) {
      warn(number, *places_[number].limits, ".limits", "limits bind nothing in wrap yet");
    }
    if (purpose == Purpose::recheck) warn_of_wrap(number);
    // What this rule matches, the winner among calls with just its axes matches too, and outranks
    // it.
    const Rule* winner = index_.find(axes_of(rule));
    if (winner != &rule) warn(number, places_[number].rule, "", describe_winner(*winner));
  }

 private:
  /// A policy is checked with recheck before wrap gets it, and wrap takes less.
  void warn_of_wrap(std::size_t number) {
    const Rule& rule = rules_[number];
    const RulePlace& place = places_[number];
    if (has_star(rule.tool)) warn(number, *place.tool, ".tool", kStarInWrap);
    if (has_star(rule.role)) warn(number, *place.role, ".role", kStarInWrap);
    if (rule.capability) warn(number, *place.capability, ".capability", kCapabilityInWrap);
  }

  std::string describe_winner(const Rule& winner) const {
    const auto number = static_cast<std::size_t>(&winner - rules_.data());
    const std::string which = "the rule " + quoted(winner.id) + " on line " +
                              std::to_string(places_[number].rule.at().line);
    return "this rule never decides: " + which + " matches all that it matches and goes before it" +
           (winner.action == Action::deny ? " (a deny beats every other rule)" : "");
  }

  void warn(std::size_t number, Document::Node node, std::string_view member, std::string message) {
    findings_.add({Diagnostic::Severity::warning,
                   node.at().line,
                   node.at().column,
                   "rules[" + std::to_string(number) + ']' + std::string(member),
                   std::move(message)});
  }

  std::span<const Rule> rules_;
  const std::vector<RulePlace>& places_;
  Findings& findings_;
  RuleIndex index_;
};

}  // namespace

void advise(const Policy& policy,
            Purpose purpose,
            const std::vector<RulePlace>& places,
            Findings& findings) {
  Adviser adviser(policy, places, findings);
  for (std::size_t number = 0; number < places.size() && !findings.is_full(); ++number)
    adviser.look_at(number, purpose);
}

}  // namespace aegis::policy
