// SPDX-License-Identifier: Apache-2.0 OR MIT
// Whether bytes are one JSON value, asked of pieces of any size, and held against another parser.
#include "mcp/json/canonical_shape.h"

#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace aegis::mcp::json {
namespace {

using Verdict = JsonShape::Verdict;

Verdict verdict_of(std::string_view text) {
  JsonShape shape;
  shape.feed(text);
  return shape.verdict();
}

const std::vector<std::string> complete_texts{
    "{}",
    "[]",
    "0",
    "-0",
    "-1.5e+10",
    "12",
    "1.25",
    "1E9",
    "1e-1",
    "true",
    "false",
    "null",
    "\"\"",
    " \r\n\t[ 1 , { \"a\" : [ ] } ] \n",
    R"({"a":1,"a":2})",
    R"(["\u00e9\ud800\"\\\/\b\f\n\r\t"])",
    "[\"\xC2\x80\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xF0\x90\x80\x80\xF4\x8F\xBF\xBF\"]",
    R"([[[{"a":{"b":[{}]}}],[]],null])",
};

}  // namespace

TEST_CASE("one JSON value in whatever spelling is complete") {
  for (const std::string& text : complete_texts) {
    CAPTURE(text);
    CHECK(verdict_of(text) == Verdict::complete);
    CHECK(verdict_of("\xEF\xBB\xBF" + text) == Verdict::complete);
  }
}

TEST_CASE("anything else is told apart by what is wrong") {
  struct Row {
    const char* name;
    std::string text;
    Verdict verdict;
    std::size_t offset;
  };
  const std::vector<Row> rows{
      {"nothing", "", Verdict::blank, 0},
      {"white space", " \n\r\t", Verdict::blank, 4},
      {"half a mark", "\xEF\xBB", Verdict::not_json, 2},
      {"a mark alone", "\xEF\xBB\xBF", Verdict::not_json, 3},
      {"two marks", "\xEF\xBB\xBF\xEF\xBB\xBF{}", Verdict::not_json, 3},
      {"a mark inside", "[\xEF\xBB\xBF]", Verdict::not_json, 1},
      {"two values", "1 2", Verdict::not_json, 2},
      {"a plus", "+1", Verdict::not_json, 0},
      {"an exponent without digits", "1e", Verdict::not_json, 2},
      {"an exponent with a sign alone", "[1e+]", Verdict::not_json, 4},
      {"a name without quotes", "{a:1}", Verdict::not_json, 1},
      {"a name without a value", R"({"a"})", Verdict::not_json, 4},
      {"a comma at the end of an object", R"({"a":1,})", Verdict::not_json, 7},
      {"a colon in an array", "[1:2]", Verdict::not_json, 2},
      {"a word cut", "[nul", Verdict::not_json, 4},
      {"brackets crossed", "[{\"a\":[}]", Verdict::not_json, 7},
      {"one bracket too many", "[]]", Verdict::not_json, 2},
      {"three hex digits", R"(["\u00e"])", Verdict::not_json, 7},
      {"a continuation byte first", "[\"\x80\"]", Verdict::not_utf8, 2},
      {"a character cut by a quote", "[\"\xE2\x82\"]", Verdict::not_utf8, 4},
      {"a surrogate", "[\"\xED\xBF\xBF\"]", Verdict::not_utf8, 3},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    JsonShape shape;
    shape.feed(row.text);
    CHECK(shape.verdict() == row.verdict);
    CHECK(shape.offset() == row.offset);
  }
}

TEST_CASE("the pieces that a text comes in do not matter") {
  for (const std::string& text : complete_texts) {
    for (std::size_t size = 1; size <= text.size(); ++size) {
      CAPTURE(text);
      CAPTURE(size);
      JsonShape whole;
      whole.feed(text.substr(0, size));
      JsonShape bytes;
      for (const char c : text.substr(0, size))
        bytes.feed({&c, 1});
      CHECK(bytes.verdict() == whole.verdict());
      CHECK(bytes.offset() == whole.offset());
    }
  }
}

TEST_CASE("depth has a limit, and beyond it nothing is called complete or torn") {
  const auto nested = [](std::size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  CHECK(verdict_of(nested(JsonShape::kMaxLevels)) == Verdict::complete);
  CHECK(verdict_of(nested(JsonShape::kMaxLevels + 1)) == Verdict::too_deep);
  CHECK(verdict_of(std::string(JsonShape::kMaxLevels, '[')) == Verdict::not_json);
}

TEST_CASE("another parser agrees on which of many broken texts are JSON") {
  constexpr std::string_view kAlphabet =
      "{}[]\",:\\u0018eE+-.truefalsn \t\n\xC3\xA9\xE2\x82\xAC\x80\x01";
  std::mt19937 random(7);
  std::size_t complete = 0;
  for (int round = 0; round < 60000; ++round) {
    std::string text = complete_texts[random() % complete_texts.size()];
    for (std::size_t edits = 1 + random() % 2; edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      const char c = kAlphabet[random() % kAlphabet.size()];
      if (random() % 2 == 0) {
        text[at] = c;
      } else {
        text.insert(at, 1, c);
      }
    }
    CAPTURE(text);
    const bool is_complete = verdict_of(text) == Verdict::complete;
    complete += is_complete ? 1U : 0U;
    // A number too large for a double and a lone surrogate are JSON; the other parser refuses them.
    const bool may_differ =
        text.find_first_of("eE") != std::string::npos || text.find("\\ud") != std::string::npos;
    if (is_complete && may_differ) continue;
    REQUIRE(is_complete == nlohmann::json::accept(text));
  }
  CHECK(complete > 1000);
}

}  // namespace aegis::mcp::json
