// SPDX-License-Identifier: Apache-2.0 OR MIT
// Network grants: the program connects, aegis does it for it, and only to what was granted. Names
// are answered by a resolver of aegis's own on the loopback of the program's network namespace.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "confine/fd.h"
#include "confine/result.h"

namespace aegis::confine {

struct NetGrant {
  std::string host;  // a DNS name in lower case, or an address (IPv6 without brackets)
  std::uint16_t port = 0;
};
/// "HOST:PORT", "[IPv6]:PORT". Errors say what is wrong.
Result<NetGrant> parse_net_grant(std::string_view text);

}  // namespace aegis::confine
