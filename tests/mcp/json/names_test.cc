// SPDX-License-Identifier: Apache-2.0 OR MIT
// Repeated names, few and many, honest and crafted to be slow.
#include "mcp/json/names.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "mcp/json/scan.h"

namespace {

using namespace aegis::mcp::json;
using Kind = Defect::Kind;
using Clock = std::chrono::steady_clock;

std::optional<Defect> scan(std::string_view text) {
  Scanner scanner;
  Value value;
  scanner.start(text, Rules::strict);
  scanner.take(value);
  scanner.finish();
  return scanner.defect();
}

std::string object_of(const std::vector<std::string>& names) {
  std::string text = "{";
  for (const std::string& name : names)
    text += '"' + name + "\":0,";
  text.back() = '}';
  return text;
}

std::vector<std::string> numbered(std::string_view prefix, std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t index = 0; index < count; ++index)
    names.push_back(std::string{prefix} + std::to_string(index));
  return names;
}

/// Names of 16 bytes that all have one hash. It repeats NameTable's mixing; should that change,
/// this only becomes a test of many names.
std::vector<std::string> colliding(std::size_t count) {
  constexpr std::uint64_t kMultiplier = 0x9E37'79B9'7F4A'7C15U;
  std::vector<std::string> names;
  for (std::uint64_t seed = 0; names.size() < count; ++seed) {
    std::string name(16, 'a');
    for (std::size_t place = 0; place < 8; ++place)
      name[place] = static_cast<char>('a' + (seed >> 4 * place) % 16);
    std::uint64_t word = 0;
    std::memcpy(&word, name.data(), sizeof word);
    std::uint64_t mixed = (std::uint64_t{16} ^ word) * kMultiplier;
    mixed ^= mixed >> 32U;  // the second word undoes it
    std::memcpy(name.data() + 8, &mixed, 8);
    if (name.find_first_of("\"\\") == std::string::npos) names.push_back(name);
  }
  return names;
}

/// Adds all names to a table and asks once. The table takes any bytes but quotes and backslashes.
std::optional<NameTable::Repeat> find_repeat(const std::vector<std::string>& names) {
  const std::string text = object_of(names);
  NameTable table;
  table.start(text);
  std::size_t offset = 2;
  for (const std::string& name : names) {
    table.add(Text{std::string_view{text}.substr(offset, name.size()), false});
    offset += name.size() + 5;
  }
  return table.find_repeat(0, NameRule::exact);
}

}  // namespace

TEST_CASE(
    "one repeat is found among any number of names, wherever it stands, and told by its second "
    "place") {
  for (const std::size_t count : {2U, 3U, 15U, 16U, 17U, 18U, 100U, 5000U}) {
    std::vector<std::string> names = numbered("key", count);
    CHECK_FALSE(scan(object_of(names)).has_value());
    for (const auto& [one, other] : {std::pair{std::size_t{0}, count - 1},
                                     std::pair{count / 2 - 1, count / 2},
                                     std::pair{std::size_t{0}, std::size_t{1}},
                                     std::pair{count - 2, count - 1}}) {
      std::vector<std::string> repeated = names;
      repeated[other] = repeated[one];
      const std::string text = object_of(repeated);
      CAPTURE(count);
      const std::optional<Defect> defect = scan(text);
      REQUIRE(defect.has_value());
      CHECK(defect->kind == Kind::repeated_member);
      const std::string quoted = '"' + repeated[one] + '"';
      CHECK(defect->offset == text.find(quoted, text.find(quoted) + 1) + 1);
    }
  }
}

TEST_CASE("of several repeats the first second place is told") {
  for (const std::size_t count : {8U, 40U}) {
    for (std::size_t one = 0; one < count; ++one) {  // every order of the hashes
      std::vector<std::string> names = numbered("k", count);
      const std::string first = names[one];
      const std::string second = names[(one + 1) % count];
      const std::string third = names[(one + 2) % count];
      const std::string text = object_of(names);
      names.insert(names.end(), {first, second, first, third});
      CHECK(scan(object_of(names)).value().offset == text.size() + 1);
    }
  }
}

TEST_CASE("names are compared decoded, among many as among few") {
  std::vector<std::string> names = numbered("key", 50);
  names.emplace_back("k\\u0065y7");
  CHECK(scan(object_of(names)).value().kind == Kind::repeated_member);
  names.back() = "k\\\\u0065y7";
  CHECK_FALSE(scan(object_of(names)).has_value());
}

TEST_CASE("names that differ in one byte are different names, at every length") {
  for (std::size_t size = 1; size <= 40; ++size) {
    std::vector<std::string> names{std::string(size, 'a'), std::string(size + 1, 'a')};
    for (std::size_t place = 0; place < size; ++place) {
      names.push_back(names[0]);
      names.back()[place] = 'b';
    }
    CHECK_FALSE(scan(object_of(names)).has_value());
    names.push_back(names[2]);
    CHECK(scan(object_of(names)).has_value());
  }
}

TEST_CASE("the names of inner objects are forgotten when these end") {
  std::string text = "{";
  for (int index = 0; index < 1000; ++index)
    text += "\"k" + std::to_string(index) + "\":{\"a\":1,\"b\":{\"a\":1}},";
  text += "\"a\":1,\"b\":2}";
  CHECK_FALSE(scan(text).has_value());
  text.insert(text.size() - 1, ",\"k0\":1");
  CHECK(scan(text).value().kind == Kind::repeated_member);
}

TEST_CASE("names with one hash are told apart, and a repeat among them is found") {
  std::vector<std::string> names = colliding(3000);
  CHECK_FALSE(find_repeat(names).has_value());
  names[2999] = names[17];
  const auto repeat = find_repeat(names);
  REQUIRE(repeat.has_value());
  CHECK(repeat->offset == 2 + 2999 * 21);
  CHECK(repeat->is_exact);
}

TEST_CASE("no object takes quadratic time") {
  // Quadratic time would be minutes for each; the bound is wide enough for a sanitizer on a busy
  // machine.
  const auto start = Clock::now();
  SUBCASE("a million members") {
    CHECK_FALSE(scan(object_of(numbered("key", 1'000'000))).has_value());
  }
  SUBCASE("200,000 members with one hash") {
    CHECK_FALSE(find_repeat(colliding(200'000)).has_value());
  }
  SUBCASE("one name 300,000 times") {
    CHECK(scan(object_of(std::vector<std::string>(300'000, "again"))).value().offset == 12);
  }
  SUBCASE("a million small objects") {
    std::string text = "[";
    for (int index = 0; index < 1'000'000; ++index)
      text += "{\"a\":{\"b\":1}},";
    text.back() = ']';
    CHECK_FALSE(scan(text).has_value());
  }
  SUBCASE("long names that share their beginnings") {
    CHECK_FALSE(scan(object_of(numbered(std::string(2000, 'x'), 10'000))).has_value());
  }
  SUBCASE("many levels with many members each") {
    std::string text;
    for (int level = 0; level < 500; ++level) {
      for (const std::string& name : numbered("k", 100))
        text += (name == "k0" ? "{\"" : ",\"") + name + "\":1";
      text += ",\"deeper\":";
    }
    text += "1" + std::string(500, '}');
    CHECK_FALSE(scan(text).has_value());
  }
  CHECK(Clock::now() - start < std::chrono::seconds{30});
}
