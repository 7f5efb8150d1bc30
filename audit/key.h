// SPDX-License-Identifier: Apache-2.0 OR MIT
// Ed25519 keys. A signing key is made from a 32-byte seed that the caller read; nothing here reads
// a file or a random source.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "audit/digest.h"

namespace aegis::audit {

struct PublicKey {
  std::array<std::uint8_t, 32> bytes{};
  [[nodiscard]] KeyId id() const;
  friend bool operator==(const PublicKey&, const PublicKey&) = default;
};
using Signature = std::array<std::uint8_t, 64>;

/// Initialises libsodium; false when that fails. It may read the system's random source, so no pure
/// part calls it: the program's main does, once, before anything else here. Repeating it does
/// nothing.
[[nodiscard]] bool init_crypto();

/// Whether `key` is a point of the prime-order group, canonically encoded and not of small order. A
/// signature is only as good as this: under a key of small order one signature fits many messages.
bool is_strict_point(const PublicKey& key);
/// Strict Ed25519 (RFC 8032 with S below the group order; no R or key of small order; no cofactor).
/// The caller has asked is_strict_point of `key`.
bool is_signed_by(const PublicKey& key, std::string_view message, const Signature& signature);

/// 64 lower-case hex digits. Says nothing of whether it is a point of the prime-order group.
std::optional<PublicKey> parse_public_key(std::string_view hex);
std::string to_hex(const PublicKey& key);

/// A key file's text: 64 lower-case hex digits and one newline (it may be missing). Nothing else.
using Seed = std::array<std::uint8_t, 32>;
std::optional<Seed> parse_seed(std::string_view text);
std::string encode_seed(const Seed& seed);
/// Overwrites memory in a way that the compiler keeps.
void wipe(Seed& seed);
void wipe(std::string& text);

/// Move-only. Its secret lies in a page of its own: never swapped or dumped where the system
/// permits that, empty in a forked child, wiped at the end. That page is memory, not I/O; without
/// one, std::bad_alloc.
class SigningKey {
 public:
  explicit SigningKey(const Seed& seed);
  SigningKey(SigningKey&&) noexcept;
  SigningKey& operator=(SigningKey&&) noexcept;
  SigningKey(const SigningKey&) = delete;
  SigningKey& operator=(const SigningKey&) = delete;
  ~SigningKey();

  [[nodiscard]] const PublicKey& public_key() const { return public_key_; }
  [[nodiscard]] Signature sign(std::string_view message) const;

 private:
  struct Secret;
  struct Release {
    void operator()(Secret* secret) const noexcept;
  };
  PublicKey public_key_;
  std::unique_ptr<Secret, Release> secret_;
};

}  // namespace aegis::audit
