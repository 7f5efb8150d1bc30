// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the record costs: an intent on the way of a call, an outcome after it, and verifying, beside
// the signatures that nobody can do without. One thread.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <sodium.h>

#include "audit/chain.h"
#include "audit/line_reader.h"
#include "audit/verify.h"
#include "mcp/json/canonical.h"

namespace aegis::audit {
namespace {

class CountingSink : public Sink {
 public:
  void append(std::string_view line) override { bytes += line.size(); }
  std::uint64_t bytes = 0;
};

class KeepingSink : public Sink {
 public:
  void append(std::string_view line) override { text += line; }
  std::string text;
};

SigningKey a_key() {
  Seed seed;
  seed.fill(7);
  return SigningKey{seed};
}

Open an_open() {
  Open open{};
  open.version = "0.1.0";
  open.session_id = "0123456789abcdef0123456789abcdef";
  open.durability = "call";
  open.program = "server";
  return open;
}

constexpr UnixMicros kTime{1796029200123456};
const FrameDigest a_digest = FrameDigest::of("frame");
const PolicySetHash a_policy = PolicySetHash::of(kPassthroughPolicy);

Outcome an_outcome(std::uint64_t intent_seq) {
  Outcome outcome{};
  outcome.intent_seq = intent_seq;
  outcome.tool_id = "read_text_file";
  outcome.request_digest = a_digest;
  outcome.policy_set_hash = a_policy;
  outcome.response_digest = a_digest;
  outcome.response_bytes = 1234;
  outcome.wall_ms = 5;
  return outcome;
}

/// A record of so many calls.
std::string a_record(int calls) {
  KeepingSink sink;
  Chain chain{a_key(), sink};
  chain.open(an_open(), kTime);
  for (int i = 0; i < calls; ++i) {
    chain.outcome(an_outcome(chain.intent({"read_text_file", a_digest, 321}, kTime)), kTime);
  }
  chain.close({"end", static_cast<std::uint64_t>(calls), 0}, kTime);
  return sink.text;
}

/// The length of a text that is signed for an outcome.
std::size_t outcome_size() {
  const std::string record = a_record(1);
  const std::size_t begin = record.find("{\"at\"", record.find("\"intent\""));
  return record.find('\n', begin) - begin;
}

void sha256_of(benchmark::State& state) {
  const std::string text(static_cast<std::size_t>(state.range(0)), 'x');
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(sha256(text));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(sha256_of)->Arg(300)->Arg(1200)->Arg(1 << 20);

void append_intent(benchmark::State& state) {
  CountingSink sink;
  Chain chain{a_key(), sink};
  chain.open(an_open(), kTime);
  for ([[maybe_unused]] auto _ : state)
    chain.intent({"read_text_file", a_digest, 321}, kTime);
}
BENCHMARK(append_intent);

void sign_alone(benchmark::State& state) {
  const SigningKey key = a_key();
  const std::string text(outcome_size(), 'x');
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(key.sign(text));
}
BENCHMARK(sign_alone);

void append_outcome(benchmark::State& state) {
  CountingSink sink;
  Chain chain{a_key(), sink};
  chain.open(an_open(), kTime);
  const std::uint64_t seq = chain.intent({"read_text_file", a_digest, 321}, kTime);
  for ([[maybe_unused]] auto _ : state)
    chain.outcome(an_outcome(seq), kTime);
}
BENCHMARK(append_outcome);

void read_outcome_line(benchmark::State& state) {
  std::string record = a_record(1);
  record = record.substr(record.find('\n') + 1);
  record = record.substr(record.find('\n') + 1);
  const std::string line = record.substr(0, record.find('\n'));
  mcp::json::CanonicalReader reader;
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(reader.read(line));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(line.size()));
}
BENCHMARK(read_outcome_line);

/// Of this thread, in seconds: what another process takes of the core meanwhile does not count.
double cpu_now() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Signed {
  std::string text;
  Signature signature;
};

/// What is signed in a record. Each signature is another: the same one again and again is quicker
/// to check, since the processor learns its branches.
std::vector<Signed> signed_texts(std::string_view record) {
  std::vector<Signed> all;
  LineReader reader;
  while (!record.empty()) {
    const std::size_t end = record.find('\n');
    const LineReading reading = reader.read(record.substr(0, end));
    const auto& line = std::get<Line>(reading);
    if (line.signature) {
      all.push_back({std::string{line.before_signature}, *line.signature});
      all.back().text += line.after_signature;
    }
    record.remove_prefix(end + 1);
  }
  return all;
}

/// Verifying whole records, and in turns nothing but their signatures, so that both meet the same
/// machine. `of_bare` is the bar: at least 0.8.
void verify_record(benchmark::State& state) {
  constexpr int kCalls = 1000;
  const std::string record = a_record(kCalls);
  const std::vector<Signed> texts = signed_texts(record);
  const PublicKey key = a_key().public_key();
  double whole = 0;
  double bare = 0;
  for ([[maybe_unused]] auto _ : state) {
    const double begin = cpu_now();
    Verifier verifier(std::nullopt);
    verifier.feed(record);
    if (verifier.finish().standing != Standing::verified) state.SkipWithError("not verified");
    const double middle = cpu_now();
    for (const Signed& each : texts) {
      if (!is_signed_by(key, each.text, each.signature)) state.SkipWithError("not signed");
    }
    bare += cpu_now() - middle;
    whole += middle - begin;
    state.SetIterationTime(middle - begin);
  }
  const auto rounds = static_cast<double>(state.iterations());
  state.counters["of_bare"] = bare / whole;
  state.counters["us_a_call"] = whole * 1e6 / rounds / kCalls;
  state.counters["us_bare"] = bare * 1e6 / rounds / static_cast<double>(texts.size());
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(record.size()));
}
BENCHMARK(verify_record)->UseManualTime()->MinTime(2);

}  // namespace
}  // namespace aegis::audit
