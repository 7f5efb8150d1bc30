// SPDX-License-Identifier: Apache-2.0 OR MIT
// How the values of a Line are written: times, bounded texts, and the tagged statuses. Internal to
// this folder; which members a Line has, and how it is linked and signed, is chain.cc's.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "audit/line.h"
#include "mcp/json/canonical.h"

namespace aegis::audit {

/// Bytes that a name from outside (a tool, a role, a rule) may have. Longer ones, and those that
/// are not UTF-8, are written "<sha256:hex>".
inline constexpr std::size_t kMaxName = 1024;
/// Bytes that a sentence may take, escapes and all. Longer ones end earlier, at a character's end.
inline constexpr std::size_t kMaxSentence = 4096;
// A name of 1024 control characters takes 6 KiB. So the longest Line, an outcome of six names and
// three sentences, has less than 50 KiB, whatever was put in.

using Writer = mcp::json::CanonicalWriter;

void write_time(Writer& out, UnixMicros at);
void write_digest(Writer& out, std::string_view name, const Sha256& digest);
void write_name(Writer& out, std::string_view name, std::string_view text);
void write_sentence(Writer& out, std::string_view name, std::string_view text);
/// Their owner keeps them short; one that is not UTF-8 is written "<sha256:hex>".
void write_names(Writer& out, std::string_view name, std::span<const std::string> names);
/// Numbers above 2^53-1 are written as that.
void write_number(Writer& out, std::string_view name, std::uint64_t value);

void write_policy(Writer& out, const PolicyStatus& status);
/// `grant_id` and `tool_id` go into the empty grant.
struct GrantNames {
  std::string_view grant_id;
  std::string_view tool_id;
};
void write_capability(Writer& out, const CapabilityStatus& status, const GrantNames& names);
/// The `broker` member of an open Line.
void write_broker(Writer& out, const BrokerOn& broker);
/// The `confinement` member of an open Line.
void write_confinement(Writer& out, const Confinement& confinement);
void write_execution(Writer& out, const ExecutionStatus& status);
void write_axes(Writer& out, const DecisionAxes& axes);

}  // namespace aegis::audit
