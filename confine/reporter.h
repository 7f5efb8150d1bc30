// SPDX-License-Identifier: Apache-2.0 OR MIT
// The supervisor's way to tell aegis something: never waits, and counts what it could not say.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <utility>

#include "confine/fd.h"
#include "confine/net_report.h"

namespace aegis::confine {

class Reporter {
 public:
  /// A unix socket that keeps datagrams apart.
  explicit Reporter(Fd socket) : socket_(std::move(socket)) {}

  void send(NetReport report) {
    report.lost = lost_;
    const ssize_t sent = ::send(socket_.get(), &report, sizeof report, MSG_DONTWAIT | MSG_NOSIGNAL);
    lost_ = sent == static_cast<ssize_t>(sizeof report) ? 0 : lost_ + 1;
  }

 private:
  Fd socket_;
  std::uint32_t lost_ = 0;
};

}  // namespace aegis::confine
