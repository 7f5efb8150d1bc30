// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the confined side does for network grants, between clone and exec. Every function is
// async-signal-safe, allocates nothing and returns 0 or an errno.
//
// In this order: the first process of the namespaces, while it is capable: raise_loopback,
// open_resolver_socket, send_fd(kResolverTag). The program's process, after Landlock has taken
// TCP's bind and connect from it (without that, what the supervisor lets go on could be swapped
// under its hands) and before the refusing filter: load_listener, send_fd(kListenerTag), and close
// both descriptors, or have them closed by exec.
#pragma once

namespace aegis::confine {

inline constexpr char kResolverTag = 'R';
inline constexpr char kListenerTag = 'L';

/// Sets `lo` up in the caller's network namespace. Needs CAP_NET_ADMIN there.
[[nodiscard]] int raise_loopback() noexcept;

/// A UDP socket bound to 127.0.0.1:53, close-on-exec, non-blocking. Needs CAP_NET_BIND_SERVICE.
[[nodiscard]] int open_resolver_socket(int* fd) noexcept;

/// Sends a copy of `fd` over a unix socket with `tag` as its one byte. The caller keeps `fd`.
[[nodiscard]] int send_fd(int socket, int fd, char tag) noexcept;
/// Waits for one. The caller owns *fd, which is close-on-exec. ECONNRESET: nobody is left to send.
[[nodiscard]] int receive_fd(int socket, int* fd, char* tag) noexcept;

/// Puts a filter on the calling thread that hands connect, bind, listen and sockets of other kinds
/// than unix streams, TCP and UDP to who holds *listener_fd (seccomp_unotify(2)), and refuses
/// MSG_FASTOPEN, which connects without connect. When nobody holds it the calls fail with ENOSYS.
/// *listener_fd is close-on-exec. no_new_privs must be set. Needs Linux 5.19 (WAIT_KILLABLE_RECV).
[[nodiscard]] int load_listener(int* listener_fd) noexcept;

}  // namespace aegis::confine
