// SPDX-License-Identifier: Apache-2.0 OR MIT
// The words of a recheck. They are an interface: scripts read them.
#include <array>
#include <string_view>

#include "mcp/json/canonical.h"
#include "mcp/json/printable.h"
#include "policy/recheck.h"

namespace aegis::policy {
namespace {

using mcp::json::CanonicalWriter;

constexpr std::array<std::string_view, 4> kRecordedWords = {
    "allowed", "denied", "rate_limited", "pending_approval"};
constexpr std::array<std::string_view, 3> kReasonWords = {
    "unknown_policy_set_hash", "no_binding", "rate_limit_unevaluable"};

/// A clause in words; empty ones are left out.
struct Words {
  std::string_view clause;
  std::string_view action = {};
  std::string_view reason = {};
  std::string_view was = {};
  std::string_view now = {};
};

std::string_view word_of(Recorded recorded) {
  return kRecordedWords[static_cast<std::size_t>(recorded)];
}

struct ToWords {
  Words operator()(Unchanged clause) const {
    return {.clause = "unchanged", .action = word_of(clause.action)};
  }
  Words operator()(NewlyBlocked clause) const {
    return {
        .clause = "newly_blocked", .was = word_of(clause.was), .now = word_of(Recorded::denied)};
  }
  Words operator()(NewlyAllowed clause) const {
    return {
        .clause = "newly_allowed", .was = word_of(clause.was), .now = word_of(Recorded::allowed)};
  }
  Words operator()(NewlyParked clause) const {
    return {.clause = "newly_parked", .was = word_of(clause.was)};
  }
  Words operator()(Indeterminate clause) const {
    return {.clause = "indeterminate",
            .reason = kReasonWords[static_cast<std::size_t>(clause.reason)]};
  }
};

std::string shown_id(std::string_view call_id) {
  if (call_id.empty()) return "-";
  std::string out;
  for (const char byte : mcp::json::printable(call_id)) {
    // A space would let an id spell the rest of the line.
    if (byte == ' ') {
      out += "\\u0020";
    } else {
      out += byte;
    }
  }
  return out;
}

void write_member(std::string_view name, std::string_view text, CanonicalWriter& out) {
  if (!text.empty()) out.member(name, text);
}

void write_call(const RecheckedCall& call, CanonicalWriter& out) {
  const Words words = std::visit(ToWords{}, call.clause);
  out.begin_object();
  write_member("action", words.action, out);
  out.member("call", call.call_id);
  out.member("clause", words.clause);
  write_member("now", words.now, out);
  write_member("reason", words.reason, out);
  out.member("seq", call.seq);
  out.member("session", call.session);
  write_member("was", words.was, out);
  out.end_object();
}

}  // namespace

std::string encode_text(std::span<const RecheckedCall> calls) {
  std::string out;
  for (const RecheckedCall& call : calls) {
    const Words words = std::visit(ToWords{}, call.clause);
    out += "call " + shown_id(call.call_id) + " session " + std::to_string(call.session) + " seq " +
           std::to_string(call.seq) + ": ";
    out += words.clause;
    for (const std::string_view word : {words.action, words.reason}) {
      if (!word.empty()) out.append(" ").append(word);
    }
    if (!words.was.empty()) out.append(" was=").append(words.was);
    if (!words.now.empty()) out.append(" now=").append(words.now);
    out += '\n';
  }
  return out;
}

std::string encode_json(const RecheckReport& report) {
  std::string text;
  CanonicalWriter out(text);
  out.begin_object();
  out.name("calls");
  out.begin_array();
  for (const RecheckedCall& call : report.calls)
    write_call(call, out);
  out.end_array();
  out.member("differing", report.differing);
  out.name("notes");
  out.begin_array();
  for (const std::string& note : report.notes)
    out.string(note);
  out.end_array();
  out.member("unanswered", report.unanswered);
  out.member("unchanged", report.unchanged);
  out.member("unread_lines", report.unread_lines);
  out.end_object();
  return mcp::json::printable(text, mcp::json::Backslash::keep) + '\n';
}

}  // namespace aegis::policy
