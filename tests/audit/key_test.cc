// SPDX-License-Identifier: Apache-2.0 OR MIT
// Ed25519: published values, what strict means, and where the secret lies.
#include "audit/key.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sodium.h>

#include "tests/audit/forge.h"

namespace aegis::audit {
namespace {

using Bytes32 = std::array<std::uint8_t, 32>;

std::string from_hex(std::string_view hex) {
  std::string bytes(hex.size() / 2, '\0');
  sodium_hex2bin(reinterpret_cast<unsigned char*>(bytes.data()),
                 bytes.size(),
                 hex.data(),
                 hex.size(),
                 nullptr,
                 nullptr,
                 nullptr);
  return bytes;
}

template <std::size_t size>
std::array<std::uint8_t, size> array_from_hex(std::string_view hex) {
  const std::string bytes = from_hex(hex);
  REQUIRE(bytes.size() == size);
  std::array<std::uint8_t, size> out;
  std::copy(bytes.begin(), bytes.end(), out.begin());
  return out;
}

/// An Ed25519 signer with its scalars in the open, to make signatures that no honest signer makes.
struct Scalars {
  Bytes32 secret;  // a
  Bytes32 public_point;

  explicit Scalars(std::uint8_t seed) {
    std::array<std::uint8_t, 64> wide{};
    wide.fill(seed);
    crypto_core_ed25519_scalar_reduce(secret.data(), wide.data());
    crypto_scalarmult_ed25519_base_noclamp(public_point.data(), secret.data());
  }

  static Bytes32 challenge(const Bytes32& r, const Bytes32& a, std::string_view message) {
    std::string text(r.begin(), r.end());
    text.append(a.begin(), a.end());
    text += message;
    std::array<std::uint8_t, 64> hash;
    crypto_hash_sha512(
        hash.data(), reinterpret_cast<const unsigned char*>(text.data()), text.size());
    Bytes32 scalar;
    crypto_core_ed25519_scalar_reduce(scalar.data(), hash.data());
    return scalar;
  }

  /// (R, h a + r) with R = r B, for the key `a_encoded` that is said to be this signer's.
  [[nodiscard]] Signature sign(std::string_view message, const Bytes32& a_encoded) const {
    Bytes32 r{};
    r[0] = 7;
    Bytes32 r_point;
    crypto_scalarmult_ed25519_base_noclamp(r_point.data(), r.data());
    return finish(message, a_encoded, r_point, r);
  }

  [[nodiscard]] Signature finish(std::string_view message,
                                 const Bytes32& a_encoded,
                                 const Bytes32& r_point,
                                 const Bytes32& r) const {
    Bytes32 s = challenge(r_point, a_encoded, message);
    crypto_core_ed25519_scalar_mul(s.data(), s.data(), secret.data());
    crypto_core_ed25519_scalar_add(s.data(), s.data(), r.data());
    Signature signature;
    std::copy(r_point.begin(), r_point.end(), signature.begin());
    std::copy(s.begin(), s.end(), signature.begin() + 32);
    return signature;
  }
};

constexpr Bytes32 kIdentity{1};  // y = 1
constexpr std::string_view kOrderEight =
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a";

}  // namespace

TEST_CASE("keys and signatures are those of RFC 8032, section 7.1") {
  struct Row {
    const char* name;
    std::string_view seed;
    std::string_view public_key;
    std::string_view message;
    std::string_view signature;
  };
  const std::vector<Row> rows{
      {"TEST 1",
       "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
       "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
       "",
       "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
       "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"},
      {"TEST 3",
       "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
       "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
       "af82",
       "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
       "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const auto seed = parse_seed(row.seed);
    REQUIRE(seed);
    const SigningKey key{*seed};
    CHECK(to_hex(key.public_key()) == row.public_key);
    CHECK(is_strict_point(key.public_key()));
    const Signature signature = key.sign(from_hex(row.message));
    CHECK(signature == array_from_hex<64>(row.signature));
    CHECK(is_signed_by(key.public_key(), from_hex(row.message), signature));
    CHECK_FALSE(is_signed_by(key.public_key(), from_hex(row.message) + "x", signature));
  }
}

TEST_CASE("a key's id is the hash of its 32 bytes") {
  const SigningKey key = dev_key();
  CHECK(to_hex(key.public_key()) ==
        "3de537a06e04b2ffe1fb0558ea16d3c0f042ed99f7e392698aa5120f568d4e2c");
  CHECK(to_hex(key.public_key().id().bytes) ==
        "77a2c2f5952039243c043b69e7e812a2deb69e3271adb3013b8f24d3b8ea40f6");
  CHECK(parse_public_key(to_hex(key.public_key())) == key.public_key());
}

TEST_CASE("a key file is 64 lower-case digits and perhaps a newline") {
  const std::string good = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
  REQUIRE(parse_seed(good));
  REQUIRE(parse_seed(good + "\n"));
  CHECK(*parse_seed(good) == *parse_seed(good + "\n"));
  CHECK(encode_seed(*parse_seed(good)) == good + "\n");
  for (const std::string& bad : {std::string{},
                                 std::string{"\n"},
                                 good + "\n\n",
                                 good + " ",
                                 good + "\r\n",
                                 " " + good,
                                 good.substr(1),
                                 good + "00",
                                 "9D" + good.substr(2)}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_seed(bad));
  }
}

TEST_CASE("wiping leaves nothing") {
  Seed seed;
  seed.fill(7);
  wipe(seed);
  CHECK(seed == Seed{});
  std::string text(100, 'x');
  const char* const bytes = text.data();
  wipe(text);
  CHECK(text.empty());
  CHECK(std::all_of(bytes + 1, bytes + 100, [](char c) { return c == '\0'; }));
}

TEST_CASE("a signature whose S is not below the group order is refused") {
  const SigningKey key = key_of(3);
  Signature signature = key.sign("message");
  REQUIRE(is_signed_by(key.public_key(), "message", signature));
  // The group order L, in little-endian bytes: S + L satisfies the same equation.
  const auto order =
      array_from_hex<32>("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
  unsigned carry = 0;
  for (std::size_t i = 0; i < 32; ++i) {
    carry += signature[32 + i] + unsigned{order[i]};
    signature[32 + i] = static_cast<std::uint8_t>(carry);
    carry >>= 8U;
  }
  CHECK(carry == 0);
  CHECK_FALSE(is_signed_by(key.public_key(), "message", signature));
}

TEST_CASE("a signature whose R has small order is refused") {
  const Scalars signer{9};
  const PublicKey key{signer.public_point};
  REQUIRE(is_strict_point(key));
  REQUIRE(is_signed_by(key, "message", signer.sign("message", key.bytes)));
  // R = identity, r = 0: S B = R + h A holds.
  CHECK_FALSE(
      is_signed_by(key, "message", signer.finish("message", key.bytes, kIdentity, Bytes32{})));
}

TEST_CASE("keys that are no points of the prime-order group are refused") {
  struct Row {
    const char* name;
    std::string_view key;
  };
  const std::vector<Row> rows{
      {"identity", "0100000000000000000000000000000000000000000000000000000000000000"},
      {"identity with the sign bit",
       "0100000000000000000000000000000000000000000000000000000000000080"},
      {"identity as p + 1", "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"},
      {"order 2", "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"},
      {"order 4", "0000000000000000000000000000000000000000000000000000000000000000"},
      {"order 4, other sign", "0000000000000000000000000000000000000000000000000000000000000080"},
      {"order 4 as p", "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"},
      {"order 8", kOrderEight},
      {"not on the curve", "0200000000000000000000000000000000000000000000000000000000000000"},
      {"all ones", "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    CHECK_FALSE(is_strict_point(PublicKey{array_from_hex<32>(row.key)}));
  }
}

TEST_CASE("a key with a small-order part is refused though signatures under it can hold") {
  const Scalars signer{9};
  const auto torsion = array_from_hex<32>(kOrderEight);
  PublicKey mixed;
  REQUIRE(crypto_core_ed25519_add(mixed.bytes.data(), signer.public_point.data(), torsion.data()) ==
          0);
  CHECK_FALSE(is_strict_point(mixed));
  // h A' = h A + h T, and h T vanishes when 8 divides h: one message in eight.
  int held = 0;
  for (int i = 0; i < 64; ++i) {
    const std::string message = std::to_string(i);
    held += is_signed_by(mixed, message, signer.sign(message, mixed.bytes)) ? 1 : 0;
  }
  CHECK(held > 0);  // so asking for the point is not idle
}

TEST_CASE("a key moves, and the one moved into signs") {
  SigningKey key = key_of(1);
  const Signature expected = key.sign("m");
  SigningKey moved = std::move(key);
  CHECK(moved.sign("m") == expected);
  SigningKey other = key_of(2);
  other = std::move(moved);
  CHECK(other.sign("m") == expected);
  CHECK(other.public_key() == key_of(1).public_key());
}

TEST_CASE("a forked child does not have the secret") {
  const SigningKey key = key_of(5);
  const Signature expected = key.sign("m");
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(key.sign("m") == expected ? 1 : 0);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(key.sign("m") == expected);
}

}  // namespace aegis::audit
