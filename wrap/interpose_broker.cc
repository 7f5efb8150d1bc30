// SPDX-License-Identifier: Apache-2.0 OR MIT
// See interpose_broker.h.
#include "wrap/interpose_broker.h"

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

BrokerOffer offer_of(const Broker& broker) {
  BrokerOffer offer;
  for (const mcp::Operation each : broker.offered())
    offer.tools.push_back({each, mcp::encode_tool(each, broker.bounds())});
  offer.policy_set_hash = broker.policy_hash();
  offer.max_timeout_seconds = broker.bounds().max_timeout_seconds;
  return offer;
}

}  // namespace aegis::wrap
