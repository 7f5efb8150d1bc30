// SPDX-License-Identifier: Apache-2.0 OR MIT
// Any bytes as a JSON string, against the canonical writer and another parser.
#include "mcp/json/lossy.h"

#include <string>
#include <string_view>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "mcp/json/canonical.h"

namespace {

using namespace std::string_view_literals;
using namespace aegis::mcp::json;

std::string any(std::string_view bytes, Fidelity expected) {
  std::string out = "before";
  CHECK(append_any_string(bytes, out) == expected);
  CHECK(out.starts_with("before\""));
  return out.substr(6);
}

}  // namespace

TEST_CASE("what is UTF-8 is written as the canonical writer does, wherever it stands") {
  std::string ascii;
  for (char byte = 0; byte < 0x7F; ++byte)
    ascii += byte;
  for (const std::string_view text : {""sv,
                                      "a"sv,
                                      "\""sv,
                                      "\\"sv,
                                      "\x7F"sv,
                                      "ż"sv,
                                      "鍵😀"sv,
                                      "a\nb\rc\td\b\f\0e"sv,
                                      "fifteen bytes 5"sv,
                                      "sixteen bytes 16"sv,
                                      std::string_view{ascii}}) {
    for (std::size_t shift = 0; shift < 34; ++shift) {
      std::string shifted(shift, 'x');
      shifted += text;
      std::string expected;
      append_string(shifted, expected);
      CHECK(any(shifted, Fidelity::exact) == expected);
      shifted += std::string(shift, 'y');
      expected.clear();
      append_string(shifted, expected);
      CHECK(any(shifted, Fidelity::exact) == expected);
    }
  }
}

TEST_CASE("each byte that is no UTF-8 becomes U+FFFD, and what stands around it stays") {
  struct Row {
    std::string_view bytes;
    std::string_view text;
  };
  const Row rows[] = {
      {"\xFF"sv, "\uFFFD"},
      {"\x80z"sv, "\uFFFDz"},
      {"a\xC3"sv, "a\uFFFD"},
      {"a\xE2\x82"sv, "a\uFFFD\uFFFD"},
      {"\xE2\x82\xAC"
       "\xE2\x82"
       "b"sv,
       "€\uFFFD\uFFFDb"},
      {"\xC0\xAF"sv, "\uFFFD\uFFFD"},                      // overlong
      {"\xED\xA0\x80"sv, "\uFFFD\uFFFD\uFFFD"},            // a surrogate
      {"\xF4\x90\x80\x80"sv, "\uFFFD\uFFFD\uFFFD\uFFFD"},  // above U+10FFFF
  };
  for (const Row& row : rows) {
    for (std::size_t shift = 0; shift < 34; ++shift) {
      std::string bytes(shift, 'x');
      std::string text = bytes;
      bytes += row.bytes;
      text += row.text;
      bytes += "\"tail";
      text += "\"tail";
      CHECK(nlohmann::json::parse(any(bytes, Fidelity::lossy)) == text);
    }
  }
}
