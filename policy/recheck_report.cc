// SPDX-License-Identifier: Apache-2.0 OR MIT
// The words of a recheck. They are an interface: scripts read them.
#include <array>
#include <string_view>

#include "mcp/json/canonical.h"
#include "policy/recheck.h"
#include "policy/text.h"

namespace aegis::policy {
namespace {

using mcp::json::append_string;

constexpr std::array<std::string_view, 4> kRecordedWords = {
    "allowed", "denied", "rate_limited", "pending_approval"};
constexpr std::array<std::string_view, 3> kReasonWords = {
    "unknown_policy_set_hash", "no_binding", "rate_limit_unevaluable"};

/// A clause in words; empty ones are left out.
struct Words {
  std::string_view verdict;
  std::string_view plain_name;  // of the one word that the text says without a name
  std::string_view plain;
  std::string_view was;
  std::string_view now;
};

std::string_view word_of(Recorded recorded) {
  return kRecordedWords[static_cast<std::size_t>(recorded)];
}

struct ToWords {
  Words operator()(Unchanged clause) const {
    return {"unchanged", "action", word_of(clause.action), "", ""};
  }
  Words operator()(NewlyBlocked clause) const {
    return {"newly_blocked", "", "", word_of(clause.was), word_of(Recorded::denied)};
  }
  Words operator()(NewlyAllowed clause) const {
    return {"newly_allowed", "", "", word_of(clause.was), word_of(Recorded::allowed)};
  }
  Words operator()(NewlyParked clause) const {
    return {"newly_parked", "", "", word_of(clause.was), ""};
  }
  Words operator()(Indeterminate clause) const {
    return {
        "indeterminate", "reason", kReasonWords[static_cast<std::size_t>(clause.reason)], "", ""};
  }
};

std::string shown_id(std::string_view call_id) {
  if (call_id.empty()) return "-";
  std::string out;
  for (const char byte : printable(call_id)) {
    // A space would let an id spell the rest of the line.
    if (byte == ' ') {
      out += "\\u0020";
    } else {
      out += byte;
    }
  }
  return out;
}

void append_member(std::string_view name, std::string_view text, std::string& out) {
  if (text.empty()) return;
  out += ',';
  append_string(name, out);
  out += ':';
  append_string(text, out);
}

void append_json(const RecheckedCall& call, std::string& out) {
  const Words words = std::visit(ToWords{}, call.clause);
  out += "{\"call\":";
  append_string(call.call_id, out);
  out += ",\"session\":" + std::to_string(call.session) + ",\"seq\":" + std::to_string(call.seq);
  append_member("clause", words.verdict, out);
  append_member(words.plain_name, words.plain, out);
  append_member("was", words.was, out);
  append_member("now", words.now, out);
  out += '}';
}

}  // namespace

std::string encode_text(std::span<const RecheckedCall> calls) {
  std::string out;
  for (const RecheckedCall& call : calls) {
    const Words words = std::visit(ToWords{}, call.clause);
    out += "call " + shown_id(call.call_id) + " session " + std::to_string(call.session) + " seq " +
           std::to_string(call.seq) + ": ";
    out += words.verdict;
    if (!words.plain.empty()) out.append(" ").append(words.plain);
    if (!words.was.empty()) out.append(" was=").append(words.was);
    if (!words.now.empty()) out.append(" now=").append(words.now);
    out += '\n';
  }
  return out;
}

std::string encode_json(const RecheckReport& report) {
  std::string out = "{\"calls\":[";
  for (std::size_t at = 0; at < report.calls.size(); ++at) {
    if (at != 0) out += ',';
    append_json(report.calls[at], out);
  }
  out += "],\"unchanged\":" + std::to_string(report.unchanged) +
         ",\"differing\":" + std::to_string(report.differing) +
         ",\"unanswered\":" + std::to_string(report.unanswered) +
         ",\"unread_lines\":" + std::to_string(report.unread_lines) + ",\"notes\":[";
  for (std::size_t at = 0; at < report.notes.size(); ++at) {
    if (at != 0) out += ',';
    append_string(report.notes[at], out);
  }
  return out += "]}\n";
}

}  // namespace aegis::policy
