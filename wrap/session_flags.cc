// SPDX-License-Identifier: Apache-2.0 OR MIT
// See session_flags.h.
#include "wrap/session_flags.h"

#include <chrono>
#include <string_view>

#include "wrap/size.h"

namespace aegis::wrap {
namespace {

constexpr std::uint64_t kLongestGraceSeconds = 86'400;  // a day

Durability durability_of(std::string_view word) {
  if (word == "session") return Durability::session;
  return word == "off" ? Durability::off : Durability::call;
}

}  // namespace

void SessionFlags::add_to(Flags& flags, InterposeOptions& options) {
  flags.add_text({"--audit",
                  "PATH",
                  "the record: a file, or a folder for one file a session (default: "
                  "~/.local/state/aegis/records)"},
                 options.audit);
  flags.add_text({"--signing-key",
                  "PATH",
                  "the key file (default: ~/.config/aegis/signing.key, made when missing)"},
                 options.signing_key);
  flags.add_choice({"--durability",
                    "call|session|off",
                    "an intent is on the disk before its call goes on (call, default), within 50 "
                    "ms (session), or when the kernel sees fit (off)"},
                   {"call", "session", "off"},
                   durability_);
  flags.add_text({"--max-frame",
                  "BYTES",
                  "the longest frame that is relayed, with KiB, MiB or GiB (default: 64MiB)"},
                 max_frame_);
  flags.add_number({"--grace",
                    "SECONDS",
                    "how long a server may be silent after its client has closed (default: 5)"},
                   {0, kLongestGraceSeconds},
                   grace_seconds_);
}

confine::Result<void> SessionFlags::settle(InterposeOptions& options) const {
  if (max_frame_) {
    const auto size = parse_size(*max_frame_, {1, kLargestMaxFrame});
    if (!size) {
      return confine::Error{
          "--max-frame: '" + *max_frame_ +
          "': a number of bytes from 1 to 4GiB is expected, such as 1048576 or 64MiB"};
    }
    options.max_frame = *size;
  }
  options.durability = durability_of(durability_);
  options.grace = std::chrono::seconds(grace_seconds_);
  return {};
}

confine::Result<void> check_revealed(const std::vector<std::string>& names) {
  std::size_t bytes = 0;
  for (const std::string& name : names)
    bytes += name.size();
  if (bytes <= kMostRevealed) return {};
  return confine::Error{"--reveal: the names have more than " + std::to_string(kMostRevealed) +
                        " bytes together; name fewer"};
}

}  // namespace aegis::wrap
