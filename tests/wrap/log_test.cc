// SPDX-License-Identifier: Apache-2.0 OR MIT
// aegis's own stderr lines: what they look like, and that they never wait.
#include "wrap/log.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>

#include <doctest/doctest.h>

#include "confine/fd.h"
#include "mcp/json/canonical.h"

namespace {

using aegis::confine::Fd;
using aegis::wrap::escape_controls;
using aegis::wrap::kMaxLogLine;
using aegis::wrap::log;
using aegis::wrap::log_to;
using aegis::wrap::LogQueue;

struct Ends {
  Fd read;
  Fd write;
};

Ends make_pipe() {
  std::array<int, 2> numbers{};
  REQUIRE(::pipe2(numbers.data(), O_CLOEXEC) == 0);
  return {Fd(numbers[0]), Fd(numbers[1])};
}

Ends make_socket_pair() {
  std::array<int, 2> numbers{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, numbers.data()) == 0);
  return {Fd(numbers[0]), Fd(numbers[1])};
}

/// Whatever is there now.
std::string drain(const Fd& fd) {
  std::string text;
  std::array<char, 65536> buffer{};
  const int flags = ::fcntl(fd.get(), F_GETFL);
  REQUIRE(::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) == 0);
  for (;;) {
    const ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return text;
}

TEST_CASE("a line goes out with the program's name and a newline") {
  for (const bool is_socket : {false, true}) {
    CAPTURE(is_socket);
    const Ends ends = is_socket ? make_socket_pair() : make_pipe();
    log_to(ends.write.get(), "open: /x: no such file");
    CHECK(drain(ends.read) == "aegis: open: /x: no such file\n");
  }
}

TEST_CASE("control characters and broken UTF-8 are shown, not sent") {
  struct Row {
    std::string_view name, given, shown;
  };
  constexpr Row kRows[] = {
      {"plain", "plain \\ text", "plain \\ text"},
      {"a newline cannot forge a line", "a\nb", "a\\nb"},
      {"escape sequence", "\x1b[31mred", "\\x1b[31mred"},
      {"tab and carriage return", "\t\r", "\\t\\r"},
      {"delete", "\x7f", "\\x7f"},
      {"text beyond ASCII stays", "größe € 😀", "größe € 😀"},
      {"a C1 control", "\xc2\x9b", "\\xc2\\x9b"},
      {"no-break space is above C1", "\xc2\xa0", "\xc2\xa0"},
      {"stray continuation byte", "a\x80z", "a\\x80z"},
      {"overlong slash", "\xc0\xaf", "\\xc0\\xaf"},
      {"encoded surrogate", "\xed\xa0\x80", "\\xed\\xa0\\x80"},
      {"above U+10FFFF", "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
      {"cut character", "\xe2\x82", "\\xe2\\x82"},
      {"broken third byte", "\xe2\x82z", "\\xe2\\x82z"},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.name);
    CHECK(escape_controls(row.given) == row.shown);
  }
  CHECK(escape_controls(std::string_view("\0", 1)) == "\\x00");
}

TEST_CASE("a long line is cut to what a pipe takes whole, between characters") {
  for (std::size_t lead = 0; lead < 4; ++lead) {
    CAPTURE(lead);
    std::string line(lead, 'x');
    while (line.size() < 3 * kMaxLogLine)
      line += "😀";
    const Ends ends = make_pipe();
    log_to(ends.write.get(), line);
    const std::string text = drain(ends.read);
    CHECK(text.size() <= kMaxLogLine);
    CHECK(text.size() > kMaxLogLine - 16);
    const std::string_view end = " [...]\n";
    REQUIRE(text.size() > end.size());
    CHECK(text.substr(text.size() - end.size()) == end);
    CHECK(aegis::mcp::json::is_encodable(text));
  }
  const Ends ends = make_pipe();
  const std::string fits(kMaxLogLine - 8, 'x');
  log_to(ends.write.get(), fits);
  CHECK(drain(ends.read) == "aegis: " + fits + "\n");
}

TEST_CASE("a full pipe or socket drops the line at once and is left as it was") {
  for (const bool is_socket : {false, true}) {
    CAPTURE(is_socket);
    const Ends ends = is_socket ? make_socket_pair() : make_pipe();
    const int flags = ::fcntl(ends.write.get(), F_GETFL);
    for (int i = 0; i < 5000; ++i)
      log_to(ends.write.get(), std::string(200, 'x'));  // must return
    CHECK(::fcntl(ends.write.get(), F_GETFL) == flags);
    const std::string text = drain(ends.read);
    CHECK(text.size() < 5000 * 200);
    REQUIRE(text.size() > 0);
    CHECK(text.back() == '\n');
  }
}

/// Stands in for stderr while it lives.
class Stderr {
 public:
  explicit Stderr(const Fd& fd) : kept_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)) {
    REQUIRE(::dup2(fd.get(), STDERR_FILENO) == STDERR_FILENO);
  }
  Stderr(const Stderr&) = delete;
  Stderr& operator=(const Stderr&) = delete;
  ~Stderr() { ::dup2(kept_.get(), STDERR_FILENO); }

 private:
  Fd kept_;
};

TEST_CASE(
    "a line that would have to wait is queued, keeps its place, and is dropped beyond a limit") {
  for (const bool is_socket : {false, true}) {
    CAPTURE(is_socket);
    const Ends ends = is_socket ? make_socket_pair() : make_pipe();
    constexpr std::size_t kLimit = 12288;
    std::string queued;
    std::string written;
    {
      const Stderr standing_in(ends.write);
      const LogQueue queue(queued, kLimit);
      log("at once");
      CHECK(queued.empty());
      while (queued.empty())
        log(std::string(4000, 'x'));
      written = drain(ends.read);
      log("there is room again, and it waits behind the others");
      for (int i = 0; i < 10; ++i)
        log(std::string(4000, 'y'));
    }
    CHECK(written.starts_with("aegis: at once\n"));
    CHECK(drain(ends.read).empty());
    CHECK(queued.size() <= kLimit);
    CHECK(queued.ends_with("yyyy\n"));
    const std::string all = written + queued;
    const std::string waited =
        "xxx\naegis: there is room again, and it waits behind the others\naegis: yyy";
    CHECK(all.find(waited) != std::string::npos);
  }
}

TEST_CASE("a reader that is gone is no reason to fail") {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  for (const bool is_socket : {false, true}) {
    CAPTURE(is_socket);
    Ends ends = is_socket ? make_socket_pair() : make_pipe();
    ends.read.reset();
    log_to(ends.write.get(), "into the void");
    CHECK(ends.write.is_open());
  }
  log_to(-1, "into nothing");
  const bool is_still_ignored = std::signal(SIGPIPE, before) == SIG_IGN;
  CHECK(is_still_ignored);
}

}  // namespace
