// SPDX-License-Identifier: Apache-2.0 OR MIT
// The stub resolver: answers granted names on the loopback of the program's network namespace, and
// remembers what it answered. Never waits; what it keeps is bounded.
#pragma once

#include <netinet/in.h>
#include <poll.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "confine/dns.h"
#include "confine/egress.h"
#include "confine/fd.h"
#include "confine/reporter.h"
#include "confine/resolve.h"

namespace aegis::confine {

class NameService {
 public:
  /// `socket`: open_resolver_socket's (net_child.h). `egress` and `reporter` outlive this.
  NameService(Fd socket, Egress& egress, Reporter& reporter, ResolveName resolve);

  /// Adds what to wait for, at the end of `polled`.
  void watch(std::vector<pollfd>& polled);
  /// After poll(2) over what watch() added.
  void serve(const std::vector<pollfd>& polled, Egress::Time now);
  /// Whether time alone can bring work: serve() wants to be called about every second then.
  [[nodiscard]] bool has_deadline() const { return !running_.empty(); }

 private:
  struct Waiter {
    DnsQuery query;
    sockaddr_in client = {};
  };
  struct Running {
    std::size_t name = 0;
    LookUp look_up;
    Egress::Time deadline = {};
    std::vector<Waiter> waiters = {};
  };
  struct Cached {
    Egress::Time until = {};
    DnsCode code = DnsCode::server_failure;
    std::vector<IpAddress> addresses = {};  // admitted
  };
  struct Refused {
    std::string name;
    std::uint16_t type = 0;
    Egress::Time at = {};
  };

  void take_queries(Egress::Time now);
  void take_query(std::string_view packet, const sockaddr_in& client, Egress::Time now);
  void look_up(std::size_t name, Waiter waiter, Egress::Time now);
  void finish(Running& running, Egress::Time now);
  void answer(const Waiter& waiter, const Cached& cached, std::size_t name, Egress::Time now);
  void refuse_name(const Waiter& waiter, Egress::Time now);
  void send(const std::string& message, const sockaddr_in& client) const;

  Fd socket_;
  Egress& egress_;
  Reporter& reporter_;
  ResolveName resolve_;
  std::vector<Running> running_;
  std::vector<Cached> cached_;  // by a name's number
  std::optional<Refused> last_refused_;
  std::size_t watched_from_ = 0;  // the socket, then running_ in its order
};

}  // namespace aegis::confine
