// SPDX-License-Identifier: Apache-2.0 OR MIT
// See dns.h. Reader is the only way to the bytes of a packet, and it cannot leave them.
#include "confine/dns.h"

#include <algorithm>
#include <cassert>

namespace aegis::confine {
namespace {

constexpr std::size_t kHeader = 12;
constexpr std::size_t kMaxLabel = 63;
constexpr std::size_t kMaxNameOnWire = 255;
constexpr std::uint16_t kIsResponse = 0x8000;
constexpr std::uint16_t kOpcodeMask = 0x7800;
constexpr std::uint16_t kTruncated = 0x0200;
constexpr std::uint16_t kRecursionWanted = 0x0100;
constexpr std::uint16_t kRecursionThere = 0x0080;
constexpr std::uint16_t kTypeOpt = 41;
constexpr std::uint16_t kPointerToQuestion = 0xc00c;  // offset 12, where the question's name stands
constexpr std::uint32_t kTtl = 60;                    // seconds
constexpr std::size_t kRecordHead = 12;               // pointer, type, class, ttl, length

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  std::optional<std::uint8_t> byte() {
    if (at_ >= bytes_.size()) return std::nullopt;
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }
  std::optional<std::uint16_t> number() {
    if (bytes_.size() - at_ < 2) return std::nullopt;
    const auto high = static_cast<unsigned>(static_cast<unsigned char>(bytes_[at_]));
    const auto low = static_cast<unsigned>(static_cast<unsigned char>(bytes_[at_ + 1]));
    at_ += 2;
    return static_cast<std::uint16_t>(high << 8U | low);
  }
  std::optional<std::string_view> take(std::size_t size) {
    if (bytes_.size() - at_ < size) return std::nullopt;
    const std::string_view taken = bytes_.substr(at_, size);
    at_ += size;
    return taken;
  }
  [[nodiscard]] std::size_t offset() const { return at_; }
  [[nodiscard]] bool is_at_end() const { return at_ == bytes_.size(); }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;  // never beyond the end
};

char name_character(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  const bool is_of_names = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  return is_of_names ? c : '?';
}

std::optional<std::string> read_name(Reader& reader) {
  const std::size_t start = reader.offset();
  std::string name;
  for (;;) {
    const std::optional<std::uint8_t> size = reader.byte();
    // A larger number is a pointer or of no known kind: a question has no reason for either.
    if (!size || *size > kMaxLabel) return std::nullopt;
    const std::optional<std::string_view> label = reader.take(*size);
    if (!label || reader.offset() - start > kMaxNameOnWire) return std::nullopt;
    if (*size == 0) return name;
    if (!name.empty()) name += '.';
    std::transform(label->begin(), label->end(), std::back_inserter(name), name_character);
  }
}

struct Header {
  std::uint16_t id = 0;
  std::uint16_t flags = 0;
  std::uint16_t questions = 0;
  std::uint16_t answers = 0;
  std::uint16_t authorities = 0;
  std::uint16_t additional = 0;
};

std::optional<Header> read_header(Reader& reader) {
  Header header;
  for (std::uint16_t* field : {&header.id,
                               &header.flags,
                               &header.questions,
                               &header.answers,
                               &header.authorities,
                               &header.additional}) {
    const std::optional<std::uint16_t> number = reader.number();
    if (!number) return std::nullopt;
    *field = *number;
  }
  return header;
}

/// An OPT record: root name, type, four fields of fixed size, and data of the length it says.
bool skip_edns(Reader& reader) {
  constexpr std::size_t kClassAndTtl = 6;
  const std::optional<std::uint8_t> root = reader.byte();
  const std::optional<std::uint16_t> type = reader.number();
  if (!root || *root != 0 || !type || *type != kTypeOpt || !reader.take(kClassAndTtl)) return false;
  const std::optional<std::uint16_t> size = reader.number();
  return size && reader.take(*size);
}

bool is_of_type(const IpAddress& address, std::uint16_t type) {
  return type == (address.family == IpAddress::Family::v4 ? kDnsTypeA : kDnsTypeAaaa);
}

std::size_t size_of(const IpAddress& address) {
  return address.family == IpAddress::Family::v4 ? 4 : 16;
}

void append(std::string& message, std::uint16_t number) {
  message += static_cast<char>(number >> 8U);
  message += static_cast<char>(number & 0xffU);
}

void append_header(std::string& message, const Header& header) {
  for (const std::uint16_t field : {header.id,
                                    header.flags,
                                    header.questions,
                                    header.answers,
                                    header.authorities,
                                    header.additional})
    append(message, field);
}

}  // namespace

std::variant<DnsQuery, DnsFault> parse_query(std::string_view packet) {
  Reader reader(packet);
  const std::optional<Header> header = read_header(reader);
  // Answering an answer could go on for ever.
  if (!header || (header->flags & kIsResponse) != 0) return DnsFault{};
  const DnsFault malformed{header->id, DnsCode::format_error};
  if ((header->flags & kOpcodeMask) != 0) return DnsFault{header->id, DnsCode::not_implemented};
  if ((header->flags & kTruncated) != 0 || header->questions != 1 || header->answers != 0 ||
      header->authorities != 0 || header->additional > 1)
    return malformed;

  DnsQuery query;
  query.id = header->id;
  query.is_recursion_wanted = (header->flags & kRecursionWanted) != 0;
  std::optional<std::string> name = read_name(reader);
  const std::optional<std::uint16_t> type = reader.number();
  const std::optional<std::uint16_t> class_code = reader.number();
  if (!name || !type || !class_code) return malformed;
  query.name = std::move(*name);
  query.type = *type;
  query.class_code = *class_code;
  query.question = packet.substr(kHeader, reader.offset() - kHeader);
  if (header->additional == 1 && !skip_edns(reader)) return malformed;
  if (!reader.is_at_end()) return malformed;
  return query;
}

std::vector<IpAddress> pick_answers(const DnsQuery& query, std::span<const IpAddress> addresses) {
  std::vector<IpAddress> picked;
  std::size_t size = kHeader + query.question.size();
  for (const IpAddress& address : addresses) {
    if (!is_of_type(address, query.type)) continue;
    size += kRecordHead + size_of(address);
    if (size > kMaxDnsMessage) break;
    picked.push_back(address);
  }
  return picked;
}

std::string encode_answer(const DnsQuery& query, DnsCode code, std::span<const IpAddress> answers) {
  Header header;
  header.id = query.id;
  header.flags = static_cast<std::uint16_t>(kIsResponse | kRecursionThere |
                                            (query.is_recursion_wanted ? kRecursionWanted : 0U) |
                                            static_cast<unsigned>(code));
  header.questions = 1;
  header.answers = static_cast<std::uint16_t>(answers.size());
  std::string message;
  append_header(message, header);
  message += query.question;
  for (const IpAddress& address : answers) {
    append(message, kPointerToQuestion);
    append(message, query.type);
    append(message, kDnsClassIn);
    append(message, kTtl >> 16U);
    append(message, kTtl & 0xffffU);
    append(message, static_cast<std::uint16_t>(size_of(address)));
    message.append(reinterpret_cast<const char*>(address.bytes.data()), size_of(address));
  }
  assert(message.size() <= kMaxDnsMessage);
  return message;
}

std::string encode_fault(std::uint16_t id, DnsCode code) {
  Header header;
  header.id = id;
  header.flags = static_cast<std::uint16_t>(kIsResponse | static_cast<unsigned>(code));
  std::string message;
  append_header(message, header);
  return message;
}

}  // namespace aegis::confine
