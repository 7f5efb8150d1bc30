// SPDX-License-Identifier: Apache-2.0 OR MIT
// What strings say once their escapes are read, and UTF-8 in both directions.
#include "mcp/json/text.h"

#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "mcp/json/utf8.h"

namespace {

using namespace std::string_view_literals;
using namespace aegis::mcp::json;

std::string decoded(std::string_view raw) {
  std::string out = "<";
  append_decoded(raw, out);
  return out.substr(1);
}

}  // namespace

TEST_CASE("escapes are read, all else stays byte for byte") {
  struct Row {
    std::string_view raw;
    std::string_view says;
  };
  constexpr Row kRows[] = {
      {""sv, ""sv},
      {"plain \xFF\x01"sv, "plain \xFF\x01"sv},
      {R"(\"\\\/)"sv, "\"\\/"sv},
      {R"(\b\f\n\r\t)"sv, "\b\f\n\r\t"sv},
      {R"(\u0041\u00e9\u20AC)"sv, "A\xC3\xA9\xE2\x82\xAC"sv},
      {R"(\u0000x)"sv, "\0x"sv},
      {R"(\ud83d\ude00)"sv, "\xF0\x9F\x98\x80"sv},
      {R"(\uD800\uDC00\uDBFF\uDFFF)"sv, "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"sv},
      {R"(\\u0041)"sv, "\\u0041"sv},
      {R"(a\u0062c)"sv, "abc"sv},
      // What only lenient readings hold.
      {R"(\ud83d)"sv, "\xED\xA0\xBD"sv},
      {R"(\ude00\ud83d)"sv, "\xED\xB8\x80\xED\xA0\xBD"sv},
      {R"(\ud83d\u0041)"sv, "\xED\xA0\xBD\x41"sv},
      {R"(\ud83d\ud83d\ude00)"sv, "\xED\xA0\xBD\xF0\x9F\x98\x80"sv},
      {R"(\ud83d\u)"sv, "\xED\xA0\xBDu"sv},
      {R"(\ud83d\)"sv, "\xED\xA0\xBD"sv},
      {R"(\q\u12)"sv, "qu12"sv},
      {R"(\u00g0)"sv, "u00g0"sv},
      {R"(x\)"sv, "x"sv},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.raw);
    CHECK(decoded(row.raw) == row.says);
  }
}

TEST_CASE("four hex digits are read in either case, and nothing else is") {
  CHECK(read_hex4("0000") == 0);
  CHECK(read_hex4("fFeEx") == 0xFFEE);
  CHECK(read_hex4("12aB") == 0x12AB);
  for (const std::string_view digits :
       {""sv, "123"sv, "12g4"sv, "+123"sv, " 123"sv, "0x12"sv, "12\0004"sv, "@ABC"sv, "`abc"sv}) {
    CAPTURE(digits);
    CHECK(read_hex4(digits) < 0);
  }
}

TEST_CASE(
    "every code point is written as UTF-8 that is read back, surrogates as what no judge takes") {
  for (char32_t code = 0; code <= 0x10FFFF; ++code) {
    std::string text;
    append_utf8(code, text);
    const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
    const bool is_good = utf8_sequence_size(text) == (is_surrogate ? 0 : text.size()) &&
                         decode_utf8(text).code == code && decode_utf8(text).size == text.size();
    if (!is_good) FAIL("U+" << static_cast<unsigned>(code));
    for (std::size_t cut = 0; cut < text.size(); ++cut) {
      if (utf8_sequence_size(std::string_view{text}.substr(0, cut)) != 0)
        FAIL("cut " << static_cast<unsigned>(code));
    }
  }
}

TEST_CASE("of all sequences of up to three bytes exactly the well-formed ones are taken") {
  std::size_t good = 0;
  std::string text(3, '\0');
  for (unsigned value = 0; value < 0x1000000; ++value) {
    text[0] = static_cast<char>(value >> 16U);
    text[1] = static_cast<char>(value >> 8U);
    text[2] = static_cast<char>(value);
    if (utf8_sequence_size(text) == 3) ++good;
  }
  CHECK(good == 0x10000 - 0x800 - 0x800);  // the BMP without surrogates and what two bytes hold
}
