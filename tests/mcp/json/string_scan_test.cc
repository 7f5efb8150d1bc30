// SPDX-License-Identifier: Apache-2.0 OR MIT
// The wide loops against the byte-by-byte ones, at every length and alignment.
#include "mcp/json/string_scan.h"

#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace aegis::mcp::json;

/// Compares on exactly `text`, in an allocation of its own, so that a sanitizer sees a read outside
/// it.
void check_same(std::string_view text) {
  const std::vector<char> exact{text.begin(), text.end()};
  const char* const begin = exact.data();
  const char* const end = begin + exact.size();
  REQUIRE(skip_plain_text(begin, end) == skip_plain_text_portable(begin, end));
  const StringEnd wide = find_string_end(begin, end);
  const StringEnd portable = find_string_end_portable(begin, end);
  REQUIRE(wide.quote == portable.quote);
  REQUIRE(wide.has_escapes == portable.has_escapes);
}

}  // namespace

TEST_CASE("one special byte is found at every place in texts of every length") {
  for (std::size_t size = 0; size <= 200; ++size) {
    std::vector<char> text(size, 'a');
    check_same({text.data(), size});
    for (std::size_t place = 0; place < size; ++place) {
      for (const char special : {'"', '\\', '\0', '\x1F', '\x7F', '\x80', '\xFF', ' ', '\t'}) {
        text[place] = special;
        check_same({text.data(), size});
      }
      text[place] = 'a';
    }
  }
}

TEST_CASE("runs of backslashes of every length, across every block edge, end strings alike") {
  for (std::size_t before = 0; before <= 130; ++before) {
    for (std::size_t run = 0; run <= 140; ++run) {
      std::vector<char> text(before, 'a');
      text.insert(text.end(), run, '\\');
      text.insert(text.end(), {'"', 'b', '"'});
      check_same({text.data(), text.size()});
    }
  }
}

TEST_CASE("texts of quotes, backslashes and little else end alike") {
  std::mt19937 random{20240601};  // any seed: a failure repeats
  constexpr std::string_view kLetters = "\\\\\\\\\\a\"";
  for (int round = 0; round < 20'000; ++round) {
    std::vector<char> text(random() % 300);
    const std::size_t letters = 2 + random() % (kLetters.size() - 1);
    for (char& letter : text)
      letter = kLetters[random() % letters];
    check_same({text.data(), text.size()});
  }
}

TEST_CASE("the byte-by-byte loops say what they promise") {
  const auto plain = [](std::string_view text) {
    return skip_plain_text_portable(text.data(), text.data() + text.size()) - text.data();
  };
  CHECK(plain("abc\"") == 3);
  CHECK(plain("ab\\c") == 2);
  CHECK(plain("a\x1F") == 1);
  CHECK(plain("a\x7F\x80") == 2);
  CHECK(plain("abc") == 3);
  const auto quote = [](std::string_view text) {
    return find_string_end_portable(text.data(), text.data() + text.size()).quote - text.data();
  };
  CHECK(quote("abc\"") == 3);
  CHECK(quote(R"(a\"b"c)") == 4);
  CHECK(quote(R"(a\\"b)") == 3);
  CHECK(quote(R"(a\)") == 2);
  CHECK(quote(R"(a\")") == 3);
  CHECK(quote("\x01\xFF\n\"") == 3);
}
