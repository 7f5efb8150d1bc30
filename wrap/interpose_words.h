// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the one line at a session's start says is on, and the words of it that the record has too.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "policy/policy.h"
#include "wrap/broker.h"
#include "wrap/confinement.h"
#include "wrap/interpose.h"

namespace aegis::wrap {

/// "call", "session", "off".
std::string_view to_string(Durability durability);

struct WhatIsOn {
  const InterposeOptions& options;
  const std::string& record;  // its path
  const std::optional<policy::Policy>& policy;
  const std::optional<Confinement>& confinement;
  const std::optional<Broker>& broker;
};
std::string describe(const WhatIsOn& on);

}  // namespace aegis::wrap
