// SPDX-License-Identifier: Apache-2.0 OR MIT
// What an operation of the broker's came to, in the record's words: never code, contents or
// arguments, and no path but below the label "workspace".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/line.h"
#include "wrap/broker.h"

namespace aegis::wrap {

/// Owns what the Line's views look at: it must outlive the writing of the Line, and stays in its
/// place.
class BrokerOutcome {
 public:
  /// `cancelled_why` is said of one that somebody cancelled: "cancelled by the client".
  BrokerOutcome(Broker::Done done, std::string_view cancelled_why);
  BrokerOutcome(const BrokerOutcome&) = delete;
  BrokerOutcome& operator=(const BrokerOutcome&) = delete;
  ~BrokerOutcome() = default;

  /// Sets `policy`, `capability`, `execution`, `axes.path` and `wall_ms`.
  void put_into(audit::Outcome& outcome) const;

 private:
  void settle_grant();
  [[nodiscard]] audit::ExecutionStatus execution() const;

  Broker::Done done_;
  std::string cancelled_why_;
  std::string refused_why_;  // empty: it was done, or begun
  audit::Grant grant_ = {};
};

/// A request that could not be read, as the record has it.
inline constexpr std::string_view kUnknownOperation = "<unknown>";

}  // namespace aegis::wrap
