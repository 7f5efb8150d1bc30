// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the supervisor says, and how it is taken apart and put into words.
#include "confine/net_report.h"

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

#include <doctest/doctest.h>

namespace {

using namespace aegis::confine;

std::span<const std::byte> bytes_of(const NetReport& report) {
  return std::as_bytes(std::span(&report, 1));
}

TEST_CASE("a report goes over as it is, and nothing else is one") {
  NetReport report;
  report.kind = NetReport::Kind::refused_name;
  report.lost = 7;
  report.set_name("evil.test");
  const auto decoded = decode_net_report(bytes_of(report));
  REQUIRE(decoded);
  CHECK(decoded->kind == report.kind);
  CHECK(decoded->lost == 7);
  CHECK(decoded->name_view() == "evil.test");
  CHECK_FALSE(decode_net_report(bytes_of(report).first(sizeof report - 1)));
  CHECK_FALSE(decode_net_report({}));
  std::array<std::byte, sizeof report> unknown{};
  std::memcpy(unknown.data(), &report, sizeof report);
  unknown[offsetof(NetReport, kind)] = std::byte{200};
  CHECK_FALSE(decode_net_report(unknown));
}

TEST_CASE("a name has no byte that a terminal could obey, and always an end") {
  NetReport report;
  report.set_name("a\x1b[31m\n \x7f\xff.test");
  CHECK(report.name_view() == "a?[31m????.test");
  report.set_name(std::string(1000, 'x'));
  CHECK(report.name_view() == std::string(255, 'x'));
  report.name.fill('y');  // as no sender of ours leaves it
  CHECK(report.name_view().size() == 256);
}

TEST_CASE("each kind has its words") {
  NetReport report;
  report.endpoint = {*parse_address("2001:db8::1"), 443};
  report.set_name("a.test");
  report.family = AF_ALG;
  report.protocol = 5;
  const auto words = [&](NetReport::Kind kind) {
    report.kind = kind;
    return describe(report);
  };
  CHECK(words(NetReport::Kind::connected) == "connect to [2001:db8::1]:443 granted by a.test:443");
  CHECK(words(NetReport::Kind::refused_connect) ==
        "connect to [2001:db8::1]:443 refused: not granted");
  CHECK(words(NetReport::Kind::refused_bind) ==
        "listening on the host's network refused: grants are for connecting");
  CHECK(words(NetReport::Kind::refused_name) == "look-up of a.test refused: not granted");
  CHECK(words(NetReport::Kind::refused_answer) ==
        "look-up of a.test refused: it leads to 2001:db8::1, which must be granted as an address");
  CHECK(words(NetReport::Kind::refused_socket) ==
        "socket of AF_ALG, protocol 5 refused: grants are for TCP");
  report.family = 77;
  CHECK(words(NetReport::Kind::refused_socket) ==
        "socket of family 77, protocol 5 refused: grants are for TCP");
}

}  // namespace
