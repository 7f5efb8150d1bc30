// SPDX-License-Identifier: Apache-2.0 OR MIT
// Which ids are one id.
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "mcp/message.h"

namespace {

using aegis::mcp::Id;

std::string key(Id::Type type, std::string_view lexeme) {
  std::string text = "before ";
  aegis::mcp::append_id_key({type, lexeme}, text);
  REQUIRE(text.substr(0, 7) == "before ");
  return text.substr(7);
}

std::string number(std::string_view lexeme) {
  return key(Id::Type::number, lexeme);
}
std::string string(std::string_view lexeme) {
  return key(Id::Type::string, lexeme);
}

}  // namespace

TEST_CASE("all spellings of one number are one id, and no others") {
  const std::vector<std::vector<std::string_view>> classes{
      {"0", "-0", "0.0", "-0.00", "0e5", "0E-99", "0.0e+999999999999999999999"},
      {"1", "1.0", "1e0", "1E+0", "10e-1", "0.1e1", "0.001e3", "1.000", "100e-2"},
      {"-1", "-1.0", "-10e-1"},
      {"10", "1e1", "1.0E1", "100e-1"},
      {"100", "1e2"},
      {"1.5", "15e-1", "0.15e1", "1.50"},
      {"0.001", "1e-3", "0.1e-2"},
      {"101"},
      {"1001"},
      {"9007199254740992"},
      {"9007199254740993", "9007199254740993.0", "900719925474099.3e1"},
      {"123456789012345678901234567890"},
      {"123456789012345678901234567891"},
      {"1e999999999", "10e999999998", "0.1e1000000000"},
      {"1e-999999999"},
      {"1e99999999999999999999999999"},
      {"1e-99999999999999999999999999"},
  };
  for (std::size_t one = 0; one < classes.size(); ++one) {
    for (const std::string_view lexeme : classes[one]) {
      CAPTURE(lexeme);
      CHECK(number(lexeme) == number(classes[one][0]));
      for (std::size_t other = 0; other < one; ++other)
        CHECK(number(lexeme) != number(classes[other][0]));
    }
  }
}

TEST_CASE("a huge exponent costs no memory and overflows nothing") {
  for (const std::string_view lexeme : {"1e999999999",
                                        "1e-999999999",
                                        "1e9223372036854775807",
                                        "1e-9223372036854775808",
                                        "1e99999999999999999999",
                                        "0.001e-99999999999999999",
                                        "1000e99999999999999999",
                                        "12345e+99999999999999999999999999999999999"}) {
    CAPTURE(lexeme);
    CHECK(number(lexeme).size() <= lexeme.size() + 4);
  }
}

TEST_CASE("all spellings of one string are one id, and no others") {
  CHECK(string(R"("A")") == string(R"("\u0041")"));
  CHECK(string(R"("/")") == string(R"("\/")"));
  CHECK(string("\"\xF0\x9F\x98\x80\"") == string(R"("\uD83D\uDE00")"));
  CHECK(string(R"("\n")") == string(R"("\u000a")"));
  CHECK(string(R"("a")") != string(R"("A")"));
  CHECK(string(R"("\\u0041")") != string(R"("\u0041")"));
  CHECK(string(R"("\ud800")") != string(R"("\ud801")"));
  CHECK(string(R"("")") != string(R"(" ")"));
}

TEST_CASE("ids of different types are different ids") {
  const std::vector<std::string> keys{number("1"),
                                      string(R"("1")"),
                                      string(R"("n1")"),
                                      string(R"("null")"),
                                      string(R"("")"),
                                      key(Id::Type::null, "null"),
                                      key(Id::Type::other, "true"),
                                      key(Id::Type::other, "[1]"),
                                      key(Id::Type::absent, "")};
  for (std::size_t one = 0; one < keys.size(); ++one) {
    for (std::size_t other = 0; other < one; ++other)
      CHECK(keys[one] != keys[other]);
  }
}
