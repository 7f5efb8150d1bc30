// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "wrap/relay.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "wrap/limits.h"

using aegis::wrap::Fate;
using aegis::wrap::Recorded;
using aegis::wrap::Relay;

namespace {

constexpr std::size_t kAmple = std::size_t{1} << 20;

void feed(Relay& relay, std::string_view bytes) {
  const auto room = relay.room();
  REQUIRE(room.size() >= bytes.size());
  std::memcpy(room.data(), bytes.data(), bytes.size());
  relay.filled(bytes.size());
}

std::string take(Relay& relay) {
  std::string all;
  while (!relay.front().empty()) {
    all += relay.front();
    relay.wrote(relay.front().size());
  }
  return all;
}

}  // namespace

TEST_CASE("frames pass or are dropped, in order and byte for byte") {
  Relay relay(kAmple);
  feed(relay, "one\ntwo\r\n\nthree");
  REQUIRE(relay.next_frame() == "one\n");
  relay.judge(Fate::pass);
  REQUIRE(relay.next_frame() == "two\r\n");
  relay.judge(Fate::drop);
  REQUIRE(relay.next_frame() == "\n");
  relay.judge(Fate::pass);
  CHECK_FALSE(relay.next_frame());
  CHECK(relay.queued() == 5);
  CHECK(take(relay) == "one\n\n");
  feed(relay, "+");
  CHECK_FALSE(relay.next_frame());
  REQUIRE(relay.last_frame() == "three+");
  relay.judge(Fate::pass);
  CHECK(take(relay) == "three+");
  CHECK_FALSE(relay.last_frame());
}

TEST_CASE("a frame that waits for the record holds back what follows it") {
  Relay relay(kAmple);
  feed(relay, "a\nb\nc\n");
  for (const Fate fate : {Fate::pass, Fate::pass_when_recorded, Fate::pass}) {
    REQUIRE(relay.next_frame());
    relay.judge(fate);
  }
  CHECK(take(relay) == "a\n");
  SUBCASE("recorded: all pass in order") {
    relay.settle(Recorded::yes);
    CHECK(take(relay) == "b\nc\n");
  }
  SUBCASE("not recorded: only that frame is gone") {
    relay.settle(Recorded::no);
    CHECK(relay.queued() == 2);
    CHECK(take(relay) == "c\n");
  }
}

TEST_CASE("our own frames stand between frames, never inside one") {
  Relay relay(kAmple);
  feed(relay, "whole\nhal");
  REQUIRE(relay.next_frame());
  relay.judge(Fate::pass);
  relay.insert("ours\n");
  CHECK(relay.queued_own() == 5);
  feed(relay, "f\n");
  REQUIRE(relay.next_frame() == "half\n");
  relay.judge(Fate::pass);
  CHECK(take(relay) == "whole\nours\nhalf\n");
  CHECK(relay.queued_own() == 0);

  feed(relay, "no end of line");
  REQUIRE(relay.last_frame());
  relay.judge(Fate::pass);
  relay.insert("ours\n");
  CHECK(take(relay) == "no end of line\nours\n");
}

TEST_CASE("the totals tell when a frame has been delivered") {
  Relay relay(kAmple);
  feed(relay, "first\nsecond\n");
  REQUIRE(relay.next_frame());
  const auto first_end = relay.queued_total() + 6;
  relay.judge(Fate::pass);
  REQUIRE(relay.next_frame());
  relay.judge(Fate::pass);
  relay.wrote(5);
  CHECK(relay.written_total() < first_end);
  relay.wrote(1);
  CHECK(relay.written_total() == first_end);
  CHECK(relay.queued_total() == 13);
}

TEST_CASE("a frame that is forwarded may be written before it is judged, and stays in view") {
  Relay relay(kAmple);
  feed(relay, "first\nsecond\n");
  const auto frame = relay.next_frame();
  REQUIRE(frame == "first\n");
  relay.forward();
  CHECK(take(relay) == "first\n");
  CHECK(*frame == "first\n");
  relay.judge(Fate::pass);
  CHECK(relay.queued() == 0);
  REQUIRE(relay.next_frame() == "second\n");
  relay.judge(Fate::pass);
  CHECK(take(relay) == "second\n");
  CHECK(relay.written_total() == 13);
}

TEST_CASE("a frame longer than the limit ends the stream without a half frame") {
  Relay relay(8);
  feed(relay, "12345678\n123456789");
  REQUIRE(relay.next_frame() == "12345678\n");
  relay.judge(Fate::pass);
  CHECK_FALSE(relay.next_frame());
  CHECK(relay.is_oversize());
  CHECK_FALSE(relay.last_frame());
  CHECK(take(relay) == "12345678\n");
}

TEST_CASE("a stream that always has something queued does not make the buffer grow") {
  Relay relay(kAmple);
  const std::string frame = std::string(999, 'x') + "\n";
  feed(relay, frame);
  std::size_t largest_room = 0;
  for (int i = 0; i < 100'000; ++i) {
    feed(relay, frame);
    while (relay.next_frame())
      relay.judge(Fate::pass);
    // One frame's worth always stays behind.
    for (std::size_t left = frame.size(); left > 0;) {
      const std::size_t count = std::min(left, relay.front().size());
      relay.wrote(count);
      left -= count;
    }
    largest_room = std::max(largest_room, relay.room().size());
  }
  CHECK(largest_room <= 4 * aegis::wrap::kReadSize);
  CHECK(relay.queued() == frame.size());
}

namespace {

using Random = std::mt19937;

std::string random_piece(Random& random) {
  std::string piece(random() % 3000, 'a');
  for (char& byte : piece) {
    if (random() % 40 == 0) byte = '\n';
  }
  return piece;
}

/// Judges what can be cut at random; what passes is what is expected. What waits is recorded.
std::string judge_some(Relay& relay, Random& random) {
  std::string passed;
  while (const auto frame = relay.next_frame()) {
    const auto fate = static_cast<Fate>(random() % 3);
    if (fate != Fate::drop) passed += *frame;
    relay.judge(fate);
  }
  relay.settle(Recorded::yes);
  return passed;
}

std::string write_some(Relay& relay, std::size_t left) {
  std::string written;
  while (left > 0 && !relay.front().empty()) {
    const std::size_t count = std::min(left, relay.front().size());
    written += relay.front().substr(0, count);
    relay.wrote(count);
    left -= count;
  }
  return written;
}

}  // namespace

TEST_CASE("whatever the cuts of reads and writes, what passes comes out as it went in") {
  Random random(20261130);  // NOLINT(cert-msc51-cpp,cert-msc32-c): the same stream every time
  for (int round = 0; round < 300; ++round) {
    Relay relay(kAmple);
    std::string expected;
    std::string written;
    for (int step = 0; step < 60; ++step) {
      feed(relay, random_piece(random));
      expected += judge_some(relay, random);
      if (random() % 4 == 0) {
        relay.insert("own\n");
        expected += "own\n";
      }
      written += write_some(relay, random() % 4000);
    }
    written += take(relay);
    REQUIRE(written == expected);
    REQUIRE(relay.queued() == 0);
    REQUIRE(relay.written_total() == expected.size());
  }
}
