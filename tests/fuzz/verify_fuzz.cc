// SPDX-License-Identifier: Apache-2.0 OR MIT
// The verifier on bytes that may be a record. No fuzzer guesses a hash or a signature, so an input
// may leave them to this program: in a line, @P stands for the hash of the line before, @Z for 64
// zeros, @U for the public key, @K for its id, and @S for the signature of the line without it.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "audit/key.h"
#include "audit/verify.h"
#include "tests/fuzz/require.h"

namespace {

using aegis::fuzz::require;
using namespace aegis::audit;
using nlohmann::json;

const SigningKey& key() {
  static const SigningKey kept{[] {
    Seed seed;
    seed.fill(1);
    return seed;
  }()};
  return kept;
}

void replace(std::string& line, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = line.find(from, at)) != std::string::npos; at += to.size()) {
    line.replace(at, from.size(), to);
  }
}

std::string sign(std::string line) {
  constexpr std::string_view kMember = R"(,"signature":"@S")";
  const std::size_t at = line.find(kMember);
  if (at == std::string::npos) return line;
  std::string input = line;
  input.erase(at, kMember.size());
  std::string hex;
  for (const std::uint8_t byte : key().sign(input)) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    hex += kDigits[byte >> 4U];
    hex += kDigits[byte & 15U];
  }
  return line.replace(at + kMember.size() - 3, 2, hex);
}

/// The input with its placeholders filled in.
std::string complete(std::string_view input) {
  std::string text;
  std::string previous(64, '0');
  while (!input.empty()) {
    const std::size_t end = input.find('\n');
    std::string line{input.substr(0, end)};
    replace(line, "@P", previous);
    replace(line, "@Z", std::string(64, '0'));
    replace(line, "@U", to_hex(key().public_key()));
    replace(line, "@K", to_hex(key().public_key().id().bytes));
    line = sign(std::move(line));
    previous = to_hex(LineHash::of(line).bytes);
    text += line;
    if (end == std::string_view::npos) break;
    text += '\n';
    input.remove_prefix(end + 1);
  }
  return text;
}

Report verify(std::string_view text,
              std::size_t piece,
              std::optional<TrustSet> trust = std::nullopt) {
  Verifier verifier(std::move(trust));
  for (std::size_t at = 0; at < text.size(); at += piece)
    verifier.feed(text.substr(at, piece));
  return verifier.finish();
}

void check_report(std::string_view text, const Report& report) {
  const std::string shown = encode_text(report);
  for (const char c : shown)
    require(static_cast<std::uint8_t>(c) >= 0x20 || c == '\n');
  require(json::accept(encode_json(report)));
  require((report.standing == Standing::tampered) == report.broken.has_value());
  require(report.reason.empty() == (report.standing == Standing::verified));
  if (report.broken) {
    const std::uint64_t at = report.broken->offset;
    require(at <= text.size() && (at == 0 || text[at - 1] == '\n'));
  }
}

/// What every verified record must have, found by other means: each session that pairs calls has
/// one outcome for each intent, and the last Line that is no checkpoint is a close.
void check_verified(std::string text) {
  if (text.back() == '\n') text.pop_back();
  std::map<std::string, int> calls;
  bool is_paired = false;
  std::string last;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const json line = json::parse(text.substr(at, end - at));
    at = end + 1;
    last = line.at("line_type");
    if (last == "open") {
      calls.clear();
      is_paired = line.value("profile", json{}) == "aegis/1";
    }
    if (!is_paired) continue;
    if (last == "intent") require(calls[line.at("call_id")]++ == 0);
    if (last == "outcome") require(calls[line.at("call_id")]++ == 1);
    if (last != "close") continue;
    for (const auto& call : calls)
      require(call.second == 2);
  }
  require(last == "close");
}

/// What can be done to a verified record that must not leave it so.
void check_changes(const std::string& text, const Report& report) {
  const std::string whole = text.back() == '\n' ? text : text + '\n';
  require(verify(whole + "{", 4096).standing == Standing::indeterminate);
  require(verify(whole + "\n", 4096).standing == Standing::tampered);
  require(verify(text, 4096, TrustSet{}).standing == Standing::tampered);
  require(verify(text, 4096, TrustSet{key().public_key()}).is_pinned ==
          (report.key_ids.size() == 1 && report.key_ids.front() == key().public_key().id()));
  std::string flipped = text;
  flipped[text.size() / 2] = static_cast<char>(flipped[text.size() / 2] ^ 1);
  require(verify(flipped, 4096).standing != Standing::verified);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer looks for this name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 20000) return 0;
  const std::string text = complete({reinterpret_cast<const char*>(data), size});
  const Report report = verify(text, text.size() + 1);
  check_report(text, report);
  require(encode_text(report) == encode_text(verify(text, 1 + size % 97)));
  if (report.standing == Standing::verified) {
    check_verified(text);
    check_changes(text, report);
  }
  return 0;
}
