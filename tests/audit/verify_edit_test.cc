// SPDX-License-Identifier: Apache-2.0 OR MIT
// Records that somebody changed, cut or rearranged: none of them may pass for verified.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "audit/chain.h"
#include "audit/verify.h"
#include "tests/audit/faulty_sink.h"
#include "tests/audit/forge.h"
#include "tests/audit/memory_sink.h"

namespace aegis::audit {
namespace {

Open an_open() {
  Open open{};
  open.version = "0.1.0";
  open.session_id = "0123456789abcdef0123456789abcdef";
  open.durability = "call";
  open.program = "server";
  return open;
}

Outcome an_outcome(std::uint64_t intent_seq) {
  Outcome outcome{};
  outcome.intent_seq = intent_seq;
  outcome.tool_id = "é\n";
  outcome.policy = Denied{"no"};
  outcome.capability = CapabilityDenied{"no"};
  outcome.execution = HostDenied{"not executed"};
  return outcome;
}

/// A record of ours: one session with one call.
std::string our_record() {
  MemorySink sink;
  Chain chain{key_of(1), sink};
  chain.open(an_open(), {0});
  chain.outcome(an_outcome(chain.intent({"é\n", FrameDigest{}, 1}, {1})), {2});
  chain.close({"end", 1, 0}, {3});
  return sink.text;
}

/// Every type of Line there is, in two sessions.
std::string every_type() {
  return Forge()
      .open_paired()
      .intent("c-1")
      .outcome("c-1")
      .decision("a")
      .close()
      .open()
      .intent("c")
      .outcome("c")
      .close()
      .text();
}

bool is_verified(std::string_view text) {
  return verify(text).standing == Standing::verified;
}

/// Where the sessions of a record end: the bytes up to there are a record of their own, newline or
/// not.
std::vector<std::size_t> session_ends(std::string_view text) {
  std::vector<std::size_t> ends;
  for (std::size_t at = 0;
       (at = text.find("\"line_type\":\"close\"", at)) != std::string_view::npos;
       ++at) {
    const std::size_t newline = text.find('\n', at);
    ends.push_back(newline);
    ends.push_back(newline + 1);
  }
  return ends;
}

}  // namespace

TEST_CASE("no bit of a record of ours can change") {
  const std::string record = our_record();
  REQUIRE(is_verified(record));
  std::string flipped = record;
  for (std::size_t bit = 0; bit < record.size() * 8; ++bit) {
    flipped[bit / 8] = static_cast<char>(record[bit / 8] ^ (1 << (bit % 8)));
    if (is_verified(flipped)) FAIL_CHECK("bit " << bit << " of " << record);
    flipped[bit / 8] = record[bit / 8];
  }
}

TEST_CASE("no byte of a record with every type of Line can change") {
  const std::string record = every_type();
  REQUIRE(is_verified(record));
  std::mt19937 random(3);
  std::string changed = record;
  for (std::size_t at = 0; at < record.size(); ++at) {
    changed[at] = static_cast<char>(record[at] ^ static_cast<char>(1 + random() % 255));
    if (is_verified(changed)) FAIL_CHECK("byte " << at << " of " << record);
    changed[at] = record[at];
  }
}

TEST_CASE("no byte can be taken out, doubled or put in") {
  const std::string record = our_record();
  const std::size_t last = record.size() - 1;
  for (std::size_t at = 0; at < record.size(); ++at) {
    std::string shorter = record;
    shorter.erase(at, 1);
    CHECK(is_verified(shorter) == (at == last));  // the very last newline may be missing
    std::string longer = record;
    longer.insert(at, 1, record[at]);
    CHECK_FALSE(is_verified(longer));
    std::string spaced = record;
    spaced.insert(at, 1, ' ');
    CHECK_FALSE(is_verified(spaced));
  }
}

TEST_CASE("every cut is indeterminate, or verified where a session ends") {
  for (const std::string& record : {our_record(), every_type()}) {
    const auto ends = session_ends(record);
    for (std::size_t size = 0; size <= record.size(); ++size) {
      CAPTURE(size);
      const bool is_end = std::find(ends.begin(), ends.end(), size) != ends.end();
      const Standing expected = is_end ? Standing::verified : Standing::indeterminate;
      CHECK(verify(record.substr(0, size)).standing == expected);
    }
  }
}

TEST_CASE("Lines that are dropped, doubled, swapped or brought in from elsewhere are tampering") {
  const auto lines = split_lines(every_type());
  const auto foreign = split_lines(
      Forge(key_of(2)).open_paired().intent("c-1").outcome("c-1").decision("b").close().text());
  const auto is_tampered = [](const std::vector<std::string>& changed) {
    return verify(join_lines(changed)).standing == Standing::tampered;
  };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    CAPTURE(i);
    auto dropped = lines;
    dropped.erase(dropped.begin() + static_cast<std::ptrdiff_t>(i));
    if (i + 1 < lines.size()) CHECK(is_tampered(dropped));
    for (std::size_t j = 0; j < lines.size(); ++j) {
      CAPTURE(j);
      auto swapped = lines;
      std::swap(swapped[i], swapped[j]);
      if (i != j) CHECK(is_tampered(swapped));
      auto replayed = lines;
      replayed.insert(replayed.begin() + static_cast<std::ptrdiff_t>(i), lines[j]);
      CHECK(is_tampered(replayed));
    }
    for (const std::string& line : foreign) {
      auto inserted = lines;
      inserted.insert(inserted.begin() + static_cast<std::ptrdiff_t>(i), line);
      CHECK(is_tampered(inserted));
      auto replaced = lines;
      replaced[i] = line;
      CHECK(is_tampered(replaced));
    }
  }
}

TEST_CASE("a record signed anew under another key satisfies only itself") {
  const TrustSet trusted{key_of(1).public_key()};
  const auto record = [](SigningKey key) {
    return Forge(std::move(key)).open_paired().intent("c-1").outcome("c-1").close().text();
  };
  CHECK(verify(record(key_of(1)), trusted).standing == Standing::verified);
  CHECK(verify(record(key_of(2)), trusted).standing == Standing::tampered);
  CHECK(is_verified(record(key_of(2))));
  // A later session by another key.
  const std::string appended = Forge().open().close().use_key(key_of(2)).open().close().text();
  CHECK(verify(appended, trusted).standing == Standing::tampered);
}

TEST_CASE("the first break is named with its place and what was there instead") {
  auto lines = split_lines(every_type());
  const std::size_t offset = lines[0].size() + lines[1].size() + 2;
  const std::string original = lines[2];
  lines.erase(lines.begin() + 1);
  const Report report = verify(join_lines(lines));
  REQUIRE(report.broken);
  CHECK(report.broken->session == 0);
  CHECK(report.broken->seq == 2);
  CHECK(report.broken->offset == lines[0].size() + 1);
  CHECK(report.broken->expected == to_hex(LineHash::of(lines[0]).bytes));
  CHECK(report.broken->found == to_hex(LineHash::of(split_lines(every_type())[1]).bytes));
  REQUIRE(report.coverage);
  CHECK(report.coverage->session == 0);
  CHECK(report.coverage->seq == 0);

  lines = split_lines(every_type());
  lines[2].replace(lines[2].find("echo"), 4, "ECHO");
  const Report changed = verify(join_lines(lines));
  REQUIRE(changed.broken);
  CHECK(changed.broken->offset == offset);
  CHECK(changed.broken->seq == 2);

  lines = split_lines(every_type());
  lines[7] = "?" + lines[7];
  const Report malformed = verify(join_lines(lines));
  REQUIRE(malformed.broken);
  CHECK(malformed.broken->session == 1);
  CHECK(malformed.broken->seq == 2);  // what would have come next
  CHECK(malformed.coverage->session == 1);
  CHECK(malformed.coverage->seq == 0);
}

TEST_CASE("the pieces that a record comes in do not matter") {
  std::vector<std::string> texts{every_type(),
                                 Forge().open().intent("c").text(),
                                 every_type() + "{\"a\"",
                                 every_type() + std::string(70000, 'x'),
                                 every_type() + std::string(70000, 'x') + "\n" + every_type()};
  std::mt19937 random(5);
  for (const std::string& text : texts) {
    const std::string whole = encode_text(verify(text));
    const std::string whole_json = encode_json(verify(text));
    for (int round = 0; round < 40; ++round) {
      Verifier verifier(std::nullopt);
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t size = round == 0 ? 1 : 1 + random() % 3000;
        verifier.feed(std::string_view{text}.substr(at, size));
        at += size;
      }
      const Report report = verifier.finish();
      CHECK(encode_text(report) == whole);
      CHECK(encode_json(report) == whole_json);
    }
  }
}

TEST_CASE(
    "a session of any calls in any order is verified, and after a power cut is not called "
    "tampered") {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    FaultySink sink;
    Chain chain{key_of(static_cast<std::uint8_t>(seed)), sink};
    chain.open(an_open(), {0});
    std::vector<std::uint64_t> in_flight;
    for (int steps = static_cast<int>(random() % 30); steps > 0; --steps) {
      if (random() % 4 == 0) sink.sync();
      if (in_flight.empty() || random() % 2 == 0) {
        in_flight.push_back(chain.intent({"é\n", FrameDigest{}, random() % 1000}, {steps}));
      } else {
        std::swap(in_flight[random() % in_flight.size()], in_flight.back());
        chain.outcome(an_outcome(in_flight.back()), {steps});
        in_flight.pop_back();
      }
    }
    for (std::size_t lucky = 0; lucky < sink.unsynced(); lucky += 1 + random() % 200) {
      const Report report = verify(sink.after_power_cut(lucky));
      CHECK(report.standing == Standing::indeterminate);
    }
    CHECK(verify(sink.text()).in_flight.size() == in_flight.size());
    for (const std::uint64_t seq : in_flight)
      chain.outcome(an_outcome(seq), {1});
    chain.close({"end", 0, 0}, {2});
    CHECK(verdict(sink.text()) == "Verified (unpinned)");
  }
}

}  // namespace aegis::audit
