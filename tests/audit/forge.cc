// SPDX-License-Identifier: Apache-2.0 OR MIT
// nlohmann sorts members by bytes and writes no spaces, which is the canonical form of Lines with
// ASCII names and no floats; it is no part of what is tested.
#include "tests/audit/forge.h"

#include <algorithm>
#include <utility>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace aegis::audit {
namespace {

using nlohmann::json;

const std::string zeros(64, '0');

std::string digest_of(std::string_view text) {
  return to_hex(sha256(text));
}

std::string hex_of_signature(const Signature& signature) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : signature) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

}  // namespace

SigningKey dev_key() {
  constexpr std::string_view kSeed = "aegis-insecure-dev-key-not-real!";
  Seed seed;
  std::copy(kSeed.begin(), kSeed.end(), seed.begin());
  return SigningKey{seed};
}

SigningKey key_of(std::uint8_t seed_byte) {
  Seed seed;
  seed.fill(seed_byte);
  return SigningKey{seed};
}

Forge& Forge::add(std::string_view members, const Change& change, Sign sign) {
  json line = json::parse(members);
  line["schema_version"] = 2;
  line["seq"] = seq_;
  if (!line.contains("prev_hash")) line["prev_hash"] = to_hex(previous_.bytes);
  if (sign == Sign::yes) line["key_id"] = to_hex(key_.public_key().id().bytes);
  line.merge_patch(json::parse(change.before));
  if (sign == Sign::yes) line["signature"] = hex_of_signature(key_.sign(line.dump()));
  line.merge_patch(json::parse(change.after));
  return raw(line.dump());
}

Forge& Forge::raw(std::string_view bytes) {
  text_ += bytes;
  text_ += '\n';
  previous_ = LineHash::of(bytes);
  ++seq_;
  return *this;
}

Forge& Forge::open(const Change& change) {
  seq_ = 0;
  json line{{"line_type", "open"}, {"prev_hash", zeros}, {"public_key", to_hex(key_.public_key())}};
  if (has_session_) line["prev_session_tail"] = to_hex(previous_.bytes);
  has_session_ = true;
  return add(line.dump(), change, Sign::yes);
}

Forge& Forge::open_paired() {
  return open({R"({"profile":"aegis/1"})"});
}

Forge& Forge::intent(std::string_view call_id, const Change& change) {
  const json line{{"line_type", "intent"},
                  {"call_id", call_id},
                  {"tool_id", "echo"},
                  {"request_digest", digest_of(call_id)}};
  return add(line.dump(), change, Sign::no);
}

Forge& Forge::outcome(std::string_view call_id, const Change& change) {
  const json line{{"line_type", "outcome"},
                  {"call_id", call_id},
                  {"tool_id", "echo"},
                  {"request_digest", digest_of(call_id)},
                  {"policy_set_hash", digest_of("policy")},
                  {"policy", {{"status", "allowed"}}},
                  {"capability", {{"status", "denied"}, {"reason", "not evaluated"}}},
                  {"execution", {{"status", "success"}}},
                  {"decision_axes", json::object()}};
  return add(line.dump(), change, Sign::yes);
}

Forge& Forge::decision(std::string_view approval_id, const Change& change) {
  const json line{{"line_type", "decision"},
                  {"approval_id", approval_id},
                  {"verdict", {{"verdict", "denied"}, {"reason", "no"}}}};
  return add(line.dump(), change, Sign::yes);
}

Forge& Forge::close(const Change& change) {
  return line("close", change);
}

Forge& Forge::line(std::string_view type, const Change& change) {
  return add(json{{"line_type", type}}.dump(), change, Sign::yes);
}

Forge& Forge::use_key(SigningKey key) {
  key_ = std::move(key);
  return *this;
}

Forge& Forge::jump_to(std::uint64_t seq) {
  seq_ = seq;
  return *this;
}

std::vector<std::string> Forge::lines() const {
  return split_lines(text_);
}

Report verify(std::string_view text, std::optional<TrustSet> trust) {
  Verifier verifier(std::move(trust));
  verifier.feed(text);
  return verifier.finish();
}

std::string verdict(std::string_view text, std::optional<TrustSet> trust) {
  const std::string report = encode_text(verify(text, std::move(trust)));
  return report.substr(0, report.find('\n'));
}

void check_all(const std::vector<VerdictRow>& rows) {
  for (const VerdictRow& row : rows) {
    CAPTURE(row.name);
    CAPTURE(row.text);
    CHECK(verdict(row.text) == row.verdict);
  }
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::string join_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines)
    text += line + '\n';
  return text;
}

}  // namespace aegis::audit
