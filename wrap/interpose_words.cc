// SPDX-License-Identifier: Apache-2.0 OR MIT
// See interpose_words.h.
#include "wrap/interpose_words.h"

namespace aegis::wrap {
namespace {

std::string describe_policy(const WhatIsOn& on) {
  if (!on.policy) return "none (every call is relayed)";
  const std::size_t count = on.policy->rules().size();
  return *on.options.policy + " (" + std::to_string(count) + (count == 1 ? " rule" : " rules") +
         ", default " + (on.policy->default_action() == policy::Action::allow ? "allow" : "deny") +
         ")";
}

std::string describe_confinement(const std::optional<Confinement>& confinement) {
  if (!confinement) return "not confined";
  if (confinement->is_explained()) return "NOT confined: --explain";
  return "confined: " + confinement->describe();
}

}  // namespace

std::string_view to_string(Durability durability) {
  switch (durability) {
    case Durability::call:
      return "call";
    case Durability::session:
      return "session";
    case Durability::off:
      return "off";
  }
  return {};
}

std::string describe(const WhatIsOn& on) {
  std::string text = "recording to " + on.record + " (durability ";
  text.append(to_string(on.options.durability)).append(")");
  // A built-in server runs nothing that could be confined, and has no tools for rules to be about.
  if (!on.options.command.empty()) {
    text += "; policy: " + describe_policy(on);
    text += "; " + describe_confinement(on.confinement);
  }
  if (on.broker) text += "; broker: " + on.broker->describe();
  return text;
}

}  // namespace aegis::wrap
