// SPDX-License-Identifier: Apache-2.0 OR MIT
// aegis's own lines on stderr. None waits for its reader: a client that reads no stderr must not be
// able to stop the relay. A line that would have to wait is queued where there is a LogQueue, and
// dropped otherwise. The server's stderr does not pass here, and nothing here ever touches stdout.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "confine/result.h"

namespace aegis::wrap {

/// The longest line, prefix and newline included; the rest is cut off. Up to here a pipe takes a
/// write whole or not at all (PIPE_BUF), so lines of two processes never mix and POLLOUT promises
/// that it does not wait.
inline constexpr std::size_t kMaxLogLine = 4096;

/// Writes "aegis: <line>\n" to stderr, escaped. `line` reads "<doing>: <what>: <why>". Never waits,
/// never fails.
void log(std::string_view line);
void log(const confine::Error& error);
/// The same to another descriptor, which is looked at during the call only.
void log_to(int fd, std::string_view line);

/// While it lives, log()'s lines keep their place behind the bytes that wait for stderr's reader in
/// `bytes`, and those that would have to wait join them, as long as that leaves `bytes` within
/// `limit`; whoever owns `bytes` writes them. At most one at a time, in a process of one thread.
class LogQueue {
 public:
  LogQueue(std::string& bytes, std::size_t limit);
  LogQueue(const LogQueue&) = delete;
  LogQueue& operator=(const LogQueue&) = delete;
  ~LogQueue();

  /// Takes the line, or drops it.
  void append(std::string_view line);
  [[nodiscard]] bool is_empty() const { return bytes_.empty(); }

 private:
  std::string& bytes_;
  std::size_t limit_;
};

/// `text` with whatever could move a terminal's cursor or end the line made visible: control
/// characters (C0, DEL, C1) and bytes that are no UTF-8 become \n, \t, \r or \xNN.
std::string escape_controls(std::string_view text);

}  // namespace aegis::wrap
