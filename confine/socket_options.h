// SPDX-License-Identifier: Apache-2.0 OR MIT
// What is to be known of a socket by its descriptor, and making one like another.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "confine/fd.h"

namespace aegis::confine {

/// Fixed when the socket was made: nobody can change it under a descriptor that is held.
struct SocketTraits {
  int domain = 0;             // AF_*
  int type = 0;               // SOCK_*
  int protocol = 0;           // IPPROTO_*
  std::uint64_t network = 0;  // SO_NETNS_COOKIE, Linux 5.14: its network namespace
};
/// 0, or an errno: ENOTSOCK.
[[nodiscard]] int read_traits(int socket, SocketTraits& traits);

/// The cookie of the caller's own network namespace; nothing when the kernel does not say.
std::optional<std::uint64_t> own_network();

/// Its state (tcp_states.h), or nothing when it is no TCP socket.
enum class TcpState : std::uint8_t { closed, connecting, other };
std::optional<TcpState> tcp_state(int socket);

/// The value of one option, as getsockopt(2) gives it.
struct OptionValue {
  std::array<char, 32> bytes = {};
  std::uint32_t size = 0;  // 0: there is no such option
  friend bool operator==(const OptionValue&, const OptionValue&) = default;
};

/// Makes sockets like others. It knows what a new socket has, so as not to ask each time.
class SocketMaker {
 public:
  SocketMaker();
  /// A non-blocking TCP socket of the caller's network namespace with `model`'s options, where they
  /// differ from a new socket's. Not open on failure, with errno.
  [[nodiscard]] Fd make_like(int model, int domain) const;

 private:
  std::vector<OptionValue> v4_;
  std::vector<OptionValue> v6_;
};

bool is_non_blocking(int socket);
/// Makes O_NONBLOCK of `socket` what it is of `model`.
void copy_blocking(int model, int socket);

/// How long a blocking connect waits (SO_SNDTIMEO, socket(7)); nothing: as long as TCP tries.
std::optional<std::chrono::milliseconds> connect_patience(int socket);

/// SO_ERROR, which is 0 afterwards.
int take_error(int socket);

}  // namespace aegis::confine
