// SPDX-License-Identifier: Apache-2.0 OR MIT
// See broker_outcome.h.
#include "wrap/broker_outcome.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "audit/digest.h"

namespace aegis::wrap {
namespace {

constexpr std::string_view kNotExecuted = "not executed";
// A grant's paths are told twice where they can be written, and beside them stand some numbers.
constexpr std::size_t kMostPaths = audit::kMaxGrantBytes / 2;

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char each) {
    const auto byte = static_cast<unsigned char>(each);
    return byte < 0x20U || byte == 0x7FU;
  });
}

std::string digest_of(std::string_view text) {
  return "<sha256:" + audit::to_hex(audit::sha256(text)) + ">";
}

/// A control character would be written as six, and a Line has a longest length.
void hide_controls(std::vector<std::string>& paths) {
  for (std::string& path : paths) {
    if (has_control(path)) path = digest_of(path);
  }
}

/// Paths that are too long to be told become one digest of them all, joined with NUL.
void shorten(std::vector<std::string>& paths) {
  std::string joined;
  for (const std::string& path : paths) {
    if (!joined.empty()) joined += '\0';
    joined += path;
  }
  if (joined.size() > kMostPaths) paths = {digest_of(joined)};
}

}  // namespace

BrokerOutcome::BrokerOutcome(Broker::Done done, std::string_view cancelled_why)
    : done_(std::move(done)), cancelled_why_(cancelled_why) {
  if (const auto* refused = std::get_if<mcp::Refused>(&done_.answer)) {
    // Not its sentence, which may name what the client wrote.
    refused_why_ = to_string(refused->code);
  } else {
    settle_grant();
  }
}

void BrokerOutcome::settle_grant() {
  for (auto* paths : {&done_.grant.read_paths, &done_.grant.write_paths}) {
    hide_controls(*paths);
    shorten(*paths);
  }
  if (done_.path && has_control(*done_.path)) done_.path.reset();
  grant_.read_paths = done_.grant.read_paths;
  grant_.write_paths = done_.grant.write_paths;
  grant_.max_memory_bytes = done_.grant.max_memory_bytes;
  grant_.max_output_bytes = done_.grant.max_output_bytes;
  grant_.max_wall_ms = done_.grant.max_wall_ms;
}

audit::ExecutionStatus BrokerOutcome::execution() const {
  if (!refused_why_.empty()) return audit::HostDenied{kNotExecuted};
  const auto* run = std::get_if<mcp::RunEnd>(&done_.answer);
  if (run == nullptr) return audit::Success{};
  switch (run->status) {
    case mcp::RunEnd::Status::timeout:
      return audit::ResourceExceeded{"time"};
    case mcp::RunEnd::Status::output_limit:
      return audit::ResourceExceeded{"output"};
    case mcp::RunEnd::Status::cancelled:
      return audit::HostDenied{done_.ended_why.empty() ? cancelled_why_ : done_.ended_why};
    case mcp::RunEnd::Status::completed:
      break;
  }
  if (run->memory_kills != 0) return audit::ResourceExceeded{"memory"};
  return audit::Success{};
}

void BrokerOutcome::put_into(audit::Outcome& outcome) const {
  if (refused_why_.empty()) {
    outcome.policy = audit::Allowed{};
    outcome.capability = audit::GrantedByBroker{&grant_};
    if (done_.path) outcome.axes.path = *done_.path;
  } else {
    outcome.policy = audit::Denied{refused_why_};
    outcome.capability = audit::CapabilityDenied{refused_why_};
  }
  outcome.execution = execution();
  outcome.wall_ms = static_cast<std::uint64_t>(done_.taken.count());
}

}  // namespace aegis::wrap
