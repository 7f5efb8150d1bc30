// SPDX-License-Identifier: Apache-2.0 OR MIT
// One Line after another: its members in canonical order, its link, its signature, its hash.
#include "audit/chain.h"

#include <cassert>
#include <utility>

#include "audit/encode.h"
#include "audit/hex.h"

namespace aegis::audit {
namespace {

constexpr std::string_view kEmptyGrant = "wrap-passthrough-";
constexpr std::string_view kRealGrant = "confined-";
constexpr std::string_view kBrokerGrant = "broker-";

std::string_view grant_prefix(const CapabilityStatus& status) {
  if (std::holds_alternative<Granted>(status)) return kRealGrant;
  return std::holds_alternative<GrantedByBroker>(status) ? kBrokerGrant : kEmptyGrant;
}

void write_emitter(Writer& out, std::string_view version) {
  out.name("emitter");
  out.begin_object();
  out.member("name", "aegis");
  write_name(out, "version", version);
  out.end_object();
}

void write_recovered(Writer& out, const Recovered& recovered) {
  out.name("recovered");
  out.begin_object();
  write_number(out, "bytes", recovered.bytes);
  write_digest(out, "digest", recovered.digest.bytes);
  write_name(out, "file", recovered.file);
  out.end_object();
}

void write_server(Writer& out, const Open& line) {
  out.name("server");
  out.begin_object();
  write_digest(out, "argv_digest", line.argv_digest.bytes);
  write_name(out, "program", line.program);
  out.end_object();
}

}  // namespace

Chain::Chain(SigningKey key, Sink& sink)
    : key_(std::move(key)), sink_(sink), key_id_(to_hex(key_.public_key().id().bytes)) {}

void Chain::open(const Open& line, UnixMicros at) {
  assert(next_seq_ == 0 && line.session_id.size() == 32);
  session_id_ = line.session_id;
  line_.clear();
  Writer out{line_};
  out.begin_object();
  write_time(out, at);
  if (line.broker != nullptr) write_broker(out, *line.broker);
  if (line.confinement != nullptr) write_confinement(out, *line.confinement);
  write_name(out, "durability", line.durability);
  write_emitter(out, line.version);
  out.member("key_id", key_id_);
  out.member("line_type", "open");
  if (line.policy_set_hash) write_digest(out, "policy_set_hash", line.policy_set_hash->bytes);
  write_digest(out, "prev_hash", LineHash{}.bytes);
  if (line.prev_session_tail) write_digest(out, "prev_session_tail", line.prev_session_tail->bytes);
  out.member("profile", kProfile);
  write_digest(out, "public_key", key_.public_key().bytes);
  if (line.recovered) write_recovered(out, *line.recovered);
  out.member("schema_version", kSchemaVersion);
  out.member("seq", next_seq_);
  write_server(out, line);
  write_name(out, "session_id", session_id_);
  const std::size_t signature_at = line_.size();
  out.end_object();
  sign(signature_at);
  append();
}

std::uint64_t Chain::intent(const Intent& line, UnixMicros at) {
  assert(next_seq_ > 0 && !is_closed_);
  const std::uint64_t seq = next_seq_;
  set_names(seq);
  line_.clear();
  Writer out{line_};
  out.begin_object();
  write_time(out, at);
  out.member("call_id", call_id_);
  out.member("line_type", "intent");
  write_digest(out, "prev_hash", previous_.bytes);
  write_number(out, "request_bytes", line.request_bytes);
  write_digest(out, "request_digest", line.request_digest.bytes);
  out.member("schema_version", kSchemaVersion);
  out.member("seq", seq);
  write_name(out, "tool_id", line.tool_id);
  out.end_object();
  append();
  return seq;
}

void Chain::outcome(const Outcome& line, UnixMicros at) {
  assert(line.intent_seq > 0 && line.intent_seq < next_seq_ && !is_closed_);
  set_names(line.intent_seq);
  line_.clear();
  Writer out{line_};
  out.begin_object();
  write_time(out, at);
  out.member("call_id", call_id_);
  const bool is_granted = !std::holds_alternative<CapabilityDenied>(line.capability);
  if (is_granted) {
    grant_id_ = grant_prefix(line.capability);
    grant_id_ += call_id_;
  }
  write_capability(out, line.capability, {grant_id_, line.tool_id});
  write_axes(out, line.axes);
  write_execution(out, line.execution);
  if (is_granted) out.member("grant_id", grant_id_);
  out.member("intent_seq", line.intent_seq);
  out.member("key_id", key_id_);
  out.member("line_type", "outcome");
  write_policy(out, line.policy);
  write_digest(out, "policy_set_hash", line.policy_set_hash.bytes);
  write_digest(out, "prev_hash", previous_.bytes);
  if (!line.refusals.empty()) write_names(out, "refusals", line.refusals);
  write_digest(out, "request_digest", line.request_digest.bytes);
  if (line.response_bytes) write_number(out, "response_bytes", *line.response_bytes);
  if (line.response_digest) write_digest(out, "response_digest", line.response_digest->bytes);
  out.member("schema_version", kSchemaVersion);
  out.member("seq", next_seq_);
  const std::size_t signature_at = line_.size();
  write_name(out, "tool_id", line.tool_id);
  if (line.wall_ms) write_number(out, "wall_ms", *line.wall_ms);
  out.end_object();
  sign(signature_at);
  append();
}

void Chain::close(const Close& line, UnixMicros at) {
  assert(next_seq_ > 0 && !is_closed_);
  line_.clear();
  Writer out{line_};
  out.begin_object();
  write_time(out, at);
  write_number(out, "calls", line.calls);
  out.member("key_id", key_id_);
  out.member("line_type", "close");
  write_digest(out, "prev_hash", previous_.bytes);
  write_sentence(out, "reason", line.reason);
  out.member("schema_version", kSchemaVersion);
  out.member("seq", next_seq_);
  const std::size_t signature_at = line_.size();
  write_number(out, "unread", line.unread);
  out.end_object();
  sign(signature_at);
  append();
  is_closed_ = true;
}

std::string Chain::call_id(std::uint64_t intent_seq) const {
  std::string id = session_id_.substr(0, 16);
  id += '-';
  mcp::json::append_integer(intent_seq, id);
  return id;
}

void Chain::set_names(std::uint64_t intent_seq) {
  call_id_.assign(session_id_, 0, 16);
  call_id_ += '-';
  mcp::json::append_integer(intent_seq, call_id_);
}

/// `line_` is whole but for its signature, so it is what is signed; the signature then goes in at
/// `signature_at`.
void Chain::sign(std::size_t signature_at) {
  constexpr std::string_view kBegin = ",\"signature\":\"";
  const Signature signature = key_.sign(line_);
  std::string member{kBegin};
  member.reserve(kBegin.size() + 2 * signature.size() + 1);
  append_hex(signature, member);
  member += '"';
  line_.insert(signature_at, member);
}

void Chain::append() {
  assert(line_.size() <= mcp::json::kMaxCanonicalSize);
  previous_ = LineHash::of(line_);
  line_ += '\n';
  ++next_seq_;
  sink_.append(line_);
}

}  // namespace aegis::audit
