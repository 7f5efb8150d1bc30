// SPDX-License-Identifier: Apache-2.0 OR MIT
// Any bytes as a record. Whatever comes: any cut into pieces gives the same report, its counts add
// up, and its text has one line for each call, each of the words that scripts know and of nothing
// that moves a terminal.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "policy/recheck.h"
#include "tests/fuzz/require.h"

namespace {

using aegis::fuzz::require;
using aegis::policy::Loaded;
using aegis::policy::Policy;
using aegis::policy::Purpose;
using aegis::policy::Rechecker;
using aegis::policy::RecheckReport;

const Policy& policy() {
  static const Loaded loaded = aegis::policy::parse_policy(
      "version: 1\nrules:\n"
      "  - { id: a, action: deny, tool: bad }\n"
      "  - { id: b, action: pending_approval, tool: ask }\n"
      "  - { id: c, action: rate_limit, tool: often, rate: { max: 1, per_seconds: 1 } }\n"
      "  - { id: d, action: deny, role: ops, capability: fs.read }\n",
      Purpose::recheck);
  return *loaded.policy;
}

void require_clean(std::string_view text) {
  for (const char byte : text)
    require(byte == '\n' || (static_cast<unsigned char>(byte) >= 0x20 && byte != 0x7F));
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    require(line.starts_with("call "));
    require(std::count(line.begin(), line.end(), ' ') >= 7 &&
            std::count(line.begin(), line.end(), ' ') <= 8);
    text.remove_prefix(line.size() + 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view record(reinterpret_cast<const char*>(data), size);
  Rechecker whole(policy());
  whole.feed(record);
  const RecheckReport report = whole.finish();
  require(report.unchanged + report.differing + report.unanswered == report.calls.size());

  Rechecker pieces(policy());
  const std::size_t step = 1 + size % 61;
  for (std::size_t at = 0; at < size; at += step)
    pieces.feed(record.substr(at, step));
  const std::string told = encode_json(report);
  require(told == encode_json(pieces.finish()));
  require(nlohmann::json::accept(told));

  const std::string text = encode_text(report.calls);
  require(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) ==
          report.calls.size());
  require_clean(text);
  return 0;
}
