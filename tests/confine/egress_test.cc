// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a network grant may say, and what it lets through.
#include "confine/egress.h"

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace aegis::confine;
using Seconds = Egress::Time;

IpAddress address(std::string_view text) {
  return parse_address(text).value();
}

TEST_CASE("a grant is a host and a port") {
  struct Row {
    std::string_view text;
    std::string_view host;
    std::uint16_t port;
  };
  constexpr Row kRows[] = {
      {"example.com:443", "example.com", 443},
      {"Example.COM.:80", "example.com", 80},
      {"localhost:1", "localhost", 1},
      {"a_b-c.xn--bcher-kva.test:65535", "a_b-c.xn--bcher-kva.test", 65535},
      {"3com.test:80", "3com.test", 80},
      {"127.0.0.1:5432", "127.0.0.1", 5432},
      {"169.254.169.254:80", "169.254.169.254", 80},
      {"[2001:DB8:0::1]:443", "2001:db8::1", 443},
      {"[::1]:443", "::1", 443},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.text);
    const Result<NetGrant> grant = parse_net_grant(row.text);
    REQUIRE(grant);
    CHECK(grant->host == row.host);
    CHECK(grant->port == row.port);
    CHECK(*parse_net_grant(to_text(*grant)) == *grant);
  }
}

TEST_CASE("a grant that is none says why") {
  struct Row {
    std::string_view text;
    std::string_view why;
  };
  const std::string long_name(254, 'a');
  const std::string long_label = std::string(64, 'a') + ".test:80";
  const Row rows[] = {
      {"", "no port"},
      {"example.com", "no port"},
      {":80", "no host"},
      {"example.com:", "no port"},
      {"example.com:0", "no port"},
      {"example.com:65536", "no port"},
      {"example.com:080", "no port"},
      {"example.com:+80", "no port"},
      {"example.com: 80", "no port"},
      {"example.com:80 ", "no port"},
      {"https://example.com:443", "IPv6"},
      {"example.com/x:443", "not a DNS name"},
      {"*.example.com:443", "not a DNS name"},
      {"b\xc3\xbc"
       "cher.test:443",
       "not a DNS name"},
      {"exa mple.com:443", "not a DNS name"},
      {"example..com:443", "label"},
      {"example.com..:443", "label"},
      {".:443", "label"},
      {"-a.test:443", "label"},
      {"a-.test:443", "label"},
      {long_label, "label"},
      {"127.1:80", "short form"},
      {"0x7f000001:80", "short form"},
      {"2130706433:80", "short form"},
      {"1.2.3.256:80", "short form"},
      {"::1:80", "[IPv6]"},
      {"[127.0.0.1]:80", "[IPv6]"},
      {"[::1:80", "[IPv6]"},
      {"[::ffff:1.2.3.4]:80", "IPv4 address"},
      {"[fe80::1]:80", "link-local"},
      {"[fe80::1%eth0]:80", "not an IPv6 address"},
      {"0.0.0.0:80", "no host"},
      {"[::]:80", "no host"},
      {"224.0.0.1:80", "TCP"},
      {"255.255.255.255:80", "TCP"},
      {"[ff02::1]:80", "TCP"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const Result<NetGrant> grant = parse_net_grant(row.text);
    REQUIRE_FALSE(grant);
    CAPTURE(describe(grant.error()));
    CHECK(describe(grant.error()).find(row.why) != std::string::npos);
  }
  CHECK_FALSE(parse_net_grant(long_name + ":80"));
  CHECK_FALSE(parse_net_grant(std::string("example.com\0.evil.test:80", 24)));
}

TEST_CASE("an address is granted with its port and no other") {
  const Egress egress({{"192.0.2.1", 80}, {"192.0.2.1", 443}, {"::1", 80}});
  CHECK(egress.find_grant({address("192.0.2.1"), 80}, Seconds(0)) == "192.0.2.1");
  CHECK(egress.find_grant({address("::ffff:192.0.2.1"), 443}, Seconds(0)) == "192.0.2.1");
  CHECK(egress.find_grant({address("::1"), 80}, Seconds(0)) == "::1");
  CHECK_FALSE(egress.find_grant({address("192.0.2.1"), 81}, Seconds(0)));
  CHECK_FALSE(egress.find_grant({address("192.0.2.2"), 80}, Seconds(0)));
  CHECK_FALSE(egress.find_grant({address("::1"), 443}, Seconds(0)));
  CHECK_FALSE(egress.find_grant({address("0.0.0.0"), 80}, Seconds(0)));
}

TEST_CASE("localhost is the host's loopback without being asked for") {
  const Egress egress({{"localhost", 80}, {"db.localhost", 81}});
  CHECK(egress.find_grant({address("127.0.0.1"), 80}, Seconds(0)) == "localhost");
  CHECK(egress.find_grant({address("::1"), 80}, Seconds(0)) == "localhost");
  CHECK_FALSE(egress.find_grant({address("127.0.0.2"), 80}, Seconds(0)));
  CHECK_FALSE(egress.find_grant({address("127.0.0.1"), 81}, Seconds(0)));
  CHECK(egress.find_name("localhost"));
}

TEST_CASE("a name lets through what was answered for it, as long as that is fresh") {
  Egress egress({{"a.test", 80}, {"b.test", 443}, {"a.test", 8080}});
  const std::size_t a = egress.find_name("a.test").value();
  CHECK(egress.name(a) == "a.test");
  CHECK_FALSE(egress.find_name("c.test"));
  CHECK_FALSE(egress.find_grant({address("1.1.1.1"), 80}, Seconds(0)));
  const std::vector<IpAddress> answered{address("1.1.1.1")};
  egress.remember(a, answered, Seconds(100));
  CHECK(egress.find_grant({address("1.1.1.1"), 80}, Seconds(100)) == "a.test");
  CHECK(egress.find_grant({address("1.1.1.1"), 8080}, Seconds(100)) == "a.test");
  CHECK_FALSE(egress.find_grant({address("1.1.1.1"), 443}, Seconds(100)));
  const Seconds last = Seconds(100) + Egress::kMemory;
  CHECK(egress.find_grant({address("1.1.1.1"), 80}, last));
  CHECK_FALSE(egress.find_grant({address("1.1.1.1"), 80}, last + Seconds(1)));
}

TEST_CASE("a name leads into a private network only where that is granted itself") {
  Egress egress({{"a.test", 80}, {"10.0.0.1", 5432}});
  const std::vector<IpAddress> resolved{address("10.0.0.1"),
                                        address("10.0.0.2"),
                                        address("127.0.0.1"),
                                        address("::ffff:192.168.0.1"),
                                        address("fe80::1"),
                                        address("1.1.1.1")};
  const std::vector<IpAddress> admitted = egress.admit(resolved);
  CHECK(admitted == std::vector<IpAddress>{address("10.0.0.1"), address("1.1.1.1")});
  egress.remember(0, admitted, Seconds(0));
  CHECK(egress.find_grant({address("1.1.1.1"), 80}, Seconds(0)) == "a.test");
  CHECK(egress.find_grant({address("10.0.0.1"), 5432}, Seconds(0)) == "10.0.0.1");
  CHECK_FALSE(egress.find_grant({address("10.0.0.1"), 80}, Seconds(0)));
}

TEST_CASE("a name stands for no more addresses than there is room for, the latest ones") {
  Egress egress({{"a.test", 80}});
  const auto nth = [](std::size_t n) {
    return address("1.1." + std::to_string(n / 256) + "." + std::to_string(n % 256));
  };
  constexpr std::size_t kCount = 1000;
  for (std::size_t n = 0; n < kCount; ++n) {
    const std::vector<IpAddress> answered{nth(n)};
    egress.remember(0, answered, Seconds(n));
  }
  std::size_t known = 0;
  for (std::size_t n = 0; n < kCount; ++n)
    if (egress.find_grant({nth(n), 80}, Seconds(kCount))) ++known;
  CHECK(known == Egress::kMaxAddresses);
  CHECK(egress.find_grant({nth(kCount - 1), 80}, Seconds(kCount)));
  CHECK(egress.find_grant({nth(kCount - Egress::kMaxAddresses), 80}, Seconds(kCount)));
}

}  // namespace
