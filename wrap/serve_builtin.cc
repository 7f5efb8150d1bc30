// SPDX-License-Identifier: Apache-2.0 OR MIT
// See serve_builtin.h. It runs in a process of its own, with one thread and nothing else to do.
#include "wrap/serve_builtin.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>

#include "mcp/builtin_server.h"
#include "mcp/frame.h"
#include "wrap/limits.h"

namespace aegis::wrap {
namespace {

bool write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

/// Answers what `pending` holds of whole frames, and leaves the rest in it. False when nothing more
/// can be answered.
bool answer_frames(std::string& pending, mcp::FrameCutter& cutter, mcp::BuiltinServer& server) {
  std::size_t done = 0;
  for (;;) {
    const std::string_view rest = std::string_view(pending).substr(done);
    const mcp::FrameCutter::Cut cut = cutter.next(rest);
    if (cut.outcome == mcp::FrameCutter::Outcome::oversize) return false;
    if (cut.outcome == mcp::FrameCutter::Outcome::incomplete) break;
    if (!write_all(server.answer(rest.substr(0, cut.size)))) return false;
    done += cut.size;
  }
  pending.erase(0, done);
  return true;
}

}  // namespace

void serve_builtin(std::size_t max_frame) noexcept {
  mcp::BuiltinServer server(AEGIS_VERSION);
  mcp::FrameCutter cutter(max_frame);
  std::string pending;
  std::array<char, kReadSize> piece;
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    pending.append(piece.data(), static_cast<std::size_t>(got));
    if (!answer_frames(pending, cutter, server)) return;
  }
  // What stands behind the last '\n' is a frame, too.
  if (!pending.empty()) write_all(server.answer(pending));
}

}  // namespace aegis::wrap
