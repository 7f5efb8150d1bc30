// SPDX-License-Identifier: Apache-2.0 OR MIT
// What `aegis run` and `aegis check` share: the request as they read it, the policy that they find
// by themselves, and the object in which they answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "confine/result.h"
#include "mcp/broker_answer.h"
#include "mcp/broker_request.h"
#include "wrap/broker.h"
#include "wrap/cli.h"

namespace aegis::wrap {

struct OneShot {
  /// Also of a request or a policy that cannot be used, and of a record that cannot be written.
  static constexpr int kUsage = 1;
  static constexpr int kDone = 0;
  static constexpr int kDenied = 2;
  static constexpr int kUnbuilt = 3;

  std::optional<std::string> policy = {};
  std::vector<std::string> revealed = {};
  bool is_json = false;

  void add_flags(Flags& flags);
  /// Of the words that were given; an exit code when they are not enough. `policy` is set then.
  [[nodiscard]] std::optional<int> settle(const Flags& flags);
  /// The file, or stdin for "-": at most one byte more than a request may have.
  [[nodiscard]] static confine::Result<std::string> read_request(const std::string& path);
  /// Says it on stderr too.
  [[nodiscard]] static mcp::Refused refuse_unread(const mcp::RequestFault& fault,
                                                  const std::string& path,
                                                  std::string_view doing);

  struct Head {  // empty when it is not known
    std::string request_id = {};
    std::string_view operation = {};
  };
  static Head head_of(const mcp::ParsedRequest& parsed);
  /// With its newline. Begins with what the head has.
  [[nodiscard]] std::string encode(const Head& head, const mcp::BrokerAnswer& answer) const;
  /// Of a request that may be done, and is not.
  [[nodiscard]] std::string encode_allowed(const Head& head) const;
};

}  // namespace aegis::wrap
