// SPDX-License-Identifier: Apache-2.0 OR MIT
// A DNS query of any bytes: what is taken for one is answered by a datagram that repeats it, and
// what is not is answered, if at all, by a bare header. The first byte says how many addresses
// there are to answer with. A failed promise aborts.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "confine/dns.h"

namespace {

using namespace aegis::confine;

constexpr std::size_t kHeader = 12;

void promise(bool is_kept, const char* what) {
  if (is_kept) return;
  static_cast<void>(std::fprintf(stderr, "broken promise: %s\n", what));
  std::abort();
}

void check_name(const std::string& name) {
  promise(name.size() <= 253, "a name is no longer than a name can be");
  for (const char c : name) {
    const bool is_of_names = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
                             c == '_' || c == '.' || c == '?';
    promise(is_of_names, "a name has no letter that a log could trip over");
  }
}

void check_query(const DnsQuery& query, std::string_view packet, std::size_t addresses) {
  check_name(query.name);
  promise(packet.substr(kHeader, query.question.size()) == query.question,
          "the question is what came");
  std::vector<IpAddress> known(addresses, *parse_address("192.0.2.1"));
  known.resize(addresses * 2, *parse_address("2001:db8::1"));
  const std::vector<IpAddress> answers = pick_answers(query, known);
  const bool has_answers = query.type == kDnsTypeA || query.type == kDnsTypeAaaa;
  promise(has_answers || answers.empty(), "addresses answer a question for addresses");
  promise(!has_answers || addresses == 0 || !answers.empty(), "one address always fits");
  const std::string answer = encode_answer(query, DnsCode::no_error, answers);
  promise(answer.size() <= kMaxDnsMessage, "an answer fits into a datagram");
  promise(answer.substr(0, 2) == packet.substr(0, 2), "an answer has the query's id");
  promise(answer.substr(kHeader, query.question.size()) == query.question,
          "an answer repeats the question");
  promise(std::holds_alternative<DnsFault>(parse_query(answer)), "an answer is no query");
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view packet{reinterpret_cast<const char*>(data + 1), size - 1};
  const std::variant<DnsQuery, DnsFault> parsed = parse_query(packet);
  if (const auto* query = std::get_if<DnsQuery>(&parsed)) {
    check_query(*query, packet, data[0]);
    return 0;
  }
  const auto& fault = std::get<DnsFault>(parsed);
  promise(!fault.id || packet.size() >= kHeader, "who has no id is not answered");
  if (fault.id)
    promise(encode_fault(*fault.id, fault.code).size() == kHeader, "an error is a bare header");
  return 0;
}
