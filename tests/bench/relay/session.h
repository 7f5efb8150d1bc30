// SPDX-License-Identifier: Apache-2.0 OR MIT
// A program that is spoken to over two pipes, as an MCP client starts its server. It knows bytes
// and processes, no requests (client.h).
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "confine/fd.h"

namespace aegis::relay_bench {

struct Program {
  std::string name;  // for messages and for the name of the file its stderr goes to
  std::vector<std::string> argv;
  std::string home;  // HOME, and the folder of that file
  int core;          // where it and all that it starts run
};

class Session {
 public:
  explicit Session(const Program& program);

  /// Blocks until all is in the pipe.
  void write(std::string_view bytes);
  /// What one read(2) brings, at most `limit` and 64 KiB. Never empty. Valid until the next read.
  std::string_view read(std::size_t limit);
  /// Closes its stdin and waits until it has ended, with status 0.
  void end();

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  [[noreturn]] void give_up(std::string_view what) const;

  std::string name_;
  std::string errors_;  // path of its stderr's file
  pid_t pid_ = -1;
  confine::Fd input_;
  confine::Fd output_;
  std::vector<char> buffer_;
};

/// From now on this process, and what it starts, run on that core only.
void pin_to(int core);

}  // namespace aegis::relay_bench
