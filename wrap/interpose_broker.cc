// SPDX-License-Identifier: Apache-2.0 OR MIT
// See interpose_broker.h.
#include "wrap/interpose_broker.h"

#include <algorithm>
#include <string>
#include <utility>

#include "mcp/catalogue.h"

namespace aegis::wrap {

using confine::Result;

Result<std::optional<Broker>> make_broker(const InterposeOptions& options, const Kept& kept) {
  if (!options.broker) return std::optional<Broker>();
  Broker broker = AEGIS_TRY(Broker::make(*options.broker, options.verb));
  if (auto safe = check_exposure(broker.reach(), kept); !safe) {
    return confine::Error{"the broker's workspace is not safe: " + confine::describe(safe.error()),
                          0};
  }
  return std::optional<Broker>(std::move(broker));
}

BrokerOffer offer_of(const Broker& broker, const InterposeOptions& options) {
  BrokerOffer offer;
  const auto offered = broker.offered();
  const bool is_alone = options.command.empty();
  for (const mcp::Operation each : mcp::kOperations) {
    const bool is_offered = std::find(offered.begin(), offered.end(), each) != offered.end();
    // Beside a server, its tool of that name is the server's. Alone, a call of what is not allowed
    // is refused and recorded as such.
    if (!is_offered && !is_alone) continue;
    offer.tools.push_back(
        {each, is_offered ? mcp::encode_tool(each, broker.bounds()) : std::string()});
  }
  offer.policy_set_hash = broker.policy_hash();
  offer.max_timeout_seconds = broker.bounds().max_timeout_seconds;
  return offer;
}

}  // namespace aegis::wrap
