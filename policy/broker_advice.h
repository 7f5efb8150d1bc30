// SPDX-License-Identifier: Apache-2.0 OR MIT
// What is worth knowing about a broker policy that can be used: members that do less, or more, than
// they seem to. Warnings only.
#pragma once

#include <optional>
#include <vector>

#include "policy/broker_policy.h"
#include "policy/document.h"
#include "policy/fields.h"

namespace aegis::policy {

/// Where the items of its lists stand, in the order that the policy has them in.
struct BrokerPlaces {
  using Item = Document::Node;
  std::optional<Item> allowed_operations = {};  // the list
  std::vector<Item> operations = {};
  std::vector<Item> approvals = {};
  std::vector<Item> subpaths = {};
  std::vector<Item> patterns = {};
  std::vector<Item> binaries = {};
  std::vector<Item> paths = {};
};

void advise(const BrokerPolicy& policy, const BrokerPlaces& places, FieldReader& fields);

}  // namespace aegis::policy
