// SPDX-License-Identifier: Apache-2.0 OR MIT
// The stub's DNS: what is a query, and what an answer looks like, byte by byte.
#include "confine/dns.h"

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace aegis::confine;
using namespace std::string_literals;
using namespace std::string_view_literals;

constexpr auto kHead = "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"sv;
constexpr auto kName =
    "\x03www\x07"
    "Example\x03"
    "com\0"sv;
constexpr auto kTypeA = "\0\x01\0\x01"sv;
constexpr auto kEdns = "\0\0\x29\x10\0\0\0\0\0\0\0"sv;

std::string packet(std::string_view head, std::string_view name, std::string_view rest) {
  return std::string{head} + std::string{name} + std::string{rest};
}

DnsQuery query_of(std::string_view bytes) {
  const auto parsed = parse_query(bytes);
  REQUIRE(std::holds_alternative<DnsQuery>(parsed));
  return std::get<DnsQuery>(parsed);
}

TEST_CASE("a query is read with its name in lower case and its question as it came") {
  const DnsQuery query = query_of(packet(kHead, kName, kTypeA));
  CHECK(query.id == 0x1234);
  CHECK(query.is_recursion_wanted);
  CHECK(query.name == "www.example.com");
  CHECK(query.type == kDnsTypeA);
  CHECK(query.class_code == kDnsClassIn);
  CHECK(query.question == packet("", kName, kTypeA));
  CHECK(query_of(packet(kHead, "\0"sv, kTypeA)).name.empty());
  CHECK(query_of(packet(kHead,
                        "\x03"
                        "a.b\x01*\0"sv,
                        kTypeA))
            .name == "a?b.?");
}

TEST_CASE("an EDNS record may follow and is ignored") {
  std::string head{kHead};
  head[11] = 1;
  CHECK(query_of(packet(head, kName, std::string{kTypeA} + std::string{kEdns})).name ==
        "www.example.com");
  const auto cut = parse_query(packet(head, kName, kTypeA));
  CHECK(std::get<DnsFault>(cut).code == DnsCode::format_error);
}

TEST_CASE("what is no query is not answered, and what is none of ours with an error") {
  struct Row {
    const char* what;
    std::string bytes;
    bool is_answered;
    DnsCode code;
  };
  const auto head_with = [](std::size_t at, char value) {
    std::string head{kHead};
    head[at] = value;
    return head;
  };
  const std::string good = packet(kHead, kName, kTypeA);
  const std::string long_name = [] {
    std::string name;
    for (int label = 0; label < 5; ++label)
      name += "\x3f" + std::string(63, 'a');
    return name + std::string(1, '\0');
  }();
  const Row rows[] = {
      {"nothing", "", false, DnsCode::format_error},
      {"half a header", good.substr(0, 11), false, DnsCode::format_error},
      {"an answer", packet(head_with(2, '\x81'), kName, kTypeA), false, DnsCode::format_error},
      {"an update", packet(head_with(2, '\x29'), kName, kTypeA), true, DnsCode::not_implemented},
      {"cut off", packet(head_with(2, '\x03'), kName, kTypeA), true, DnsCode::format_error},
      {"no question", packet(head_with(5, 0), kName, kTypeA), true, DnsCode::format_error},
      {"two questions", packet(head_with(5, 2), kName, kTypeA), true, DnsCode::format_error},
      {"with an answer", packet(head_with(7, 1), kName, kTypeA), true, DnsCode::format_error},
      {"with an authority", packet(head_with(9, 1), kName, kTypeA), true, DnsCode::format_error},
      {"two more records", packet(head_with(11, 2), kName, kTypeA), true, DnsCode::format_error},
      {"a pointer", packet(kHead, "\xc0\x0c"sv, kTypeA), true, DnsCode::format_error},
      {"a label of 64",
       packet(kHead, "\x40" + std::string(64, 'a') + '\0', kTypeA),
       true,
       DnsCode::format_error},
      {"a long name", packet(kHead, long_name, kTypeA), true, DnsCode::format_error},
      {"bytes behind", good + "x", true, DnsCode::format_error},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    const auto parsed = parse_query(row.bytes);
    REQUIRE(std::holds_alternative<DnsFault>(parsed));
    CHECK(std::get<DnsFault>(parsed).id.has_value() == row.is_answered);
    CHECK(std::get<DnsFault>(parsed).code == row.code);
  }
}

TEST_CASE("a query that ends early is malformed, wherever it ends") {
  const std::string good = packet(kHead, kName, kTypeA);
  for (std::size_t size = 0; size < good.size(); ++size) {
    CAPTURE(size);
    CHECK(std::holds_alternative<DnsFault>(parse_query(good.substr(0, size))));
  }
}

TEST_CASE("an answer repeats the question and has the addresses of its type") {
  const DnsQuery query = query_of(packet(kHead, kName, kTypeA));
  const std::vector<IpAddress> addresses{*parse_address("1.2.3.4"), *parse_address("2001:db8::1")};
  const auto answers = pick_answers(query, addresses);
  REQUIRE(answers.size() == 1);
  const std::string expected = "\x12\x34\x81\x80\x00\x01\x00\x01\x00\x00\x00\x00"s +
                               packet("", kName, kTypeA) +
                               "\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\x01\x02\x03\x04"s;
  CHECK(encode_answer(query, DnsCode::no_error, answers) == expected);
  const std::string refused = encode_answer(query, DnsCode::no_such_name, {});
  CHECK(refused == "\x12\x34\x81\x83\x00\x01\x00\x00\x00\x00\x00\x00"s + packet("", kName, kTypeA));
  CHECK(encode_fault(0x1234, DnsCode::format_error) ==
        "\x12\x34\x80\x01\x00\x00\x00\x00\x00\x00\x00\x00"s);

  DnsQuery six = query;
  six.type = kDnsTypeAaaa;
  const auto wide = pick_answers(six, addresses);
  REQUIRE(wide.size() == 1);
  CHECK(wide.front() == addresses[1]);
}

TEST_CASE("an answer is never longer than a datagram that every client takes") {
  std::string name;
  for (int label = 0; label < 3; ++label)
    name += "\x3f" + std::string(63, 'a');
  name += "\x3d" + std::string(61, 'a') + std::string(1, '\0');
  REQUIRE(name.size() == 255);
  DnsQuery query = query_of(packet(kHead, name, kTypeA));
  const std::vector<IpAddress> many(100, *parse_address("1.2.3.4"));
  CHECK(pick_answers(query, many).size() == (512 - 12 - 259) / 16);
  CHECK(encode_answer(query, DnsCode::no_error, pick_answers(query, many)).size() <=
        kMaxDnsMessage);
  query.type = kDnsTypeAaaa;
  const std::vector<IpAddress> wide(100, *parse_address("2001:db8::1"));
  CHECK(pick_answers(query, wide).size() == (512 - 12 - 259) / 28);
}

}  // namespace
