// SPDX-License-Identifier: Apache-2.0 OR MIT
// Ed25519 by libsodium, and the page that a secret lies in.
#include "audit/key.h"

#include <sys/mman.h>

#include <new>
#include <type_traits>

#include <sodium.h>

#include "audit/hex.h"

namespace aegis::audit {
namespace {

static_assert(crypto_sign_PUBLICKEYBYTES == 32 && crypto_sign_SEEDBYTES == 32 &&
              crypto_sign_BYTES == 64);

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

KeyId PublicKey::id() const {
  return KeyId::of({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

bool init_crypto() {
  return sodium_init() >= 0;
}

bool is_strict_point(const PublicKey& key) {
  return crypto_core_ed25519_is_valid_point(key.bytes.data()) == 1;
}

bool is_signed_by(const PublicKey& key, std::string_view message, const Signature& signature) {
  return crypto_sign_verify_detached(
             signature.data(), bytes_of(message), message.size(), key.bytes.data()) == 0;
}

std::optional<PublicKey> parse_public_key(std::string_view hex) {
  PublicKey key;
  if (!decode_hex(hex, key.bytes)) return std::nullopt;
  return key;
}

std::string to_hex(const PublicKey& key) {
  std::string text;
  append_hex(key.bytes, text);
  return text;
}

std::optional<Seed> parse_seed(std::string_view text) {
  if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  Seed seed;
  if (decode_hex(text, seed)) return seed;
  wipe(seed);  // may hold a part of a key
  return std::nullopt;
}

std::string encode_seed(const Seed& seed) {
  std::string text;
  text.reserve(2 * seed.size() + 1);  // no copy of the digits stays behind in a smaller buffer
  append_hex(seed, text);
  text += '\n';
  return text;
}

void wipe(Seed& seed) {
  sodium_memzero(seed.data(), seed.size());
}

void wipe(std::string& text) {
  sodium_memzero(text.data(), text.size());
  text.clear();
}

struct SigningKey::Secret {
  std::array<unsigned char, crypto_sign_SECRETKEYBYTES> bytes;
};

void SigningKey::Release::operator()(Secret* secret) const noexcept {
  sodium_memzero(secret, sizeof *secret);
  munmap(secret, sizeof *secret);
}

SigningKey::SigningKey(const Seed& seed) {
  static_assert(std::is_trivially_destructible_v<Secret>);
  void* page = mmap(nullptr,
                    sizeof(Secret),
                    PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS,
                    /*fd=*/-1,
                    /*offset=*/0);
  if (page == MAP_FAILED) throw std::bad_alloc();
  secret_.reset(new (page) Secret{});
  // Each of these is a hardening that a kernel or a limit (RLIMIT_MEMLOCK) may refuse; signing is
  // right without them. WIPEONFORK rather than DONTFORK: a child that runs destructors must not
  // fault on its way out.
  static_cast<void>(madvise(page, sizeof(Secret), MADV_WIPEONFORK));
  static_cast<void>(madvise(page, sizeof(Secret), MADV_DONTDUMP));
  static_cast<void>(mlock(page, sizeof(Secret)));
  crypto_sign_seed_keypair(public_key_.bytes.data(), secret_->bytes.data(), seed.data());
}

SigningKey::SigningKey(SigningKey&&) noexcept = default;
SigningKey& SigningKey::operator=(SigningKey&&) noexcept = default;
SigningKey::~SigningKey() = default;

Signature SigningKey::sign(std::string_view message) const {
  Signature signature;
  crypto_sign_detached(
      signature.data(), nullptr, bytes_of(message), message.size(), secret_->bytes.data());
  return signature;
}

}  // namespace aegis::audit
