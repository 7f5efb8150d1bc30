// SPDX-License-Identifier: Apache-2.0 OR MIT
// How a line reaches stderr without ever waiting for its reader.
#include "wrap/log.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace aegis::wrap {
namespace {

constexpr std::string_view kPrefix = "aegis: ";
constexpr std::string_view kCut = " [...]";

std::uint8_t byte_at(std::string_view text, std::size_t at) {
  return static_cast<std::uint8_t>(text[at]);
}

/// A row of RFC 3629's table, found by the first byte. The second byte's range leaves out overlong
/// forms, surrogates and what lies above U+10FFFF; all further bytes are 80 to BF.
struct Utf8Row {
  std::uint8_t first_low, first_high;
  std::uint8_t second_low, second_high;
  std::size_t length;
};
constexpr Utf8Row kUtf8Rows[] = {
    {0xC2, 0xDF, 0x80, 0xBF, 2},
    {0xE0, 0xE0, 0xA0, 0xBF, 3},
    {0xE1, 0xEC, 0x80, 0xBF, 3},
    {0xED, 0xED, 0x80, 0x9F, 3},
    {0xEE, 0xEF, 0x80, 0xBF, 3},
    {0xF0, 0xF0, 0x90, 0xBF, 4},
    {0xF1, 0xF3, 0x80, 0xBF, 4},
    {0xF4, 0xF4, 0x80, 0x8F, 4},
};

const Utf8Row* row_of(std::uint8_t first) {
  for (const Utf8Row& row : kUtf8Rows) {
    if (first >= row.first_low && first <= row.first_high) return &row;
  }
  return nullptr;
}

/// Length of the multi-byte character at the start of `text`, or 0 when there is none or it is a C1
/// control (U+0080..U+009F, which some terminals obey).
std::size_t printable_length(std::string_view text) {
  const Utf8Row* row = row_of(byte_at(text, 0));
  if (row == nullptr || text.size() < row->length) return 0;
  const std::uint8_t second = byte_at(text, 1);
  if (second < row->second_low || second > row->second_high) return 0;
  for (std::size_t i = 2; i < row->length; ++i) {
    if ((byte_at(text, i) & 0xC0) != 0x80) return 0;
  }
  const bool is_c1 = byte_at(text, 0) == 0xC2 && second < 0xA0;
  return is_c1 ? 0 : row->length;
}

void append_escaped(std::string& out, std::uint8_t byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  switch (byte) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  out += "\\x";
  out += kDigits[byte >> 4];
  out += kDigits[byte & 0x0F];
}

/// The one that lives.
LogQueue* queue = nullptr;

/// One write that does not wait. Gives what of `bytes` would have to wait: nothing where nobody
/// reads.
std::string_view write_at_once(int fd, std::string_view bytes) {
  const auto rest_after = [&](ssize_t put) {
    if (put < 0) return errno == EAGAIN ? bytes : std::string_view();
    return bytes.substr(static_cast<std::size_t>(put));
  };
  // O_NONBLOCK would be set for everybody who shares the open description, the client's terminal
  // among them. A socket (node's stdio) can be told for one call only; whatever else is asked first
  // whether it has room.
  const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0 || errno != ENOTSOCK) return rest_after(sent);
  pollfd ready{fd, POLLOUT, 0};
  if (::poll(&ready, 1, 0) == 0) return bytes;
  if ((ready.revents & POLLOUT) == 0) return {};
  return rest_after(::write(fd, bytes.data(), bytes.size()));
}

std::string log_line(std::string_view text) {
  std::string out(kPrefix);
  out += escape_controls(text.substr(0, kMaxLogLine));
  const std::size_t room = kMaxLogLine - 1;
  if (out.size() > room || text.size() > kMaxLogLine) {
    std::size_t keep = std::min(out.size(), room - kCut.size());
    while (keep > 0 && (byte_at(out, keep) & 0xC0) == 0x80)
      --keep;  // not amid a character
    out.resize(keep);
    out += kCut;
  }
  out += '\n';
  return out;
}

}  // namespace

std::string escape_controls(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::uint8_t byte = byte_at(text, at);
    const bool is_plain = byte >= 0x20 && byte < 0x7F;
    const std::size_t length = is_plain ? 1 : printable_length(text.substr(at));
    if (length == 0) {
      append_escaped(out, byte);
      ++at;
    } else {
      out.append(text, at, length);
      at += length;
    }
  }
  return out;
}

LogQueue::LogQueue(std::string& bytes, std::size_t limit) : bytes_(bytes), limit_(limit) {
  queue = this;
}

LogQueue::~LogQueue() {
  queue = nullptr;
}

void LogQueue::append(std::string_view line) {
  if (bytes_.size() <= limit_ && line.size() <= limit_ - bytes_.size()) bytes_ += line;
}

void log_to(int fd, std::string_view line) {
  write_at_once(fd, log_line(line));
}

void log(std::string_view line) {
  if (queue == nullptr) return log_to(STDERR_FILENO, line);
  const std::string out = log_line(line);
  queue->append(queue->is_empty() ? write_at_once(STDERR_FILENO, out) : out);
}

void log(const confine::Error& error) {
  log(std::string_view(confine::describe(error)));
}

}  // namespace aegis::wrap
