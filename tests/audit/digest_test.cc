// SPDX-License-Identifier: Apache-2.0 OR MIT
// SHA-256 and its hex, against published values.
#include "audit/digest.h"

#include <string>

#include <doctest/doctest.h>

namespace aegis::audit {

TEST_CASE("SHA-256 gives the values of FIPS 180-4's examples") {
  CHECK(to_hex(sha256("")) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(to_hex(sha256("abc")) ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(to_hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(to_hex(sha256(std::string(1000000, 'a'))) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("the canonical form of the specification's example has the published hash") {
  const std::string zeros(64, '0');
  const std::string text =
      R"({"decision_axes":{"capability":"fs.read","fs":{"path_canonical":"/home/a/notes.md",)"
      R"("path_raw":"~/notes.md"},"role":"ops"},"line_type":"outcome","prev_hash":")" +
      zeros + R"(","seq":7,"tool_id":"echo"})";
  CHECK(to_hex(LineHash::of(text).bytes) ==
        "9017de5e13e0a12b261e1960d0d0bc9220c6b7ef501b7dd189141e6327377664");
}

TEST_CASE("a digest of pieces is the digest of the whole, and a stream can be used again") {
  std::string text;
  for (int i = 0; i < 300; ++i)
    text += static_cast<char>(i);
  Sha256Stream stream;
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    stream.update(std::string_view{text}.substr(0, cut));
    Sha256Stream fork = stream;
    fork.update("other");
    stream.update(std::string_view{text}.substr(cut));
    CHECK(stream.finish() == sha256(text));
    CHECK(fork.finish() == sha256(text.substr(0, cut) + "other"));
  }
  CHECK(stream.finish() == sha256(""));
}

TEST_CASE("hex is 64 lower-case digits and nothing else") {
  const std::string good = "00ff19afe4649b934ca495991b7852b8e3b0c44298fc1c149afbf4c8996fb924";
  const auto digest = parse_hex(good);
  REQUIRE(digest);
  CHECK(to_hex(*digest) == good);
  CHECK_FALSE(parse_hex(""));
  CHECK_FALSE(parse_hex(good.substr(1)));
  CHECK_FALSE(parse_hex(good + "0"));
  CHECK_FALSE(parse_hex(good + "\n"));
  for (std::size_t at : {std::size_t{0}, std::size_t{1}, good.size() - 1}) {
    for (const char c : {'A', 'F', 'g', '/', ':', '`', ' ', '\0', '\xFF'}) {
      std::string bad = good;
      bad[at] = c;
      CAPTURE(bad);
      CHECK_FALSE(parse_hex(bad));
    }
  }
}

}  // namespace aegis::audit
