// SPDX-License-Identifier: Apache-2.0 OR MIT
// Builds the requests; the answers are put together where they are sent (serve.cc).
#include "tests/bench/relay/wire.h"

#include <charconv>
#include <utility>

namespace aegis::relay_bench {
namespace {

std::string with_leading_zeros(std::size_t number, std::size_t digits) {
  const std::string plain = std::to_string(number);
  return std::string(digits - plain.size(), '0') + plain;
}

std::string head() {
  return std::string(kIdPrefix) + std::to_string(kFirstId);
}

}  // namespace

RequestText RequestText::ping() {
  return RequestText(head().append(kPing));
}

RequestText RequestText::call(std::size_t answer_bytes) {
  std::string text = head().append(kCallHead);
  text += with_leading_zeros(answer_bytes, kAnswerDigits);
  // What a model might ask for, so that a scanner meets strings, escapes, numbers and a nested
  // object.
  text +=
      R"(","path":"/home/user/project/src/main.cc","edit":{"line":142,"old":"int  main()\n{","new":)"
      R"("int main() {\n"},"note":"formatted as the others are","dry_run":false}}})"
      "\n";
  return RequestText(std::move(text));
}

std::string_view RequestText::with_id(std::uint64_t id) {
  char* const at = text_.data() + kIdPrefix.size();
  std::to_chars(at, at + kIdDigits, id);
  return text_;
}

}  // namespace aegis::relay_bench
