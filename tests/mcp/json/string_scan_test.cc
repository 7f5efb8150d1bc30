// SPDX-License-Identifier: Apache-2.0 OR MIT
// The wide loops against the byte-by-byte ones, at every length and alignment.
#include "mcp/json/string_scan.h"

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace aegis::mcp::json;

void check_same(const StringPart& wide, const StringPart& portable) {
  REQUIRE(wide.end == portable.end);
  REQUIRE(wide.has_escapes == portable.has_escapes);
}

/// Compares on exactly `text`, in an allocation of its own, so that a sanitizer sees a read outside
/// it.
void check_same(std::string_view text) {
  const std::vector<char> exact{text.begin(), text.end()};
  const char* const begin = exact.data();
  const char* const end = begin + exact.size();
  check_same(skip_easy_text(begin, end), skip_easy_text_portable(begin, end));
  check_same(find_string_end(begin, end), find_string_end_portable(begin, end));
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

TEST_CASE("every escape and every other byte behind a backslash is judged alike at every place") {
  for (std::size_t before = 0; before <= 140; ++before) {
    std::vector<char> text(before, 'a');
    text.insert(text.end(), {'\\', 'x'});
    text.insert(text.end(), 140, 'b');
    for (int byte = 0; byte < 256; ++byte) {
      text[before + 1] = static_cast<char>(byte);
      check_same({text.data(), text.size()});
      check_same({text.data(), before + 2});
    }
  }
}

TEST_CASE("texts of quotes, backslashes and little else end alike") {
  std::mt19937 random{20240601};  // any seed: a failure repeats
  constexpr std::string_view kLetters = "\\\\\\\\\\an/rtbfu\"\x01\xC3";
  for (int round = 0; round < 40'000; ++round) {
    std::vector<char> text(random() % 400);
    const std::size_t letters = 2 + random() % (kLetters.size() - 1);
    for (char& letter : text)
      letter = kLetters[random() % letters];
    check_same({text.data(), text.size()});
  }
}

TEST_CASE("pairs of short escapes of any number are stepped over whole") {
  std::mt19937 random{20240602};
  for (int round = 0; round < 5'000; ++round) {
    std::string text;
    for (std::size_t size = random() % 300; text.size() < size;) {
      if (random() % 3 == 0) text += 'a';
      text += '\\';
      text += "\"\\/bfnrt"[random() % 8];
    }
    const bool has_escapes = text.find('\\') != std::string::npos;
    const std::size_t size = text.size();
    text += '"';
    const StringPart part = skip_easy_text(text.data(), text.data() + text.size());
    REQUIRE(part.end == text.data() + size);
    REQUIRE(part.has_escapes == has_escapes);
    check_same(text);
  }
}

TEST_CASE("the byte-by-byte loops say what they promise") {
  const auto easy = [](std::string_view text) {
    return skip_easy_text_portable(text.data(), text.data() + text.size()).end - text.data();
  };
  CHECK(easy("abc\"") == 3);
  CHECK(easy("ab\\nc\"") == 5);
  CHECK(easy("ab\\u0041") == 2);
  CHECK(easy("ab\\q") == 2);
  CHECK(easy("ab\\") == 2);
  CHECK(easy("a\\\\\"") == 3);
  CHECK(easy("a\x1F") == 1);
  CHECK(easy("a\x7F\x80") == 2);
  CHECK(easy("abc") == 3);
  const auto quote = [](std::string_view text) {
    return find_string_end_portable(text.data(), text.data() + text.size()).end - text.data();
  };
  CHECK(quote("abc\"") == 3);
  CHECK(quote(R"(a\"b"c)") == 4);
  CHECK(quote(R"(a\\"b)") == 3);
  CHECK(quote(R"(a\)") == 2);
  CHECK(quote(R"(a\")") == 3);
  CHECK(quote("\x01\xFF\n\"") == 3);
}
