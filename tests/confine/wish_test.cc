// SPDX-License-Identifier: Apache-2.0 OR MIT
// A wish's bytes and back, and bytes that are none.
#include "confine/wish.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace aegis::confine {

TEST_CASE("wishes come back as they went, cut or not") {
  const Wish plain{Wish::Need::write, Wish::Kind::absent_file, "/a/b", "/a/b"};
  const Wish linked{
      Wish::Need::execute, Wish::Kind::file, "/b/" + std::string(4000, 'x'), "/l/x", "/l", "/b"};
  std::string bytes;
  encode_wish(plain, bytes);
  encode_wish(linked, bytes);
  Wishes wishes = decode_wishes(bytes);
  CHECK(wishes.all == std::vector<Wish>{plain, linked});
  CHECK_FALSE(wishes.is_cut);
  encode_cut(bytes);
  encode_wish(plain, bytes);
  wishes = decode_wishes(bytes);
  CHECK(wishes.all == std::vector<Wish>{plain, linked, plain});
  CHECK(wishes.is_cut);
}

TEST_CASE("bytes that are no wish end the list") {
  const Wish plain{Wish::Need::read, Wish::Kind::file, "/a", "/a"};
  std::string whole;
  encode_wish(plain, whole);
  for (std::size_t size = 0; size < whole.size(); ++size)
    CHECK(decode_wishes(whole.substr(0, size)).all.empty());
  for (const std::size_t at : {0U, 1U}) {
    std::string wrong = whole;
    wrong[at] = '\x60';
    CHECK(decode_wishes(wrong + whole).all.empty());
  }
  std::string relative;
  encode_wish({Wish::Need::read, Wish::Kind::file, "a", "a"}, relative);
  CHECK(decode_wishes(relative).all.empty());
}

}  // namespace aegis::confine
