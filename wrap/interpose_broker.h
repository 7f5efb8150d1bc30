// SPDX-License-Identifier: Apache-2.0 OR MIT
// The broker of a session that is about to start: made, and kept from what aegis itself must keep
// from every program.
#pragma once

#include <optional>

#include "confine/result.h"
#include "wrap/broker.h"
#include "wrap/broker_offer.h"
#include "wrap/exposure.h"
#include "wrap/interpose.h"

namespace aegis::wrap {

/// Nothing when none was asked for. An error when an operation of it could read the key, or write
/// one of the other kept files.
confine::Result<std::optional<Broker>> make_broker(const InterposeOptions& options,
                                                   const Kept& kept);

/// What a session is told of it.
BrokerOffer offer_of(const Broker& broker, const InterposeOptions& options);

}  // namespace aegis::wrap
