// SPDX-License-Identifier: Apache-2.0 OR MIT
// What is remembered of the requests that a server has, and for how long.
#include "wrap/asked.h"

#include <string>

#include <doctest/doctest.h>

#include "wrap/limits.h"

using aegis::mcp::Id;
using aegis::wrap::AskedTable;
using aegis::wrap::kMaxAsked;
using aegis::wrap::kMaxAskedBytes;
using aegis::wrap::loose_id_key;
using Wanted = AskedTable::Wanted;

namespace {

Id number(std::string_view text) {
  return {Id::Type::number, text};
}
Id string(std::string_view quoted) {
  return {Id::Type::string, quoted};
}

bool has_room(AskedTable& asked, const Id& id) {
  AskedTable::Load load;
  load.add(id);
  return asked.make_room(load);
}

void fill(AskedTable& asked) {
  for (std::size_t i = 0; i < kMaxAsked; ++i) {
    const std::string text = std::to_string(i);
    REQUIRE(has_room(asked, number(text)));
    asked.add(number(text), Wanted::other);
  }
}

}  // namespace

TEST_CASE("an id is found by its value, a number in quotes too") {
  for (const Id& same : {number("1.0"), number("1e0"), string(R"("1")"), string(R"("01")")})
    CHECK(loose_id_key(same) == loose_id_key(number("1")));
  for (const Id& other : {number("2"), string(R"("1.0")"), string(R"("")"), string(R"("x")"), Id{}})
    CHECK(loose_id_key(other) != loose_id_key(number("1")));
}

TEST_CASE("an answer is to the request whose id has its JSON type, if there is one") {
  AskedTable asked;
  asked.add(number("1"), Wanted::tools);
  asked.add(string(R"("1")"), Wanted::other);
  CHECK(asked.awaits_tools());
  CHECK(asked.take(string(R"("1")")) == Wanted::other);
  CHECK(asked.take(string(R"("1")")) == Wanted::tools);
  CHECK_FALSE(asked.awaits_tools());
  CHECK_FALSE(asked.take(number("1")));
}

TEST_CASE("of equal ids the oldest is answered first") {
  AskedTable asked;
  asked.add(number("1"), Wanted::tools);
  asked.add(number("1"), Wanted::other);
  CHECK(asked.take(number("1.0")) == Wanted::tools);
  CHECK(asked.take(number("1")) == Wanted::other);
}

TEST_CASE("there is room for so many, then only for what takes the place of a cancelled one") {
  AskedTable asked;
  fill(asked);
  CHECK_FALSE(has_room(asked, number("9999999")));
  asked.cancel(number("5"));
  asked.cancel(number("5"));
  asked.cancel(number("3"));
  CHECK(has_room(asked, number("9999999")));
  asked.add(number("9999999"), Wanted::other);
  CHECK_FALSE(asked.take(number("5")));  // was cancelled first
  CHECK(asked.take(number("3")) == Wanted::other);
  CHECK(has_room(asked, number("5")));
}

TEST_CASE("there is room for so many bytes of ids") {
  AskedTable asked;
  const std::string most = "\"" + std::string(kMaxAskedBytes - 1, 'x') + "\"";
  const std::string more = "\"" + std::string(kMaxAskedBytes, 'x') + "\"";
  CHECK_FALSE(has_room(asked, string(more)));
  REQUIRE(has_room(asked, string(most)));
  asked.add(string(most), Wanted::other);
  CHECK_FALSE(has_room(asked, number("1")));
  asked.take(string(most));
  CHECK(has_room(asked, number("1")));
}

TEST_CASE("one that was cancelled can be answered until it is forgotten") {
  AskedTable asked;
  asked.add(number("1"), Wanted::other);
  asked.add(number("2"), Wanted::other);
  CHECK(asked.awaits(number("1")));
  asked.cancel(number("1"));
  asked.cancel(number("2"));
  CHECK_FALSE(asked.awaits(number("1")));
  CHECK(asked.take(number("1")) == Wanted::other);
  asked.add(number("2"), Wanted::other);
  asked.forget_cancelled(string(R"("2")"));
  CHECK(asked.awaits(number("2")));
  CHECK(asked.take(number("2")) == Wanted::other);
  CHECK_FALSE(asked.take(number("2")));
}
