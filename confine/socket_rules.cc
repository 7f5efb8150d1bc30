// SPDX-License-Identifier: Apache-2.0 OR MIT
// A rule of a filter is an "and" over single comparisons of the three arguments; there is no "or"
// and no "but". So what is not allowed is listed: each value below the largest allowed one, and all
// that are greater.
#include "confine/socket_rules.h"

#include <algorithm>
#include <cerrno>
#include <vector>

namespace aegis::confine {
namespace {

using Test = Comparison::Test;

constexpr unsigned kDomain = 0;
constexpr unsigned kType = 1;
constexpr unsigned kProtocol = 2;
constexpr int kTypes = 16;  // SOCK_TYPE_MASK + 1 (linux/net.h); SOCK_CLOEXEC and its like lie above

Comparison compare(unsigned index, Test test, int value) {
  return {index, test, static_cast<std::uint32_t>(value)};
}

class SocketRules {
 public:
  SocketRules(FilterBuilder& builder, int call, std::span<const Socket> allowed)
      : builder_(builder), call_(call), allowed_(allowed) {}

  Result<void> add() {
    if (allowed_.empty()) return builder_.refuse(call_, EAFNOSUPPORT);
    std::vector<int> domains;
    for (const Socket& socket : allowed_)
      domains.push_back(socket.domain);
    std::sort(domains.begin(), domains.end());
    domains.erase(std::unique(domains.begin(), domains.end()), domains.end());
    AEGIS_TRY(refuse_rest({}, kDomain, domains));
    for (const int domain : domains)
      AEGIS_TRY(add_domain(domain));
    return {};
  }

 private:
  Result<void> add_domain(int domain) {
    const Comparison is_domain = compare(kDomain, Test::equal, domain);
    for (int type = 0; type < kTypes; ++type) {
      const std::vector<int> protocols = protocols_of(domain, type);
      Comparison is_type = compare(kType, Test::low_bits, type);
      is_type.mask = kTypes - 1;
      if (protocols.empty()) {
        AEGIS_TRY(refuse({is_domain, is_type}));
      } else if (protocols.front() != kAny) {
        AEGIS_TRY(refuse_rest({is_domain, is_type}, kProtocol, protocols));
      }
    }
    return {};
  }

  [[nodiscard]] std::vector<int> protocols_of(int domain, int type) const {
    std::vector<int> protocols;
    for (const Socket& socket : allowed_) {
      const bool is_of_type = socket.type == type || socket.type == kAny;
      if (socket.domain == domain && is_of_type) protocols.push_back(socket.protocol);
    }
    return protocols;
  }

  Result<void> refuse_rest(const std::vector<Comparison>& prefix,
                           unsigned index,
                           const std::vector<int>& allowed) {
    const auto refuse_also = [&](const Comparison& last) {
      std::vector<Comparison> when = prefix;
      when.push_back(last);
      return refuse(when);
    };
    const int largest = *std::max_element(allowed.begin(), allowed.end());
    for (int value = 0; value < largest; ++value) {
      if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) continue;
      AEGIS_TRY(refuse_also(compare(index, Test::equal, value)));
    }
    return refuse_also(compare(index, Test::greater, largest));
  }

  Result<void> refuse(const std::vector<Comparison>& when) {
    return builder_.refuse(call_, EAFNOSUPPORT, when);
  }

  FilterBuilder& builder_;
  int call_;
  std::span<const Socket> allowed_;
};

}  // namespace

Result<void> refuse_other_sockets(FilterBuilder& builder,
                                  int call,
                                  std::span<const Socket> allowed) {
  return SocketRules(builder, call, allowed).add();
}

}  // namespace aegis::confine
