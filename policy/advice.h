// SPDX-License-Identifier: Apache-2.0 OR MIT
// Warnings about a policy that is good: what its rules do not do although they look as if they did.
#pragma once

#include <optional>
#include <vector>

#include "policy/document.h"
#include "policy/findings.h"
#include "policy/policy.h"

namespace aegis::policy {

/// Where a rule stands in its text.
struct RulePlace {
  Document::Node rule;
  Document::Node action;
  std::optional<Document::Node> tool;
  std::optional<Document::Node> role;
  std::optional<Document::Node> capability;
  std::optional<Document::Node> limits;
};

/// `places` has one for each rule, in their order.
void advise(const Policy& policy,
            Purpose purpose,
            const std::vector<RulePlace>& places,
            Findings& findings);

}  // namespace aegis::policy
