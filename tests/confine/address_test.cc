// SPDX-License-Identifier: Apache-2.0 OR MIT
// Which addresses are hosts of the Internet at large, and which are somebody's own.
#include "confine/address.h"

#include <string>
#include <string_view>

#include <doctest/doctest.h>

namespace {

using namespace aegis::confine;

struct Row {
  std::string_view text;
  bool is_public;
};

TEST_CASE("only a host of the Internet at large is public") {
  constexpr Row kRows[] = {
      {"1.1.1.1", true},
      {"9.255.255.255", true},
      {"10.0.0.0", false},
      {"10.255.255.255", false},
      {"11.0.0.0", true},
      {"0.0.0.0", false},
      {"0.255.0.1", false},
      {"100.63.255.255", true},
      {"100.64.0.0", false},
      {"100.127.255.255", false},
      {"100.128.0.0", true},
      {"127.0.0.1", false},
      {"127.255.0.1", false},
      {"169.254.169.254", false},
      {"169.255.0.0", true},
      {"172.15.255.255", true},
      {"172.16.0.0", false},
      {"172.31.255.255", false},
      {"172.32.0.0", true},
      {"192.0.0.8", false},
      {"192.0.2.1", false},
      {"192.88.99.1", false},
      {"192.168.1.1", false},
      {"192.169.0.0", true},
      {"198.17.255.255", true},
      {"198.18.0.0", false},
      {"198.19.255.255", false},
      {"198.51.100.7", false},
      {"203.0.113.7", false},
      {"223.255.255.255", true},
      {"224.0.0.1", false},
      {"255.255.255.255", false},
      {"2606:4700::1111", true},
      {"2000::", true},
      {"3fff::1", false},
      {"3ffe:ffff::1", true},
      {"::", false},
      {"::1", false},
      {"::10.0.0.1", false},       // "compatible", of old
      {"::ffff:10.0.0.1", false},  // mapped: is 10.0.0.1
      {"::ffff:1.1.1.1", true},    // is 1.1.1.1
      {"64:ff9b::1.1.1.1", true},  // NAT64
      {"64:ff9b::10.0.0.1", false},
      {"64:ff9b:1::1.1.1.1", false},
      {"100::1", false},
      {"2001::1", false},  // Teredo
      {"2001:1ff::1", false},
      {"2001:200::1", true},
      {"2001:db8::1", false},
      {"2002:a00:1::1", false},  // 6to4 of 10.0.0.1
      {"fc00::1", false},
      {"fdff::1", false},
      {"fe80::1", false},
      {"fec0::1", false},
      {"ff02::1", false},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.text);
    const auto address = parse_address(row.text);
    REQUIRE(address);
    CHECK(is_public(*address) == row.is_public);
  }
}

TEST_CASE("a mapped address is the IPv4 address") {
  CHECK(parse_address("::ffff:127.0.0.1") == parse_address("127.0.0.1"));
  CHECK(is_loopback(*parse_address("::ffff:127.3.2.1")));
  CHECK(is_loopback(*parse_address("::1")));
  CHECK_FALSE(is_loopback(*parse_address("::2")));
  CHECK(is_unspecified(*parse_address("::")));
  CHECK(is_unspecified(*parse_address("::ffff:0.0.0.0")));
}

TEST_CASE("an address is written in one way") {
  CHECK(to_text(*parse_address("2001:0DB8:0:0::1")) == "2001:db8::1");
  CHECK(to_text(Endpoint{*parse_address("::1"), 53}) == "[::1]:53");
  CHECK(to_text(Endpoint{*parse_address("1.2.3.4"), 53}) == "1.2.3.4:53");
  for (const std::string_view text : {"",
                                      "1.2.3",
                                      "127.1",
                                      "0x7f.0.0.1",
                                      "1.2.3.4.5",
                                      "fe80::1%lo",
                                      "[::1]",
                                      " 1.2.3.4",
                                      "1.2.3.256",
                                      "name"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_address(text));
  }
  CHECK_FALSE(parse_address(std::string_view("1.2.3.4\0", 8)));
}

}  // namespace
