// SPDX-License-Identifier: Apache-2.0 OR MIT
// Both ends of the helper: the process that signs and syncs, and the client that asks it to.
#include "tests/bench/relay/floor.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <sodium.h>

#include "confine/fd.h"
#include "tests/bench/relay/clock.h"
#include "tests/bench/relay/fail.h"
#include "tests/bench/relay/modes.h"

namespace aegis::relay_bench {
namespace {

constexpr char kSync = 's';
constexpr char kSign = 'g';
constexpr std::size_t kSignatures = 32;
constexpr std::size_t kSignedBytes = 1200;

using Durations = std::array<double, kSignatures>;

class Signer {
 public:
  Signer() {
    if (::sodium_init() < 0) fail("floor: sodium_init");
    ::crypto_sign_keypair(public_.data(), secret_.data());
    text_.fill('x');
  }
  double once() {
    const double start = now();
    ::crypto_sign_detached(signature_.data(), nullptr, text_.data(), text_.size(), secret_.data());
    return now() - start;
  }

 private:
  std::array<unsigned char, crypto_sign_PUBLICKEYBYTES> public_{};
  std::array<unsigned char, crypto_sign_SECRETKEYBYTES> secret_{};
  std::array<unsigned char, crypto_sign_BYTES> signature_{};
  std::array<unsigned char, kSignedBytes> text_{};
};

double append_and_sync(const confine::Fd& file) {
  std::array<char, kAppendBytes> line;
  line.fill('x');
  const double start = now();
  if (::write(file.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    fail("floor: append");
  if (::fdatasync(file.get()) != 0) fail("floor: fdatasync");
  return now() - start;
}

void answer(const double* durations, std::size_t count) {
  const std::size_t bytes = count * sizeof *durations;
  if (::write(STDOUT_FILENO, durations, bytes) != static_cast<ssize_t>(bytes)) fail("floor: write");
}

}  // namespace

int measure_floors(const char* path) {
  const confine::Fd file(::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file.is_open()) fail("floor: open");
  Signer signer;
  for (;;) {
    char command = 0;
    const ssize_t count = ::read(STDIN_FILENO, &command, 1);
    if (count < 0) fail("floor: read");
    if (count == 0) return 0;
    if (command == kSync) {
      const double seconds = append_and_sync(file);
      answer(&seconds, 1);
      continue;
    }
    Durations durations;
    std::generate(durations.begin(), durations.end(), [&signer] { return signer.once(); });
    answer(durations.data(), durations.size());
  }
}

double Floor::sync() {
  session_.write(std::string_view(&kSync, 1));
  double seconds = 0;
  // One write of less than PIPE_BUF arrives whole.
  std::memcpy(&seconds, session_.read(sizeof seconds).data(), sizeof seconds);
  return seconds;
}

void Floor::sign(Samples& samples) {
  session_.write(std::string_view(&kSign, 1));
  Durations durations;
  std::memcpy(durations.data(), session_.read(sizeof durations).data(), sizeof durations);
  for (const double seconds : durations)
    samples.add(seconds);
}

}  // namespace aegis::relay_bench
