// SPDX-License-Identifier: Apache-2.0 OR MIT
// Files made to fill a verifier's memory, and the limits that they meet. Their Lines are linked but
// few are signed, so that they are quick to make and to judge.
#include <string>

#include <doctest/doctest.h>

#include "audit/digest_set.h"
#include "audit/pairing.h"
#include "audit/verify.h"
#include "audit/walk.h"
#include "tests/audit/forge.h"

namespace aegis::audit {
namespace {

/// `count` intents with tools of `tool_size` bytes, linked to one open of `forge`, fed as they are
/// made.
Report verify_intents(Forge& forge, std::uint64_t count, std::size_t tool_size) {
  Verifier verifier(std::nullopt);
  verifier.feed(forge.text());
  std::string line = forge.lines().back();
  const std::string tail = R"(,"tool_id":")" + std::string(tool_size, 't') + R"("})";
  const std::string digest = R"(","request_digest":")" + std::string(64, '0');
  for (std::uint64_t seq = 1; seq <= count; ++seq) {
    const std::string number = std::to_string(seq);
    const std::string previous = to_hex(sha256(line));
    line = R"({"call_id":"c-)";
    line.append(number).append(R"(","line_type":"intent","prev_hash":")").append(previous);
    line.append(digest).append(R"(","schema_version":2,"seq":)").append(number).append(tail);
    verifier.feed(line);
    verifier.feed("\n");
  }
  return verifier.finish();
}

}  // namespace

TEST_CASE("the set of digests says once of each that it is new") {
  DigestSet set;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 5000; ++i) {
      CAPTURE(i);
      REQUIRE(set.insert(sha256(std::to_string(i))) == (round == 0));
    }
  }
  CHECK(set.size() == 5000);
  Sha256 close_by = sha256("1");
  close_by.back() ^= 1U;  // the same hash, another digest
  CHECK(set.insert(close_by));
  CHECK_FALSE(set.insert(close_by));
}

TEST_CASE("the table of calls forgets what is over, and says when it is full") {
  Pairing pairing;
  const FrameDigest digest = FrameDigest::of("x");
  const std::string tool(1024, 't');
  for (std::uint64_t i = 0; i < 100000; ++i) {
    const std::string id = std::to_string(i);
    REQUIRE(pairing.add({i, id, tool, digest}) == Pairing::Added::added);
    REQUIRE(pairing.close(id, tool, digest) == Pairing::Match::paired);
  }
  CHECK(pairing.size() == 0);
  CHECK_FALSE(pairing.is_overfull());
  std::uint64_t count = 0;
  while (pairing.add({count, std::to_string(count), tool, digest}) == Pairing::Added::added)
    ++count;
  CHECK(count > 5000);
  CHECK(count * (1024 + 256) <= kMaxPairing);
  CHECK(pairing.is_overfull());
  CHECK(pairing.add({0, "0", tool, digest}) == Pairing::Added::full);
  CHECK(pairing.take_all().size() == count);
  CHECK(pairing.add({0, "0", tool, digest}) == Pairing::Added::added);
  CHECK(pairing.add({1, "0", tool, digest}) == Pairing::Added::repeated);
}

TEST_CASE(
    "more calls in flight than can be followed cap the verdict, and the list is cut with a count") {
  Forge forge;
  forge.open_paired();
  const std::uint64_t count = 40000;
  const Report report = verify_intents(forge, count, 4);
  CHECK(report.standing == Standing::indeterminate);
  CHECK(report.reason.substr(0, 45) == "more calls in flight than can be followed, at");
  CHECK(report.in_flight.size() > 1000);
  CHECK(report.in_flight.size() + report.unlisted == count);
  const std::string text = encode_text(report);
  CHECK(text.size() < 2 * kMaxListed);
  CHECK(text.find("\nunlisted " + std::to_string(report.unlisted) + "\n") != std::string::npos);
}

TEST_CASE("a call that was not followed is not called unpaired") {
  Forge forge;
  forge.open_paired();
  for (int i = 1; i <= 200; ++i) {
    forge.intent("c-" + std::to_string(i), {R"({"tool_id":")" + std::string(60000, 't') + "\"}"});
  }
  forge.outcome("c-200", {R"({"tool_id":")" + std::string(60000, 't') + "\"}"});
  const Report report = verify(forge.text());
  CHECK(report.reason.substr(0, 45) == "more calls in flight than can be followed, at");
}

TEST_CASE("keys beyond what a report lists cap the verdict") {
  // Signing as many sessions takes seconds, so this only shows that the limit is far away.
  Forge forge;
  for (std::uint8_t i = 0; i < 100; ++i)
    forge.use_key(key_of(i)).open().close();
  const Report report = verify(forge.text());
  CHECK(report.standing == Standing::verified);
  CHECK(report.key_ids.size() == 100);
  static_assert(kMaxKeys > 10000);
}

}  // namespace aegis::audit
