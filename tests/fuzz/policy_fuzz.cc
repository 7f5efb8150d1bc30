// SPDX-License-Identifier: Apache-2.0 OR MIT
// Any bytes as a policy text. Whatever comes: either a policy or an error, a policy that wrap takes
// means the same to recheck, its rules written out again are the same policy, and it decides as a
// walk over its rules does.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mcp/json/canonical.h"
#include "mcp/json/utf8.h"
#include "policy/policy.h"
#include "tests/fuzz/require.h"
#include "tests/policy/walk.h"

namespace {

using aegis::fuzz::require;
using aegis::policy::Action;
using aegis::policy::Call;
using aegis::policy::Diagnostic;
using aegis::policy::Loaded;
using aegis::policy::Policy;
using aegis::policy::Purpose;
using aegis::policy::Rule;
namespace json = aegis::mcp::json;

void require_one_answer(const Loaded& loaded) {
  bool has_error = false;
  for (const Diagnostic& each : loaded.diagnostics) {
    has_error = has_error || each.severity == Diagnostic::Severity::error;
    require(!each.message.empty() && json::is_encodable(each.message) &&
            json::is_encodable(each.field));
    require((each.line == 0) == (each.column == 0));
    const std::string line = aegis::policy::describe(each, "p");
    for (const char byte : line)
      require(static_cast<unsigned char>(byte) >= 0x20 && byte != 0x7F);
  }
  require(has_error != loaded.policy.has_value());
}

std::string written(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "\"";
  while (!text.empty()) {
    const json::CodePoint point = json::decode_utf8(text);
    text.remove_prefix(point.size);
    out += "\\U";
    for (int shift = 28; shift >= 0; shift -= 4)
      out += kDigits[(point.code >> shift) & 0xF];
  }
  return out += '"';
}

std::string written(const Rule& rule) {
  constexpr std::string_view kActions[] = {"allow", "deny", "rate_limit", "pending_approval"};
  std::string out = "  - id: " + written(rule.id) + "\n    action: ";
  out += kActions[static_cast<std::size_t>(rule.action)];
  const auto text = [&](std::string_view name, const std::optional<std::string>& value) {
    if (value) out.append("\n    ").append(name).append(": ").append(written(*value));
  };
  const auto number = [&](std::string_view name, std::optional<std::uint64_t> value) {
    if (value) out.append("\n      ").append(name).append(": ").append(std::to_string(*value));
  };
  text("tool", rule.tool);
  text("role", rule.role);
  text("capability", rule.capability);
  out += "\n    priority: " + std::to_string(rule.priority);
  if (!rule.reason.empty()) text("reason", rule.reason);
  if (rule.rate) {
    out += "\n    rate:";
    number("max", rule.rate->max);
    number("per_seconds", rule.rate->per_seconds);
  }
  if (rule.limits) {
    out += "\n    limits:";
    number("max_memory_bytes", rule.limits->max_memory_bytes);
    number("max_wall_ms", rule.limits->max_wall_ms);
    number("max_output_bytes", rule.limits->max_output_bytes);
  }
  return out += '\n';
}

void require_round_trip(const Policy& policy) {
  std::string text = "version: 1\ndefault: ";
  text += policy.default_action() == Action::deny ? "deny" : "allow";
  text += policy.rules().empty() ? "\nrules: []\n" : "\nrules:\n";
  for (const Rule& rule : policy.rules())
    text += written(rule);
  if (text.size() > 1024UL * 1024) return;  // escapes make it longer than a policy may be
  const Loaded again = parse_policy(text, Purpose::recheck);
  require(again.policy.has_value());
  const std::string form = policy.canonical_form();
  require(again.policy->canonical_form() == form);
  if (form.size() > json::kMaxCanonicalSize) return;
  json::CanonicalReader reader;
  require(!reader.read(form).has_value());
}

void require_same_decisions(const Policy& policy) {
  for (const Rule& rule : policy.rules().first(std::min<std::size_t>(policy.rules().size(), 8))) {
    const std::string_view tool = rule.tool ? std::string_view(*rule.tool) : "t";
    for (const Call& call :
         {Call{tool, {}, {}}, Call{tool, rule.role, {}}, Call{tool, rule.role, rule.capability}}) {
      require(policy.decide(call).rule == walk(policy.rules(), call));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Loaded for_wrap = parse_policy(text, Purpose::wrap);
  const Loaded for_recheck = parse_policy(text, Purpose::recheck);
  require_one_answer(for_wrap);
  require_one_answer(for_recheck);
  if (!for_recheck.policy) {
    require(!for_wrap.policy.has_value());
    return 0;
  }
  if (for_wrap.policy) {
    require(for_wrap.policy->canonical_form() == for_recheck.policy->canonical_form());
  }
  require_round_trip(*for_recheck.policy);
  require_same_decisions(*for_recheck.policy);
  return 0;
}
