// SPDX-License-Identifier: Apache-2.0 OR MIT
// The server at the far end. All frames of one read are answered with one write, as a server under
// load does: so the rate with many calls in flight is the relay's and not this one's.
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>

#include "tests/bench/relay/fail.h"
#include "tests/bench/relay/modes.h"
#include "tests/bench/relay/wire.h"

namespace aegis::relay_bench {
namespace {

constexpr std::size_t kReadSize = std::size_t{64} << 10;

void write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (count < 0) fail("server: write");
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

class Answers {
 public:
  Answers() {
    text_.reserve(kReadSize);
    while (text_.size() < kReadSize)
      text_.append(kTextUnit - 2, 'x').append("\\n");
  }

  void answer(std::string_view frame) {
    if (frame.size() < kMethodAt || frame.substr(0, kIdPrefix.size()) != kIdPrefix) {
      errno = 0;
      fail("server: a frame that the client did not send");
    }
    out_.append(frame.substr(0, kIdEnd));
    if (frame[kMethodAt] == 'p') {
      out_.append(kEmptyResult);
      return;
    }
    std::size_t bytes = 0;
    const char* const digits = frame.data() + kAnswerDigitsAt;
    std::from_chars(digits, digits + kAnswerDigits, bytes);
    out_.append(kTextHead);
    if (bytes == 0) {
      out_.append("ok");
    } else {
      flush();
      write_text(bytes);
    }
    out_.append(kTextTail);
  }

  void flush() {
    write_all(out_);
    out_.clear();
  }

 private:
  // The same 64 KiB again and again, so that they stay in the cache.
  void write_text(std::size_t bytes) {
    while (bytes > 0) {
      const std::size_t part = std::min(bytes, text_.size());
      write_all(std::string_view(text_).substr(0, part));
      bytes -= part;
    }
  }

  std::string text_;
  std::string out_;
};

}  // namespace

int serve() {
  Answers answers;
  std::array<char, kReadSize> buffer;
  std::size_t held = 0;
  for (;;) {
    const ssize_t count = ::read(STDIN_FILENO, buffer.data() + held, buffer.size() - held);
    if (count < 0) fail("server: read");
    if (count == 0) return 0;
    std::string_view rest(buffer.data(), held + static_cast<std::size_t>(count));
    for (std::size_t end; (end = rest.find('\n')) != std::string_view::npos;
         rest.remove_prefix(end + 1)) {
      answers.answer(rest.substr(0, end));
    }
    answers.flush();
    held = rest.size();
    std::memmove(buffer.data(), rest.data(), held);
  }
}

}  // namespace aegis::relay_bench
