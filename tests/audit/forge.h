// SPDX-License-Identifier: Apache-2.0 OR MIT
// Makes chain files by hand, for tests of the verifier: Lines that our own writer would never
// write, linked and signed all the same, so that what a test finds is what it changed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/key.h"
#include "audit/verify.h"

namespace aegis::audit {

/// The key of the published vectors: worthless on purpose.
SigningKey dev_key();
SigningKey key_of(std::uint8_t seed_byte);

/// JSON merge patches (RFC 7396: null takes a member away). `before` is what gets signed, `after`
/// changes what was.
struct Change {
  std::string before = "{}";
  std::string after = "{}";
};

class Forge {
 public:
  Forge() : Forge(key_of(1)) {}
  explicit Forge(SigningKey key) : key_(std::move(key)) {}

  /// A good Line of its type, but for the change.
  Forge& open(const Change& change = {});
  /// An open with the profile that pairs calls.
  Forge& open_paired();
  Forge& intent(std::string_view call_id, const Change& change = {});
  Forge& outcome(std::string_view call_id, const Change& change = {});
  Forge& decision(std::string_view approval_id, const Change& change = {});
  Forge& close(const Change& change = {});
  /// Any type, signed.
  Forge& line(std::string_view type, const Change& change = {});
  /// Bytes as they are, and '\n'. They count as the previous Line.
  Forge& raw(std::string_view bytes);
  Forge& use_key(SigningKey key);
  /// The next Line gets this seq, and so on.
  Forge& jump_to(std::uint64_t seq);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::vector<std::string> lines() const;

 private:
  enum class Sign : std::uint8_t { no, yes };
  Forge& add(std::string_view members, const Change& change, Sign sign);

  SigningKey key_;
  std::string text_;
  LineHash previous_{};
  bool has_session_ = false;
  std::uint64_t seq_ = 0;
};

Report verify(std::string_view text, std::optional<TrustSet> trust = std::nullopt);
/// "Tampered: …" and so on: the first line of the report.
std::string verdict(std::string_view text, std::optional<TrustSet> trust = std::nullopt);

struct VerdictRow {
  const char* name;
  std::string text;
  std::string verdict;
};
void check_all(const std::vector<VerdictRow>& rows);

std::vector<std::string> split_lines(std::string_view text);
std::string join_lines(const std::vector<std::string>& lines);

}  // namespace aegis::audit
