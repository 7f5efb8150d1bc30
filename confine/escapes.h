// SPDX-License-Identifier: Apache-2.0 OR MIT
// The escapes of selftest.h, each one attempt at one bait. How they are run, and what is made of
// the answers, is selftest.cc's.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace aegis::confine {

/// What lies outside, for the escapes to reach.
struct Bait {
  std::string folder;         // with a file `file` in it, for its owner to read and to write
  pid_t process = -1;         // ends when it gets SIGUSR1
  std::uint64_t secret = 0;   // the address of a byte in its memory
  std::uint16_t port = 0;     // a TCP listener on 127.0.0.1
  std::string abstract_name;  // of a listening unix socket, without the leading NUL
  int descriptor = -1;        // open in who starts the confinement, not CLOEXEC

  [[nodiscard]] std::string file() const { return folder + "/file"; }
  [[nodiscard]] std::string made() const { return folder + "/made"; }
};
/// One word for each member; the second takes nothing but what the first has made.
std::vector<std::string> encode_bait(const Bait& bait);
std::optional<Bait> decode_bait(const std::vector<std::string>& words);

struct Escape {
  /// What is seen from outside when it has succeeded, whatever it says itself.
  enum class Trace : std::uint8_t { none, made_file, mode, process_end, connection, abstract };
  enum class Reach : std::uint8_t {
    every_tier,
    full_only  // beyond Landlock and seccomp (landlock(7), "Limitations")
  };
  std::string_view name;
  std::string_view tried;
  /// 0: it succeeded; else the errno of what refused it.
  int (*attempt)(const Bait& bait);
  /// Which errnos are a refusal; a negative one is the number of a signal that ends the attempt. 0
  /// fills up.
  std::array<int, 3> refusals;
  Trace trace = Trace::none;
  Reach reach = Reach::every_tier;
};
std::span<const Escape> all_escapes();

}  // namespace aegis::confine
