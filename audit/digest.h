// SPDX-License-Identifier: Apache-2.0 OR MIT
// SHA-256 digests, each with the type of what it was taken over, so that one cannot stand in for
// another.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace aegis::audit {

using Sha256 = std::array<std::uint8_t, 32>;

Sha256 sha256(std::string_view bytes);

/// The same over bytes that come in pieces. Copying it forks the digest.
class Sha256Stream {
 public:
  Sha256Stream();
  void update(std::string_view bytes);
  /// Of all bytes so far; then it begins anew.
  Sha256 finish();

 private:
  alignas(8) std::array<std::byte, 112> state_;  // libcrypto's, kept out of this header
};

/// 64 lower-case digits.
std::string to_hex(const Sha256& digest);
/// Exactly 64 lower-case hex digits; anything else, upper case too, is nothing.
std::optional<Sha256> parse_hex(std::string_view text);

template <class Of>
struct Digest {
  Sha256 bytes{};
  static Digest of(std::string_view content) { return Digest{sha256(content)}; }
  friend bool operator==(const Digest&, const Digest&) = default;
};

using FrameDigest = Digest<struct OfFrame>;     // a frame without its '\n'
using LineHash = Digest<struct OfLine>;         // a complete Line, signature included
using KeyId = Digest<struct OfKey>;             // the 32 bytes of a public key
using PolicySetHash = Digest<struct OfPolicy>;  // a policy's canonical form
using ArgvDigest = Digest<struct OfArgv>;       // argv words joined with NUL
using ProfileHash = Digest<struct OfProfile>;   // a confinement profile's text
using TornDigest = Digest<struct OfTorn>;       // torn bytes that were moved aside

/// What stands for "no policy" (record.md).
inline constexpr std::string_view kPassthroughPolicy = "aegis-wrap-passthrough-v0";

}  // namespace aegis::audit
