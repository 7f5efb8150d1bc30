// SPDX-License-Identifier: Apache-2.0 OR MIT
// SHA-256 by OpenSSL's libcrypto, which uses the processor's SHA instructions; libsodium's does not
// and is four to six times slower. Its SHA256_* functions, deprecated in OpenSSL 3 in favour of
// EVP, are meant here: they fetch no provider (which reads openssl.cnf and the environment, and so
// may load foreign code), allocate nothing, cannot fail, and save 50 ns a Line.
#define OPENSSL_SUPPRESS_DEPRECATED  // NOLINT(readability-identifier-naming): OpenSSL's name
#include "audit/digest.h"

#include <openssl/sha.h>

#include <cstring>

#include "audit/hex.h"

namespace aegis::audit {
namespace {

static_assert(sizeof(SHA256_CTX) == sizeof(Sha256Stream) &&
              alignof(SHA256_CTX) <= alignof(Sha256Stream));

}  // namespace

Sha256 sha256(std::string_view bytes) {
  SHA256_CTX context;
  Sha256 digest;
  SHA256_Init(&context);
  SHA256_Update(&context, bytes.data(), bytes.size());
  SHA256_Final(digest.data(), &context);
  return digest;
}

Sha256Stream::Sha256Stream() {
  SHA256_CTX context;
  SHA256_Init(&context);
  std::memcpy(state_.data(), &context, sizeof context);
}

void Sha256Stream::update(std::string_view bytes) {
  SHA256_CTX context;
  std::memcpy(&context, state_.data(), sizeof context);
  SHA256_Update(&context, bytes.data(), bytes.size());
  std::memcpy(state_.data(), &context, sizeof context);
}

Sha256 Sha256Stream::finish() {
  SHA256_CTX context;
  std::memcpy(&context, state_.data(), sizeof context);
  Sha256 digest;
  SHA256_Final(digest.data(), &context);
  *this = Sha256Stream{};
  return digest;
}

std::string to_hex(const Sha256& digest) {
  std::string text;
  append_hex(digest, text);
  return text;
}

std::optional<Sha256> parse_hex(std::string_view text) {
  Sha256 digest;
  if (!decode_hex(text, digest)) return std::nullopt;
  return digest;
}

}  // namespace aegis::audit
