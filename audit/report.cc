// SPDX-License-Identifier: Apache-2.0 OR MIT
// A report as text and as JSON. No time, no path: the same bytes give the same report.
#include <algorithm>
#include <utility>

#include "audit/verify.h"
#include "mcp/json/canonical.h"
#include "mcp/json/printable.h"

namespace aegis::audit {
namespace {

using mcp::json::CanonicalWriter;

std::string_view verdict_of(const Report& report) {
  switch (report.standing) {
    case Standing::verified:
      return "Verified";
    case Standing::indeterminate:
      return "Indeterminate";
    case Standing::tampered:
      return "Tampered";
  }
  return {};
}

/// What a verified record is held against.
std::string trust_of(const Report& report) {
  if (!report.is_pinned) return "unpinned";
  if (report.key_ids.size() != 1) return "pinned";
  return "pinned to " + to_hex(report.key_ids.front().bytes);
}

class TextReport {
 public:
  TextReport& word(std::string_view text) {
    out_ += text;
    return *this;
  }
  TextReport& number(std::uint64_t value) {
    out_ += std::to_string(value);
    return *this;
  }
  TextReport& foreign(std::string_view text) {
    mcp::json::append_printable(text, mcp::json::Backslash::twice, out_);
    return *this;
  }
  TextReport& place(std::string_view what, std::uint64_t session, std::uint64_t seq) {
    return word(what).word(" session ").number(session).word(" seq ").number(seq);
  }
  void end() { out_ += '\n'; }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

void write_verdict(const Report& report, TextReport& out) {
  out.word(verdict_of(report));
  if (report.standing == Standing::verified) {
    out.word(" (").word(trust_of(report)).word(")").end();
  } else {
    out.word(": ").foreign(report.reason).end();
  }
  if (!report.broken) return;
  const Break& broken = *report.broken;
  out.place("at", broken.session, broken.seq).word(" byte ").number(broken.offset).end();
  if (!broken.expected.empty()) out.word("expected ").foreign(broken.expected).end();
  if (!broken.found.empty()) out.word("found ").foreign(broken.found).end();
}

void write_place(CanonicalWriter& out, std::uint64_t session, std::uint64_t seq) {
  // A Line after the last possible seq would be one more than the largest integer there is.
  out.member("seq", std::min(seq, mcp::json::kMaxInteger));
  out.member("session", session);
}

void write_break(const Break& broken, CanonicalWriter& out) {
  out.name("at");
  out.begin_object();
  out.member("byte", broken.offset);
  write_place(out, broken.session, broken.seq);
  out.end_object();
}

void write_coverage(const Coverage& coverage, CanonicalWriter& out) {
  out.name("coverage");
  out.begin_object();
  write_place(out, coverage.session, coverage.seq);
  out.end_object();
}

void write_comparison(const Break& broken, CanonicalWriter& out) {
  if (!broken.expected.empty()) out.member("expected", broken.expected);
  if (!broken.found.empty()) out.member("found", broken.found);
}

void write_in_flight(const std::vector<InFlight>& calls, CanonicalWriter& out) {
  if (calls.empty()) return;
  out.name("in_flight");
  out.begin_array();
  for (const InFlight& call : calls) {
    out.begin_object();
    out.member("call", call.call_id);
    write_place(out, call.session, call.seq);
    out.member("tool", call.tool_id);
    out.end_object();
  }
  out.end_array();
}

void write_unpaired(const std::vector<Unpaired>& calls, CanonicalWriter& out) {
  if (calls.empty()) return;
  out.name("unpaired");
  out.begin_array();
  for (const Unpaired& call : calls) {
    out.begin_object();
    out.member("call", call.call_id);
    out.member("line", call.is_intent ? "intent" : "outcome");
    write_place(out, call.session, call.seq);
    out.end_object();
  }
  out.end_array();
}

void write_key_ids(const std::vector<KeyId>& ids, CanonicalWriter& out) {
  out.name("key_id");
  out.begin_array();
  for (const KeyId& id : ids)
    out.string(to_hex(id.bytes));
  out.end_array();
}

}  // namespace

std::string encode_text(const Report& report) {
  TextReport out;
  write_verdict(report, out);
  for (const KeyId& id : report.key_ids)
    out.word("key_id ").word(to_hex(id.bytes)).end();
  if (report.coverage) out.place("coverage", report.coverage->session, report.coverage->seq).end();
  for (const InFlight& call : report.in_flight) {
    out.place("in_flight", call.session, call.seq);
    out.word(" call ").foreign(call.call_id).word(" tool ").foreign(call.tool_id).end();
  }
  for (const Unpaired& call : report.unpaired) {
    out.place("unpaired", call.session, call.seq).word(call.is_intent ? " intent" : " outcome");
    out.word(" call ").foreign(call.call_id).end();
  }
  if (report.unlisted > 0) out.word("unlisted ").number(report.unlisted).end();
  return out.take();
}

std::string encode_json(const Report& report) {
  std::string text;
  CanonicalWriter out{text};
  out.begin_object();
  if (report.broken) write_break(*report.broken, out);
  if (report.coverage) write_coverage(*report.coverage, out);
  if (report.broken) write_comparison(*report.broken, out);
  write_in_flight(report.in_flight, out);
  write_key_ids(report.key_ids, out);
  if (!report.reason.empty()) out.member("reason", report.reason);
  if (report.standing == Standing::verified) out.member("trust", trust_of(report));
  write_unpaired(report.unpaired, out);
  if (report.unlisted > 0) out.member("unlisted", report.unlisted);
  out.member("verdict", verdict_of(report));
  out.end_object();
  return mcp::json::printable(text, mcp::json::Backslash::keep);
}

}  // namespace aegis::audit
