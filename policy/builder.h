// SPDX-License-Identifier: Apache-2.0 OR MIT
// Makes a Policy of rules that have been checked. For the reader of policy texts and for tests;
// nothing else can make one.
#pragma once

#include <vector>

#include "policy/policy.h"

namespace aegis::policy {

class PolicyBuilder {
 public:
  /// `default_action` is allow or deny. Ids are unique; a rate is set exactly where the action is
  /// rate_limit.
  static Policy build(std::vector<Rule> rules, Action default_action);
};

}  // namespace aegis::policy
