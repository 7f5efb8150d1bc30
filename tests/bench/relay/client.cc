// SPDX-License-Identifier: Apache-2.0 OR MIT
// The timed round trips. Nothing is allocated between the two readings of the clock, but for calls
// in flight.
#include "tests/bench/relay/client.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string>

#include "tests/bench/relay/clock.h"
#include "tests/bench/relay/fail.h"

namespace aegis::relay_bench {
namespace {

constexpr std::size_t kPongBytes = kIdEnd + kEmptyResult.size();
constexpr std::size_t kShortAnswerBytes = answer_size(std::string_view("ok").size());

bool answers(std::string_view start, std::uint64_t id) {
  if (start.size() < kIdEnd || start.substr(0, kIdPrefix.size()) != kIdPrefix) return false;
  std::uint64_t given = 0;
  const char* const digits = start.data() + kIdPrefix.size();
  std::from_chars(digits, digits + kIdDigits, given);
  return given == id;
}

[[noreturn]] void wrong_answer(const Session& session) {
  errno = 0;
  fail(session.name() + " relayed another answer than the server gave");
}

}  // namespace

Client::Client(const Program& program)
    : session_(program), ping_(RequestText::ping()), call_(RequestText::call(0)) {}

double Client::ping() {
  return round_trip(ping_, kPongBytes);
}

double Client::call() {
  ++calls_;
  return round_trip(call_, kShortAnswerBytes);
}

double Client::call_for(std::size_t answer_bytes) {
  RequestText request = RequestText::call(answer_bytes);
  ++calls_;
  return round_trip(request, answer_size(answer_bytes));
}

double Client::round_trip(RequestText& request, std::size_t answer_bytes) {
  const std::string_view frame = request.with_id(next_id_);
  const double start = now();
  session_.write(frame);
  expect_answer(answer_bytes);
  return now() - start;
}

void Client::expect_answer(std::size_t answer_bytes) {
  std::string_view part = session_.read(answer_bytes);
  if (!answers(part, next_id_)) wrong_answer(session_);
  for (std::size_t left = answer_bytes - part.size(); left > 0; left -= part.size())
    part = session_.read(left);
  if (part.back() != '\n') wrong_answer(session_);
  ++next_id_;
}

double Client::calls_in_flight(std::size_t count, std::size_t window) {
  std::size_t sent = 0;
  std::size_t answered_bytes = 0;
  std::string requests;
  const std::uint64_t first_id = next_id_;
  const double start = now();
  while (answered_bytes < count * kShortAnswerBytes) {
    // As many new ones as were answered, in one write.
    const std::size_t answered = answered_bytes / kShortAnswerBytes;
    requests.clear();
    for (; sent < std::min(count, answered + window); ++sent)
      requests.append(call_.with_id(next_id_++));
    if (!requests.empty()) session_.write(requests);
    const std::string_view part = session_.read(count * kShortAnswerBytes - answered_bytes);
    const bool is_at_start = answered_bytes % kShortAnswerBytes == 0;
    if (is_at_start && !answers(part, first_id + answered)) wrong_answer(session_);
    answered_bytes += part.size();
  }
  calls_ += count;
  return now() - start;
}

}  // namespace aegis::relay_bench
