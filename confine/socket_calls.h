// SPDX-License-Identifier: Apache-2.0 OR MIT
// Judges the socket calls of the confined program and does what is granted in its stead. How, and
// why each way cannot be turned: docs/decisions/0018-supervised-connect.md.
#pragma once

#include <array>
#include <cstdint>

#include "confine/caller.h"
#include "confine/egress.h"
#include "confine/listener.h"
#include "confine/pending_connects.h"
#include "confine/reporter.h"
#include "confine/socket_options.h"

namespace aegis::confine {

class SocketCalls {
 public:
  struct Parts {
    const Listener& listener;
    const Egress& egress;
    Reporter& reporter;
    PendingConnects& pending;
    std::uint64_t host_network = 0;  // the supervisor's own (own_network)
    int proc = -1;                   // /proc, or -1
  };
  /// What `parts` refers to outlives this.
  explicit SocketCalls(const Parts& parts) : parts_(parts) {}

  /// Answers the call, or leaves it to the pending ones.
  void handle(const Call& call, Clock::time_point now);

 private:
  /// A call with all that was found out about it. Nothing in here can be changed by the program.
  struct Case {
    Call call;
    Caller caller;
    Fd socket;  // a copy of the one that the call names
    SocketTraits traits;
    CopiedAddress address;  // of connect and bind
    Clock::time_point now;
  };
  void judge(Case& found);
  void judge_connect(Case& found);
  void judge_bind(const Case& found);
  void judge_listen(const Case& found);
  void connect_out(Case& found, const Endpoint& to, std::string_view grant);
  void connect_inside(Case& found, const Endpoint& to);
  void refuse_connect(const Case& found, const Endpoint& to, int code);
  void refuse_host_socket(const Case& found);
  void refuse_socket(const Call& call, Clock::time_point now, int code);
  void answer(const Call& call, int code) const { parts_.listener.answer(call.id, code); }

  /// A kind of socket that was refused, and when that was told.
  struct Told {
    int family = -1;
    int protocol = 0;
    Clock::time_point at = {};
  };

  Parts parts_;
  SocketMaker sockets_;
  std::array<Told, 8> told_ = {};  // the oldest one's place is the next one's
};

}  // namespace aegis::confine
